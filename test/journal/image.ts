/**
 * A directory as a crash has left it, opened and held against what an observer knew.
 *
 * Most images are read without the threads of the engine, which take far longer to start than the rest;
 * what they read with is the same code.
 */
import {
  LEDGER_RETENTION_MS_DEFAULT,
  READ_LIMIT_MAX,
  sqliteJournal,
} from '../../src/journal/index.ts'
import type { Filing } from '../../src/journal/sqlite/filing.ts'
import { openDirectory } from '../../src/journal/sqlite/opening.ts'
import { systemClock } from '../../src/std/index.ts'
import { dumpOf, told, type Readable } from './dump.ts'
import type { History } from './history.ts'
import { load } from './load.ts'
import { compiled } from './subject.ts'

/** Throws where it cannot be so. `whole` opens it as users do, and commits some more. */
export async function checkImage(
  directory: string,
  history: History,
  whole: boolean,
): Promise<void> {
  if (whole) return checkWhole(directory, history)
  const { filing, database, lock, damage } = openDirectory(directory, LEDGER_RETENTION_MS_DEFAULT)
  try {
    if (damage !== undefined) throw damage
    history.settle(told(await dumpOf(readable(filing), history.keys)))
  } finally {
    database.close()
    lock.release()
  }
}

async function checkWhole(directory: string, history: History): Promise<void> {
  compiled()
  await using journal = await sqliteJournal({ directory })
  history.settle(told(await dumpOf(journal, history.keys)))
  const options = { ...history.start(), seed: 1, batches: 20 }
  await load(journal, options, (saying) => history.note(told(saying)))
  history.settle(told(await dumpOf(journal, history.keys)))
}

/** The reads of the port without the threads behind it, of which each takes longer to start than to use. */
function readable({ reading, position }: Filing): Readable {
  const now = systemClock.now()
  return {
    position: async () => position,
    readAll: async ({ after = 0, limit = 0 } = {}) => reading.all(after, limit),
    readStream: async (stream, { after = 0, limit = 0 } = {}) =>
      reading.stream(stream, after, limit),
    streams: async (prefix, { after = '', limit = 0 } = {}) =>
      reading.streams(prefix, after, limit),
    readRecords: async (collection, prefix, { after = '', limit = 0 } = {}) =>
      reading.records(collection, prefix, after, limit),
    lookup: async (key) => reading.lookup(key, now, LEDGER_RETENTION_MS_DEFAULT),
    snapshots: async (stream, fold) => reading.snapshots(stream, fold, READ_LIMIT_MAX),
  }
}
