/**
 * `metadata.json`: what a run was, and what every other file of its evidence has to be.
 *
 * The runner writes what it knows when the run is over. Sealing, the last thing before evidence is
 * stored, adds the hash of every file and the last link of a chain over all of them. Whoever keeps the
 * hash of `metadata.json` elsewhere, as the journal does, sees any later change of any file.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { EvidenceFile } from '../record.ts'
import type { RunResult } from '../result.ts'
import { chainOf, digestsOf } from './digest.ts'

export const METADATA_FILE = 'metadata.json'

export type RunFacts = Readonly<{
  testId: string
  /** ISO 8601. */
  startedAt: string
  endedAt: string
  isolation: string
  tags: string
  isDryRun: boolean
  versions: Readonly<Record<string, string>>
  bundle: Readonly<{ sha256: string; files: readonly EvidenceFile[] }>
  /** Why a report is missing. */
  unreported?: string
  result?: RunResult
  /** Why there is no result. */
  error?: Readonly<{ code: string; message: string }>
}>

export type EvidenceFinding = Readonly<{
  file: string
  is: 'missing' | 'changed' | 'added' | 'unsealed'
}>

type Metadata = Readonly<{
  run?: RunFacts
  files?: readonly EvidenceFile[]
  seal?: string
}>

export async function writeFacts(directory: string, run: RunFacts): Promise<void> {
  await write(directory, { run })
}

/** All files, `metadata.json` among them. Sealing what is sealed already changes nothing. */
export async function sealEvidence(directory: string): Promise<readonly EvidenceFile[]> {
  const { run } = await read(directory)
  const files = await others(directory)
  await write(directory, { ...(run && { run }), files, seal: sealOf(run, files) })
  return digestsOf(directory)
}

/** `known` is what was sealed, as it was kept elsewhere. Nothing is found where nothing was changed. */
export async function verifyEvidence(
  directory: string,
  known?: readonly EvidenceFile[],
): Promise<readonly EvidenceFinding[]> {
  const metadata = await read(directory)
  const sealed = metadata.files ?? []
  const findings = compared(sealed, await others(directory))
  if (metadata.seal !== sealOf(metadata.run, sealed))
    findings.push({ file: METADATA_FILE, is: 'unsealed' })
  if (known !== undefined) findings.push(...compared(known, await digestsOf(directory)))
  return findings.filter(
    ({ file, is }, n) => findings.findIndex((each) => each.file === file && each.is === is) === n,
  )
}

function compared(
  sealed: readonly EvidenceFile[],
  found: readonly EvidenceFile[],
): EvidenceFinding[] {
  const there = new Map(found.map((file) => [file.name, file.sha256]))
  const known = new Set(sealed.map(({ name }) => name))
  return [
    ...sealed.flatMap(({ name, sha256 }): EvidenceFinding[] => {
      const is = there.get(name)
      if (is === undefined) return [{ file: name, is: 'missing' }]
      return is === sha256 ? [] : [{ file: name, is: 'changed' }]
    }),
    ...found
      .filter(({ name }) => !known.has(name))
      .map(({ name }): EvidenceFinding => ({ file: name, is: 'added' })),
  ]
}

function sealOf(run: RunFacts | undefined, files: readonly EvidenceFile[]): string {
  return chainOf(JSON.stringify(run ?? null), files)
}

async function others(directory: string): Promise<readonly EvidenceFile[]> {
  return (await digestsOf(directory)).filter(({ name }) => name !== METADATA_FILE)
}

/** What cannot be read is as good as not sealed. */
async function read(directory: string): Promise<Metadata> {
  try {
    const text = await readFile(join(directory, METADATA_FILE), 'utf8')
    const metadata: unknown = JSON.parse(text)
    return typeof metadata === 'object' && metadata !== null ? metadata : {}
  } catch {
    return {}
  }
}

async function write(directory: string, metadata: Metadata): Promise<void> {
  await writeFile(join(directory, METADATA_FILE), `${JSON.stringify(metadata, undefined, 2)}\n`)
}
