/**
 * Where tests are prepared: a directory of its own for each, which nobody else may read.
 *
 *   <root>/<test id>/bundle      what was fetched
 *   <root>/<test id>/evidence    what the run leaves behind
 *   <root>/<test id>/run-<…>     where it may write meanwhile, without a sandbox
 *
 * One server owns the root. What it finds there at its start belongs to tests of the server before it:
 * whoever knows which of them still owe evidence has the rest swept away. What a test made of its
 * directory does not keep it from going.
 */
import { chmod, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { assert } from '../../std/index.ts'
import { codeOf } from './accidents.ts'

export interface Staging {
  /** Empty directories; what an earlier attempt of the test has left there is removed. */
  open(testId: string): Promise<StagedTest>
  /** The directories of a test as they were left; undefined where there are none. */
  reopen(testId: string): Promise<StagedTest | undefined>
  /** Removes what belongs to no test of `kept`. */
  sweep(kept: ReadonlySet<string>): Promise<void>
}

export interface StagedTest {
  readonly bundle: string
  readonly evidence: string
  /** Both are gone afterwards; removing twice is once. */
  remove(): Promise<void>
}

const TEST_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/

export async function createStaging({ root }: Readonly<{ root: string }>): Promise<Staging> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  await chmod(root, 0o700)

  return {
    async open(testId) {
      const home = homeOf(testId)
      const staged = stagedIn(home)
      await removeTree(home)
      try {
        for (const directory of [home, staged.bundle, staged.evidence])
          await mkdir(directory, { mode: 0o700 })
      } catch (error) {
        await removeTree(home)
        throw error
      }
      return staged
    },

    async reopen(testId) {
      const staged = stagedIn(homeOf(testId))
      return (await isDirectory(staged.evidence)) ? staged : undefined
    },

    async sweep(kept) {
      for (const name of await readdir(root))
        if (!kept.has(name)) await removeTree(join(root, name))
    },
  }

  function homeOf(testId: string): string {
    assert(TEST_ID.test(testId), 'a test id is a word')
    return join(root, testId)
  }
}

function stagedIn(home: string): StagedTest {
  let isGone = false
  return {
    bundle: join(home, 'bundle'),
    evidence: join(home, 'evidence'),
    async remove() {
      if (isGone) return // the directory may be that of another attempt
      await removeTree(home)
      isGone = true
    },
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

/** Removes it even where a test has taken away the rights to do so. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true })
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes(codeOf(error))) throw error
    await openUp(path)
    await rm(path, { recursive: true, force: true })
  }
}

async function openUp(directory: string): Promise<void> {
  await chmod(directory, 0o700)
  for (const entry of await readdir(directory, { withFileTypes: true }))
    if (entry.isDirectory()) await openUp(join(directory, entry.name))
}
