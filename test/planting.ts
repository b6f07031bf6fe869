/**
 * Bugs that are planted, to see a model catch them.
 *
 * Each is a small change of the text of the product, made in a copy of the tree outside of it. A change whose
 * place is not found exactly once is an error: the text has moved, and the bug has to be planted anew. The copy
 * without a bug must pass, or a catch would mean nothing.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

/** `find` is replaced by `put` in a file below the folder that the bugs are planted in. */
export type Change = Readonly<{ file: string; find: string; put: string }>
export type Bug = Readonly<{ name: string; changes: readonly Change[] }>

export type Catch = Readonly<{
  bug: string
  /** What was said of it, undefined where nothing was. */
  said: string | undefined
}>

export type Planting = Readonly<{
  bugs: readonly Bug[]
  /** Where the files of the bugs are, such as `src/broker`. */
  folder: string
  /** The folder of the tests that are run in a copy. */
  tests: string
  /** What the tests of a copy say, undefined where they pass. */
  run: (copy: string) => Promise<string | undefined>
}>

const ROOT = join(import.meta.dirname, '..')

export function bug(name: string, file: string, find: string, put: string): Bug {
  return { name, changes: [{ file, find, put }] }
}

/** First the tree without a bug, then each bug. */
export async function plantAll(planting: Planting): Promise<readonly Catch[]> {
  const all: (Bug | undefined)[] = [undefined, ...planting.bugs]
  const catches: Catch[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let at = next++; at < all.length; at = next++) catches[at] = await plant(planting, all[at])
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return catches
}

/** What was caught, for people. */
export function tableOf(catches: readonly Catch[]): string {
  const width = Math.max(...catches.map(({ bug: name }) => name.length))
  return catches
    .map(({ bug: name, said }) => `${name.padEnd(width)}  ${said ?? 'not caught'}`)
    .join('\n')
}

async function plant({ folder, tests, run }: Planting, planted: Bug | undefined): Promise<Catch> {
  const copy = mkdtempSync(join(tmpdir(), 'planted-bug-'))
  try {
    for (const part of ['src', tests, 'package.json'])
      cpSync(join(ROOT, part), join(copy, part), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    for (const each of planted?.changes ?? []) change(join(copy, folder), planted!.name, each)
    return { bug: planted?.name ?? 'none', said: await run(copy) }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function change(folder: string, name: string, { file, find, put }: Change): void {
  const path = join(folder, file)
  const text = readFileSync(path, 'utf8')
  const found = text.split(find).length - 1
  if (found !== 1) throw new Error(`${name}: ${file} has ${found} places for it: ${find}`)
  writeFileSync(
    path,
    text.replace(find, () => put),
  )
}
