/**
 * A copy of the tables of a journal that is open, as they were at one moment, and the way back. It is a
 * journal itself: a directory with a file in it. It has its name only when it is whole and on disk.
 */
import { copyFileSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'

import { Accident, fault } from '../../std/index.ts'
import { ensureDirectory, makeDirectory, refuseExisting, syncPath } from './directories.ts'
import { inspectNow } from './inspect.ts'
import type { VerifyReport } from './report.ts'
import { TABLES_FILE } from './schema.ts'

const PAGES_AT_ONCE = 1_000

export async function backupTables(file: string, target: string): Promise<undefined> {
  refuseExisting(target)
  const partial = `${target}.partial`
  rmSync(partial, { recursive: true, force: true })
  makeDirectory(partial)
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    // A transaction that has read something holds the moment; without it each write would start the copy anew.
    source.exec('begin')
    source.prepare('select count(*) from anchor').get()
    await backup(source, join(partial, TABLES_FILE), { rate: PAGES_AT_ONCE })
  } finally {
    source.close()
  }
  syncPath(join(partial, TABLES_FILE))
  syncPath(partial)
  refuseExisting(target)
  renameSync(partial, target)
  syncPath(dirname(target))
  return undefined
}

/** What a journal is made of; the rest of a directory is for people, or for one process. */
const PARTS = new RegExp(
  `^(?:${TABLES_FILE}(?:-wal)?|intake-\\d+-[0-9a-f]{16}-[ab](?:\\.sealed)?)$`,
)

/** The tables come last: without them nobody takes the directory for a journal. */
export function restoreBackup(source: string, directory: string): VerifyReport {
  if (!existsSync(join(source, TABLES_FILE))) throw notABackup(source)
  if (existsSync(directory) && readdirSync(directory).length > 0) refuseExisting(directory)
  const report = inspectNow(source)
  if (!report.ok) throw damagedBackup(source, report)
  ensureDirectory(directory)
  const parts = readdirSync(source).filter((name) => PARTS.test(name))
  for (const name of parts.toSorted(
    (a, b) => Number(a === TABLES_FILE) - Number(b === TABLES_FILE),
  )) {
    const partial = join(directory, `${name}.partial`)
    copyFileSync(join(source, name), partial)
    syncPath(partial)
    renameSync(partial, join(directory, name))
  }
  syncPath(directory)
  return report
}

function notABackup(source: string): Accident<'damaged'> {
  return new Accident(
    fault('damaged', `there is no backup in ${source}`, {
      directory: source,
      remedy: 'give a directory that a backup was made to',
    }),
  )
}

function damagedBackup(source: string, { findings }: VerifyReport): Accident<'damaged'> {
  return new Accident(
    fault('damaged', `the backup in ${source} is damaged: ${findings[0]?.message}`, {
      directory: source,
      findings: findings.slice(0, 10),
      remedy: 'take another backup, or repair this one first',
    }),
  )
}
