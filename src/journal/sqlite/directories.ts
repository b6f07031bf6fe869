/** Directories that something is put into as a whole. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs'

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
  mkdirSync(directory, { recursive: true })
}

/** Makes a file durable, or the names in a directory. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
