/**
 * One process per directory.
 *
 * The lock is an exclusive transaction on a small database of its own. The system gives it back when
 * the process ends, however it ends, so no process id has to be trusted and nothing is left to clean
 * up. Who holds it stands in a text file beside it, for people only.
 *
 * A process that was stopped for a while still holds its lock. On a file system that does not keep its
 * word on locks, the token in `fences` refuses the one that opened the directory first.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Accident, fault } from '../../std/index.ts'
import { isBusy } from './errors.ts'

const LOCK_FILE = 'lock.db'
const HOLDER_FILE = 'lock.txt'

export interface DirectoryLock {
  release(): void
}

/** Takes the directory, or throws `journal-in-use` with who has it. */
export function lockDirectory(directory: string, holder: string): DirectoryLock {
  const database = new DatabaseSync(join(directory, LOCK_FILE), { timeout: 0 })
  try {
    database.exec('pragma journal_mode = delete; begin exclusive')
  } catch (error) {
    database.close()
    if (isBusy(error)) throw inUse(directory, error)
    throw error
  }
  writeFileSync(join(directory, HOLDER_FILE), `${holder}\n`)
  return { release: () => database.close() }
}

/** Who has the directory at this moment, if anybody does; nothing is changed. */
export function holderOf(directory: string): string | undefined {
  const path = join(directory, LOCK_FILE)
  if (!existsSync(path)) return undefined
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    database.exec('begin exclusive; rollback')
    return undefined
  } catch (error) {
    if (isBusy(error)) return readHolder(directory)
    throw error
  } finally {
    database.close()
  }
}

/** What one is told that has lost the directory, although it never gave its lock back. */
export function taken(): Accident<'journal-in-use'> {
  return new Accident(
    fault('journal-in-use', 'the directory was taken by another process', {
      remedy: 'end one of the two, and see why the lock did not hold',
    }),
  )
}

function inUse(directory: string, cause: unknown): Accident {
  const holder = readHolder(directory)
  return new Accident(
    fault('journal-in-use', `the directory ${directory} is in use by ${holder}`, {
      directory,
      holder,
      remedy: 'end that process first, or give this one another directory',
    }),
    { cause },
  )
}

/** The holder writes its name just after it has the lock, so there may be a moment without one. */
function readHolder(directory: string): string {
  try {
    return readFileSync(join(directory, HOLDER_FILE), 'utf8').trim()
  } catch {
    return 'another process'
  }
}
