/**
 * Which versions of the pages are the latest, in the files of a damaged journal.
 *
 * SQLite lays the log over the file as far as the log checks out. That is right after a crash, which cuts
 * short nothing but the last transaction, and only before anybody was told that it is durable. It is not
 * right after damage:
 *
 *   - A log that was carried over into the file stays beside it until the next transaction. Damaged
 *     then, it would lay older pages over later ones: a row that went from one page to another in
 *     between would be on neither, and one that was deleted would be there again.
 *   - A transaction that looks cut short may have been whole.
 *
 * The anchor on each side says how far it has come, because every transaction that files moves it.
 */
import { join } from 'node:path'

import { openWithoutLog } from './inspect.ts'
import type { Group } from './intake.ts'
import type { Pages } from './pages.ts'
import { salvage } from './salvage.ts'
import { TABLES_FILE } from './schema.ts'
import { verifyDatabase } from './verify.ts'

/** `pages` and `groups` are those of the directory. */
export function latestPages(directory: string, pages: Pages, groups: readonly Group[]): Pages {
  const inBoth = filedIn(pages)
  if (pages.log.type === 'none' || inBoth === undefined) return pages
  const file = pages.withoutLog()
  const inFile = filedIn(file) ?? 0
  if (inFile >= inBoth && !isMissing(groups, inFile) && isWhole(directory)) return file
  const torn = pages.withTorn()
  // The file has what looks cut short, or even more, and yet not everything: it was damaged as well, or
  // carrying over was cut short, and then the log has the rest.
  if (inFile > inBoth) return (filedIn(torn) ?? inFile) < inFile ? file : torn
  return pages.log.type === 'torn' && isMissing(groups, inBoth) ? torn : pages
}

/** The last group that is in the tables, if their anchor is where it should be. */
function filedIn(pages: Pages): number | undefined {
  for (const found of salvage(pages))
    if (found.type === 'row' && found.table === 'anchor' && found.standing === 'sound')
      return found.row.filed
  return undefined
}

/**
 * A group is written over only when it is durable in the tables. So where groups behind the end of the
 * tables are missing, there was more in the tables once.
 */
function isMissing(groups: readonly Group[], filed: number): boolean {
  const behind = groups.filter(({ number }) => number > filed)
  return behind.some(({ number }, n) => number !== filed + 1 + n)
}

/** Whether the file needs no log: its check numbers leave nothing out. */
function isWhole(directory: string): boolean {
  const database = openWithoutLog(join(directory, TABLES_FILE))
  try {
    return verifyDatabase(database).ok
  } finally {
    database.close()
  }
}
