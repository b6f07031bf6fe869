/**
 * What is wrong with a bundle, in words for whoever wrote it.
 *
 * A bundle is judged as a whole: one refusal carries everything that was found, up to a bound, each with
 * the file, the line and what to do.
 */
import { fault, type Fault } from '../../std/index.ts'

export type Finding = Readonly<{
  /** Relative to the bundle, with `/` between its parts. */
  file: string
  /** From 1; undefined where it is the file as a whole. */
  line: number | undefined
  message: string
  remedy: string
}>

/** `detail.findings` has the first of them, and `detail.count` says how many there are. */
export type BundleFault = Fault<'bad-bundle'>

export const BUNDLE_FINDINGS_MAX = 100

/** By file and line, whatever they were found in. */
export function badBundle(found: readonly Finding[]): BundleFault {
  const findings = found.toSorted(byPlace)
  const [first] = findings
  const others = findings.length === 1 ? '' : ` (and ${findings.length - 1} more)`
  return fault('bad-bundle', `${first === undefined ? '' : wordsOf(first)}${others}`, {
    findings: findings.slice(0, BUNDLE_FINDINGS_MAX),
    count: findings.length,
    remedy: first?.remedy ?? '',
  })
}

function byPlace(a: Finding, b: Finding): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return (a.line ?? 0) - (b.line ?? 0)
}

/** As a compiler would write it: `features/a.feature:3: what is wrong`. */
export function wordsOf({ file, line, message }: Finding): string {
  return `${file}${line === undefined ? '' : `:${line}`}: ${message}`
}
