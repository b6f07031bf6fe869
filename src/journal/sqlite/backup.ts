/**
 * A copy of the tables of a journal that is open, as they were at one moment. It is a journal itself:
 * a directory with a file in it. It has its name only when it is whole and on disk.
 */
import { renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'

import { makeDirectory, refuseExisting, syncPath } from './directories.ts'
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
