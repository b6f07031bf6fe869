/**
 * How a directory becomes a journal: the lock, the tables, what is left in the intake, the token.
 *
 * The token is taken and the intake is sealed before it is read. Whoever had the directory before
 * looks for the seal after each flush and before it answers: so either it finds that it has lost the
 * directory, or what it has answered is read here.
 */
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Accident, fault } from '../../std/index.ts'
import { damaged, reading } from './damage.ts'
import { ensureDirectory } from './directories.ts'
import { Filing } from './filing.ts'
import { readIntake, removeIntake, sealIntake } from './intake.ts'
import { lockDirectory, type DirectoryLock } from './lock.ts'
import { DIRECTORY_FENCE, MIGRATIONS, SCHEMA_VERSION, TABLES_FILE } from './schema.ts'
import { writeFirstRows } from './tables.ts'
import { sureGroups } from './unsure.ts'

export type Opened = Readonly<{
  lock: DirectoryLock
  database: DatabaseSync
  filing: Filing
  token: number
  /** Why nothing may be written: something is missing from the intake, or cannot be filed from there. */
  damage?: Accident<'damaged'>
}>

/** How long a statement waits for somebody who looks at the file from outside. */
const BUSY_MS = 5_000
const CACHE_KIB = 65_536
const LOG_BYTES_KEPT = 67_108_864

export function openDirectory(directory: string, retentionMs: number): Opened {
  ensureDirectory(directory)
  const lock = lockDirectory(directory, `process ${process.pid} on ${hostname()}`)
  let database: DatabaseSync | undefined
  try {
    database = openTables(directory)
    const filing = new Filing(database, retentionMs)
    const token = filing.takeFence(DIRECTORY_FENCE)
    sealIntake(directory)
    const { groups, missing } = readIntake(directory, filing.filed)
    const sure = sureGroups(database, groups, (stream) => filing.reading.version(stream))
    for (const group of sure.groups) filing.lay(group)
    const damage =
      sure.damage ?? (missing === undefined ? unfiled(filing) : lostGroup(filing, missing))
    // A log that is damaged afterwards would lay older pages over the tables, and nothing could tell:
    // so it is emptied, and where somebody reads who needs it, what it came from stays as well.
    const isEmptied = emptyLog(database)
    if (damage !== undefined) return { lock, database, filing, token, damage }
    if (isEmptied) removeIntake(directory, token)
    return { lock, database, filing, token }
  } catch (error) {
    database?.close()
    lock.release()
    throw error
  }
}

/** Why what is left in the intake cannot be filed: it is read from there, and its neighbours too. */
function unfiled(filing: Filing): Accident<'damaged'> | undefined {
  try {
    filing.settle()
    return undefined
  } catch (error) {
    if (!isDamage(error)) throw error
    filing.undo()
    return error
  }
}

function lostGroup(filing: Filing, group: number): Accident<'damaged'> {
  return unfiled(filing) ?? damaged(`group ${group} of the intake is damaged`, { table: 'intake' })
}

function isDamage(error: unknown): error is Accident<'damaged'> {
  return error instanceof Accident && error.code === 'damaged'
}

function emptyLog(database: DatabaseSync): boolean {
  return database.prepare('pragma wal_checkpoint(truncate)').get()?.['busy'] === 0
}

/** The tables of the directory, made or brought to this version where they are not. */
export function openTables(directory: string): DatabaseSync {
  const database = new DatabaseSync(join(directory, TABLES_FILE), { timeout: BUSY_MS })
  try {
    reading({ table: 'sqlite_schema' }, () => migrate(database, directory))
    database.exec(`
      pragma synchronous = full;
      pragma wal_autocheckpoint = 0;
      pragma cache_size = -${CACHE_KIB};
      pragma temp_store = memory;
      pragma journal_size_limit = ${LOG_BYTES_KEPT};
    `)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function migrate(database: DatabaseSync, directory: string): void {
  const version = Number(database.prepare('pragma user_version').get()?.['user_version'])
  if (version > SCHEMA_VERSION) throw newer(directory, version)
  if (version === 0) database.exec('pragma journal_mode = wal')
  for (let from = version; from < SCHEMA_VERSION; from++) {
    database.exec('begin immediate')
    database.exec(MIGRATIONS[from]!)
    if (from === 0) writeFirstRows(database)
    database.exec(`pragma user_version = ${from + 1}; commit`)
  }
}

function newer(directory: string, version: number): Accident<'journal-newer'> {
  return new Accident(
    fault('journal-newer', `the journal in ${directory} was written by a later version`, {
      directory,
      version,
      known: SCHEMA_VERSION,
      remedy: 'open it with that version; nothing was touched',
    }),
  )
}
