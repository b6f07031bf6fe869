/**
 * The three tiers of tests, by file name:
 *
 *   check   types, lint, format, and every `*.test.ts` outside of `test/`
 *   all     check, and `*.slow.test.ts`, and everything below `test/`
 *   long    `*.long.test.ts` alone
 *
 * Further arguments narrow the files to those whose path contains one of them, and leave the static
 * checks out. Each file runs in its own process with `--expose-gc`. The last line counts everything
 * that ran, each static check as one; a run in which nothing ran has failed.
 */
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

import { succeeds } from './command.ts'

export type Tier = 'check' | 'all' | 'long'

type Totals = { passed: number; failed: number; skipped: number }

const TESTS = [
  'src/**/*.test.ts',
  'examples/*.test.ts',
  'tools/*.test.ts',
  'bench/*.test.ts',
  'test/**/*.test.ts',
]

// A machine that others use too may be several times slower for a while, and that is no failure.
const TEST_MS_MAX: Readonly<Record<Tier, number>> = {
  check: 30_000,
  all: 600_000,
  long: 6 * 3_600_000,
}

// A test that leaves a timer or a socket behind keeps its process, and so the run, from ending.
const RUN_MS_MAX: Readonly<Record<Tier, number>> = {
  check: 180_000,
  all: 1_560_000,
  long: 24 * 3_600_000,
}

const STATIC_CHECKS: readonly (readonly [command: string, ...args: string[]])[] = [
  ['tsc'],
  ['oxlint'],
  ['oxfmt', '--check'],
]

export function belongs(path: string, tier: Tier): boolean {
  const kind = /\.(slow|long)\.test\.ts$/.exec(path)?.[1] ?? 'fast'
  if (tier === 'long') return kind === 'long'
  if (tier === 'all') return kind !== 'long'
  return kind === 'fast' && !path.startsWith('test/')
}

if (import.meta.main) {
  const [tier = '', ...only] = process.argv.slice(2)
  if (tier !== 'check' && tier !== 'all' && tier !== 'long')
    throw new Error(`unknown tier '${tier}': check, all or long`)

  const totals: Totals = { passed: 0, failed: 0, skipped: 0 }
  if (tier !== 'long' && only.length === 0) await runStaticChecks(totals)
  const files = globSync(TESTS)
    .filter((path) => belongs(path, tier))
    .filter((path) => only.length === 0 || only.some((part) => path.includes(part)))
    .toSorted()
  if (files.length > 0) await runTests(files, tier, totals)

  const { passed, failed, skipped } = totals
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0
}

async function runStaticChecks(totals: Totals): Promise<void> {
  for (const [command, ...args] of STATIC_CHECKS) {
    console.log(`▶ ${[command, ...args].join(' ')}`)
    totals[(await succeeds(command, args)) ? 'passed' : 'failed'] += 1
  }
}

async function runTests(files: string[], tier: Tier, totals: Totals): Promise<void> {
  const unheard = new Set(files.map((path) => resolve(path)))
  const events = run({
    files,
    concurrency: availableParallelism(),
    execArgv: ['--expose-gc'],
    timeout: TEST_MS_MAX[tier],
    signal: AbortSignal.timeout(RUN_MS_MAX[tier]),
  })
  events.on('test:fail', ({ file = '' }) => unheard.delete(file))
  events.on('test:summary', ({ file, counts }) => {
    if (file !== undefined) return unheard.delete(file)
    totals.passed += counts.passed
    totals.skipped += counts.skipped + counts.todo
    totals.failed += counts.tests - counts.passed - counts.skipped - counts.todo
  })
  for await (const text of events.compose(spec)) process.stdout.write(String(text))

  // Node takes a file without a test for a test that passed.
  for (const file of unheard) {
    console.log(`✖ there is no test in ${file}`)
    totals.passed -= 1
    totals.failed += 1
  }
}
