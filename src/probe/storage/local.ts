/**
 * Bundles in directories of this machine.
 *
 * With roots, a directory counts only if it truly lies below one of them, whatever links lead there.
 * Evidence is written beside the bundle, file by file and each in one step: whoever reads it sees an
 * old file or a whole one.
 */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, realpath, rename, rm } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'

import { nameProblem } from '../bundle/file-name.ts'
import { filesBelow } from '../bundle/files.ts'
import { badPath, codeOf, denied, ofFiles, refusedFile, tooLarge } from './accidents.ts'
import { createIntake } from './intake.ts'
import type { FetchOptions, StoreOptions } from './storage.ts'

/** Undefined: every directory that the user of the server may read. */
export type LocalRoots = readonly string[] | undefined

export async function fetchLocal(
  path: string,
  from: string,
  to: string,
  { limits, signal }: FetchOptions,
): Promise<void> {
  try {
    const found = await filesBelow(from, limits.files)
    const [refused] = found.refused
    if (refused !== undefined) throw refusedFile(refused.name, refused.why)
    if (found.isCut) throw tooLarge('.', `it has more than ${limits.files} files`)
    const intake = createIntake(to, limits)
    for (const { name, bytes } of found.files) intake.announce(name, bytes)
    for (const { name } of found.files) {
      signal.throwIfAborted()
      await intake.write(name, contentOf(join(from, name), name), signal)
    }
  } catch (error) {
    throw ofFiles(path, error)
  }
}

/** A file of the evidence; one that is not there is found missing before anything is read. */
export async function readLocal(
  path: string,
  from: string,
  name: string,
): Promise<AsyncIterable<Uint8Array>> {
  const problem = nameProblem(name)
  if (problem !== undefined) throw refusedFile(name, problem)
  try {
    const file = await realpath(join(from, 'evidence', name))
    if (file === join(await realpath(from), 'evidence', name)) return contentOf(file, name)
  } catch (error) {
    throw ofFiles(`${path}/evidence/${name}`, error)
  }
  throw refusedFile(name, 'there is a link on the way to it')
}

export async function storeLocal(
  path: string,
  to: string,
  directory: string,
  files: readonly string[],
  { signal }: StoreOptions,
): Promise<void> {
  try {
    for (const name of files) {
      signal.throwIfAborted()
      const problem = nameProblem(name)
      if (problem !== undefined) throw refusedFile(name, problem)
      const target = join(to, 'evidence', name)
      await makeDirectories(to, dirname(target))
      await replaceFile(
        target,
        partialOf(target, directory),
        contentOf(join(directory, name), name),
        signal,
      )
    }
  } catch (error) {
    throw ofFiles(path, error)
  }
}

/** Where the path leads to in truth; throws unless that is below one of the roots. */
export async function allowedDirectory(directory: string, roots: LocalRoots): Promise<string> {
  try {
    const real = await realpath(directory)
    if (roots === undefined) return real
    for (const root of roots) if (isBelow(await realpath(root), real)) return real
  } catch (error) {
    throw ofFiles(directory, error)
  }
  throw badPath(
    directory,
    'it is outside of probe.bundleRoots, the directories that the server may use',
  )
}

/** The content of a plain file; a link in its place, or a pipe, is refused and not opened. */
export async function* contentOf(path: string, name: string): AsyncGenerator<Uint8Array> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  let file
  try {
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    throw codeOf(error) === 'ELOOP' ? refusedFile(name, 'it is a link') : error
  }
  try {
    if (!(await file.stat()).isFile()) throw refusedFile(name, 'it is no file')
    const chunks: AsyncIterable<Uint8Array> = file.createReadStream({ autoClose: false })
    yield* chunks
  } finally {
    await file.close()
  }
}

function isBelow(root: string, directory: string): boolean {
  const way = relative(root, directory)
  return way !== '..' && !way.startsWith(`..${sep}`)
}

/** A link among them would lead what is written to somewhere else. */
async function makeDirectories(root: string, directory: string): Promise<void> {
  let at = root
  for (const part of relative(root, directory).split(sep)) {
    at = join(at, part)
    await mkdir(at).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error
    })
    if (!(await lstat(at)).isDirectory()) throw denied(at, 'it is no directory')
  }
}

/** Two tests of one bundle may store at a time; one that stores again finds what it had left. */
function partialOf(path: string, directory: string): string {
  return `${path}.${createHash('sha256').update(directory).digest('hex').slice(0, 16)}.partial`
}

async function replaceFile(
  path: string,
  partial: string,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  await rm(partial, { force: true })
  const file = await open(partial, 'wx')
  try {
    await pipeline(content, file.createWriteStream({ flush: true }), { signal })
    await rename(partial, path)
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}
