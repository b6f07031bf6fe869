/**
 * A damaged directory made whole again from everything in it that is still right.
 *
 * What is kept, what is lost and what stands in its place is said in `latest.ts`, `restore.ts` and
 * `regroup.ts`. The damaged files are never changed: they are kept in a directory beside, or stay where
 * they are if the repaired ones go elsewhere. The repaired file takes the place of the damaged one only
 * when it is on disk and verifies. Between the moment when the old file goes and the repaired one comes,
 * a note is in its place that no program takes for a journal; a repair that finds it goes on from the
 * files that the note names.
 */
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

import { Accident, assert, fault } from '../../std/index.ts'
import { makeDirectory, syncPath } from './directories.ts'
import { readIntake } from './intake.ts'
import { latestPages } from './latest.ts'
import { lockDirectory } from './lock.ts'
import { fileBytes, imageBytes, readPages, type Bytes, type Pages } from './pages.ts'
import type { RepairReport } from './report.ts'
import { restore, type Restored } from './restore.ts'
import { DIRECTORY_FENCE, MIGRATIONS, SCHEMA_VERSION, TABLES_FILE } from './schema.ts'
import { Tables } from './tables.ts'
import { verifyDatabase } from './verify.ts'

export type RepairOptions = Readonly<{
  /** Where the repaired journal goes, a directory that is not there yet; in the place of the damaged one otherwise. */
  into?: string
}>

const LOG_FILE = `${TABLES_FILE}-wal`
const INDEX_FILE = `${TABLES_FILE}-shm`
const REPAIRED_FILE = `${TABLES_FILE}.repaired`
const INTAKE = /^intake-(\d+)-/
const NOTE = 'this journal is being repaired; what it was is in '

/** Blocks the thread until it is done. */
export function repairNow(directory: string, { into }: RepairOptions): RepairReport {
  const lock = lockDirectory(directory, 'a repair')
  try {
    const source = sourceOf(directory)
    if (into !== undefined) {
      makeDirectory(into)
      const restored = build(source, join(into, TABLES_FILE))
      return reportOf(restored, { directory: into, original: source })
    }
    const repaired = join(directory, REPAIRED_FILE)
    const restored = build(source, repaired)
    const original = source === directory ? putAside(directory) : source
    replaceBy(directory, { repaired, original })
    return reportOf(restored, { directory, original })
  } finally {
    lock.release()
  }
}

/** The damaged files: those of the directory, or those a repair had put aside before it was cut short. */
function sourceOf(directory: string): string {
  const path = join(directory, TABLES_FILE)
  if (!existsSync(path))
    throw new Accident(
      fault('damaged', `there is no journal in ${directory}`, {
        directory,
        remedy: 'give the directory of a journal, or restore a backup',
      }),
    )
  const file = fileBytes(path)
  const begin = file.read(0, NOTE.length + 100).toString()
  file.close()
  return begin.startsWith(NOTE) ? join(directory, begin.slice(NOTE.length)) : directory
}

function build(source: string, target: string): Restored {
  rmSync(target, { force: true })
  const [file, log] = [TABLES_FILE, LOG_FILE].map((name) => bytesOf(join(source, name)))
  const database = new DatabaseSync(target)
  try {
    database.exec('pragma journal_mode = memory; pragma synchronous = off')
    return rebuild(source, readPages(file!, log), database)
  } finally {
    database.close()
    file!.close()
    log!.close()
    syncPath(target)
  }
}

/** `database` is empty; `pages` and the intake are those of `source`. */
export function rebuild(source: string, pages: Pages, database: DatabaseSync): Restored {
  for (const migration of MIGRATIONS) database.exec(migration)
  database.exec(`pragma user_version = ${SCHEMA_VERSION}`)
  const { groups, stranded } = readIntake(source, 0)
  const found = [...groups, ...stranded]
  const restored = restore(latestPages(source, pages, found), database, found)
  renewFence(database, source)
  const { ok, findings } = verifyDatabase(database)
  assert(ok, `a repaired journal verifies, but for ${JSON.stringify(findings[0])}`)
  return restored
}

function bytesOf(path: string): Bytes {
  return existsSync(path) ? fileBytes(path) : imageBytes(Buffer.alloc(0))
}

/** Whoever wrote to the intake may still do so; the next opening must have a later token. */
function renewFence(database: DatabaseSync, source: string): void {
  const used = readdirSync(source).map((name) => Number(INTAKE.exec(name)?.[1] ?? 0))
  const token = Math.max(0, ...used)
  const row = database.prepare('select token from fences where name = ?').get(DIRECTORY_FENCE)
  if (Number(row?.['token'] ?? 0) >= token) return
  const tables = new Tables(database)
  tables.begin()
  tables.fence(DIRECTORY_FENCE, token)
  tables.commit(tables.filed)
}

/** A second name for each of the damaged files, in a directory of their own. */
function putAside(directory: string): string {
  let n = 1
  while (existsSync(join(directory, `damaged-${n}`))) n++
  const aside = join(directory, `damaged-${n}`)
  mkdirSync(aside)
  for (const name of readdirSync(directory))
    if (name === TABLES_FILE || name === LOG_FILE || INTAKE.test(name))
      linkSync(join(directory, name), join(aside, name))
  syncPath(aside)
  syncPath(directory)
  return aside
}

function replaceBy(
  directory: string,
  { repaired, original }: Readonly<{ repaired: string; original: string }>,
): void {
  const path = join(directory, TABLES_FILE)
  const note = `${path}.note`
  writeFileSync(note, NOTE + basename(original))
  syncPath(note)
  renameSync(note, path)
  for (const name of readdirSync(directory))
    if (name === LOG_FILE || name === INDEX_FILE || INTAKE.test(name)) rmSync(join(directory, name))
  syncPath(directory)
  renameSync(repaired, path)
  syncPath(directory)
}

function reportOf(
  restored: Restored,
  where: Readonly<{ directory: string; original: string }>,
): RepairReport {
  const [kept, lost] = [restored.kept, restored.lost].map((counts) =>
    Object.values(counts).reduce((sum, count) => sum + count, 0),
  )
  return { ...where, ...restored, share: lost === 0 ? 1 : kept! / (kept! + lost!) }
}
