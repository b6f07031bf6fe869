/** Directories that something is put into as a whole. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

import { Accident, fault } from '../../std/index.ts'

/** Throws `target-exists`. */
export function refuseExisting(directory: string): void {
  if (!existsSync(directory)) return
  throw new Accident(
    fault('target-exists', `${directory} is there already`, {
      directory,
      remedy: 'give a directory that is not there yet',
    }),
  )
}

export function makeDirectory(directory: string): void {
  refuseExisting(directory)
  ensureDirectory(directory)
}

/** Makes a directory where there is none, and those it is in, so that a power cut leaves them there. */
export function ensureDirectory(directory: string): void {
  const first = mkdirSync(directory, { recursive: true })
  if (first === undefined) return
  const above = dirname(resolve(first))
  for (let made = resolve(directory); made !== above; made = dirname(made)) syncPath(made)
  syncPath(above)
}

/** Makes a file durable, or the names in a directory. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
