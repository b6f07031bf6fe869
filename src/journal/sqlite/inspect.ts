/**
 * A directory that nobody uses, looked at from all sides: its tables, the log of SQLite beside them, and
 * the intake. Nothing in it is changed.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'

import { readIntake } from './intake.ts'
import { lockDirectory } from './lock.ts'
import { fileBytes, readPages } from './pages.ts'
import { Findings, noCounts, type VerifyReport } from './report.ts'
import { DIRECTORY_FENCE, TABLES_FILE } from './schema.ts'
import { verifyDatabase } from './verify.ts'

/** Blocks the thread until it is done. */
export function inspectNow(directory: string): VerifyReport {
  const lock = lockDirectory(directory, 'a search for damage')
  try {
    return inspect(directory)
  } finally {
    lock.release()
  }
}

export function inspect(directory: string): VerifyReport {
  const path = join(directory, TABLES_FILE)
  const findings = new Findings()
  let torn = false
  try {
    torn = logIsTorn(path, findings)
    const database = openUnchanged(path)
    try {
      noteOlder(directory, database, findings)
      const report = verifyDatabase(database, (filed) => readIntake(directory, filed), findings)
      return { ...report, torn }
    } finally {
      database.close()
    }
  } catch (error) {
    findings.add('file', `the file cannot be opened: ${String(error)}`)
    return {
      ok: false,
      checked: noCounts(),
      findings: findings.listed,
      unlisted: findings.count - findings.listed.length,
      losses: { events: 0, answers: 0 },
      torn,
    }
  }
}

/** What SQLite would drop without a word is a finding; a last write that is not whole may be a crash. */
function logIsTorn(path: string, findings: Findings): boolean {
  if (!hasLog(path)) return false
  const [file, log] = [fileBytes(path), fileBytes(`${path}-wal`)]
  const { type, frame } = readPages(file, log).log
  file.close()
  log.close()
  if (type === 'damaged')
    findings.add('log', `the log of the tables is damaged from frame ${frame} on`)
  return type === 'torn'
}

/** Each opening writes its token to the tables before it makes an intake of that name. */
function noteOlder(directory: string, database: DatabaseSync, findings: Findings): void {
  const tokens = readdirSync(directory).map((name) => Number(/^intake-(\d+)-/.exec(name)?.[1] ?? 0))
  const row = database.prepare('select token from fences where name = ?').get(DIRECTORY_FENCE)
  if (Math.max(0, ...tokens) > Number(row?.['token'] ?? 0))
    findings.add('file', 'the tables are older than the intake', { table: 'fences' })
}

/** Without a log nothing beside the file is needed, nor made. */
export function openUnchanged(path: string): DatabaseSync {
  return hasLog(path)
    ? new DatabaseSync(pathToFileURL(path), { readOnly: true })
    : openWithoutLog(path)
}

/** The file as it is by itself, whatever lies beside it. */
export function openWithoutLog(path: string): DatabaseSync {
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return new DatabaseSync(url, { readOnly: true })
}

function hasLog(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
}
