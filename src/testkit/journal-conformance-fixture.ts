/** A journal for one test, and short ways to write to it. */
import type { Batch, CommitResult, Journal, NewEvent, StreamAppend } from '../journal/index.ts'
import type { JournalEngine, JournalStorage } from './journal-engine.ts'
import { virtualClock, type VirtualClock } from './virtual-clock.ts'

export type Fixture = Readonly<{
  journal: Journal
  clock: VirtualClock
  storage: JournalStorage
  /** Closes the journal if it is open, and opens it again. */
  reopen: () => Promise<Journal>
}>

/** How long its journals remember request ids, in milliseconds. */
export const RETENTION = 1_000_000

/** Rules, each with what shows whether it is kept. */
export type JournalTests = Readonly<Record<string, (fixture: Fixture) => Promise<void>>>

/** Runs a test on a journal of its own. */
export function onJournal(
  engine: JournalEngine,
  test: (fixture: Fixture) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const clock = virtualClock()
    const storage = await engine.storage(clock)
    let journal = await storage.open({ ledgerRetentionMs: RETENTION })
    const reopen = async (): Promise<Journal> => {
      await journal.close()
      journal = await storage.open({ ledgerRetentionMs: RETENTION })
      return journal
    }
    try {
      await test({ journal, clock, storage, reopen })
    } finally {
      await journal.close()
      await storage.remove?.()
    }
  }
}

export function event(data = '{}', more: Partial<NewEvent> = {}): NewEvent {
  return { type: 'happened', version: 1, at: 1_700_000_000_000, data, ...more }
}

/** Events with these data for one stream, whatever its version. */
export function append(stream: string, ...data: string[]): StreamAppend {
  return { stream, expected: 'any', events: data.map((each) => event(each)) }
}

export async function put(
  journal: Journal,
  collection: string,
  keys: readonly string[],
): Promise<CommitResult> {
  return journal.commit({ records: keys.map((key) => ({ collection, key, value: `of ${key}` })) })
}

export async function dataOf(journal: Journal, stream: string): Promise<string[]> {
  return (await journal.readStream(stream)).map((each) => each.data)
}

/** A batch that has something of everything, with a name of its own. */
export function everything(name: string): Batch {
  return {
    streams: [append(`${name}/1`, 'a', 'b'), append(`${name}/2`, 'c')],
    records: [{ collection: 'things', key: name, value: 'there' }],
    ledger: [{ key: name, fingerprint: '{}', response: 'done' }],
    snapshots: [{ stream: `${name}/1`, seq: 2, topAt: 7, topSeq: 1, fold: 'f', state: 'folded' }],
  }
}

/** Which parts of such a batch are there: all, none, or those that are named. */
export async function partsOf(journal: Journal, name: string): Promise<string> {
  const parts = {
    first: (await journal.version(`${name}/1`)) === 2,
    second: (await journal.version(`${name}/2`)) === 1,
    record: (await journal.getRecords('things', [name])).length === 1,
    answer: (await journal.lookup(name)) !== undefined,
    snapshot: (await journal.snapshots(`${name}/1`, 'f')).length === 1,
  }
  const there = Object.entries(parts).filter(([, isThere]) => isThere)
  if (there.length === 0) return 'none'
  return there.length === 5 ? 'all' : there.map(([part]) => part).join(', ')
}
