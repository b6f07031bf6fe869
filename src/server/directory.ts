/** The data directory as commands see it, and the note that a running server leaves in it. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

import { optional, readShape, shape, text, whole } from '../http/index.ts'
import { describeDirectory } from '../journal/index.ts'
import { Accident, fault } from '../std/index.ts'
import { MEMORY, type Config } from './config-keys.ts'

/** Who serves from a directory, for commands that want to speak to it; it is gone when the server is. */
export type ServerNote = Readonly<{ pid: number; url: string; version?: string }>

const NOTE_FILE = 'server.json'
const note = shape({
  pid: whole(1, Number.MAX_SAFE_INTEGER),
  url: text({ min: 1, max: 1_000 }),
  version: optional(text({ max: 100 })),
})

/** Absolute. Throws `bad-usage` where the config keeps nothing. */
export function dataDirectory(config: Config): string {
  const directory = config['data.directory']
  if (directory !== MEMORY) return resolve(directory)
  throw new Accident(
    fault('bad-usage', 'the config keeps everything in memory, so there is no directory', {
      remedy: 'name the directory, or give one with --data',
    }),
  )
}

/** The same, where there is a journal in it. Throws `no-data` otherwise. */
export function requireJournal(config: Config): string {
  const directory = dataDirectory(config)
  if (describeDirectory(directory).isJournal) return directory
  throw new Accident(
    fault('no-data', `there is no data in ${directory}`, {
      directory,
      remedy: 'give the data directory of a server, or restore a backup to it',
    }),
  )
}

export function journalBytes(directory: string): number {
  return describeDirectory(directory).bytes
}

export function writeNote(directory: string, { pid, url, version }: ServerNote): void {
  writeFileSync(join(directory, NOTE_FILE), `${JSON.stringify({ pid, url, version })}\n`)
}

export function removeNote(directory: string): void {
  rmSync(join(directory, NOTE_FILE), { force: true })
}

/** A server that was killed leaves its note behind: who has the directory tells whether it counts. */
export function readNote(directory: string, holder: string | undefined): ServerNote | undefined {
  try {
    const read = readShape(note, JSON.parse(readFileSync(join(directory, NOTE_FILE), 'utf8')))
    return read.ok && holder?.startsWith(`process ${read.value.pid} on `) ? read.value : undefined
  } catch {
    return undefined
  }
}
