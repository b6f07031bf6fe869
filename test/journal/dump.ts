/** Everything a journal holds, read through its port and nothing else. */
import { hash } from 'node:crypto'

import type {
  Journal,
  Snapshot,
  StoredAnswer,
  StoredEvent,
  StoredRecord,
  StreamHead,
} from '../../src/journal/index.ts'

export type Dump = Readonly<{
  position: number
  events: readonly StoredEvent[]
  heads: readonly StreamHead[]
  /** For each stream the positions of its events, as its own readers find them. */
  streams: Readonly<Record<string, readonly number[]>>
  snapshots: Readonly<Record<string, readonly Snapshot[]>>
  records: Readonly<Record<string, readonly StoredRecord[]>>
  answers: readonly StoredAnswer[]
}>

/** As much of a journal as a dump is made from. */
export type Readable = Pick<
  Journal,
  'lookup' | 'position' | 'readAll' | 'readRecords' | 'readStream' | 'snapshots' | 'streams'
>

/** Longer texts are told briefly. */
const TEXT_CHARS_MAX = 512

export const FOLD = 'fold-1'
export const COLLECTIONS: readonly string[] = ['queue', 'leases', 'marks']

/** As JSON, with a long text as its beginning, its length and its hash. */
export function briefly(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== 'string' || part.length <= TEXT_CHARS_MAX) return part
    return `${part.slice(0, 32)}… ${part.length} ${hash('sha1', part)}`
  })
}

/** As it is when another process has told it. */
export function told<T>(value: T): T {
  return JSON.parse(briefly(value)) as T
}

/** A ledger cannot be listed, so `keys` says what to look up. */
export async function dumpOf(journal: Readable, keys: readonly string[]): Promise<Dump> {
  const events = await paged(
    (page) => journal.readAll(page),
    0,
    (event) => event.position,
  )
  const heads = await paged(
    (page) => journal.streams('', page),
    '',
    (head) => head.stream,
  )
  const streams: Record<string, readonly number[]> = {}
  const snapshots: Record<string, readonly Snapshot[]> = {}
  for (const { stream } of heads) {
    const history = await paged(
      (page) => journal.readStream(stream, page),
      0,
      (event) => event.seq,
    )
    streams[stream] = history.map(({ position }) => position)
    snapshots[stream] = await journal.snapshots(stream, FOLD)
  }
  const records: Record<string, readonly StoredRecord[]> = {}
  for (const collection of COLLECTIONS)
    records[collection] = await paged(
      (page) => journal.readRecords(collection, '', page),
      '',
      (record) => record.key,
    )
  return {
    position: await journal.position(),
    events,
    heads,
    streams,
    snapshots,
    records,
    answers: await answersOf(journal, keys),
  }
}

async function answersOf(journal: Readable, keys: readonly string[]): Promise<StoredAnswer[]> {
  const answers: StoredAnswer[] = []
  for (let at = 0; at < keys.length; at += 1_000) {
    const some = keys.slice(at, at + 1_000).map((key) => journal.lookup(key))
    for (const answer of await Promise.all(some)) if (answer !== undefined) answers.push(answer)
  }
  return answers
}

async function paged<T, After>(
  read: (page: { after: After; limit: number }) => Promise<readonly T[]>,
  first: After,
  placeOf: (item: T) => After,
): Promise<T[]> {
  const limit = 1_000
  const all: T[] = []
  for (let after = first; ; after = placeOf(all.at(-1)!)) {
    const page = await read({ after, limit })
    if (page.length === 0) return all // a page that is not full may have large items
    all.push(...page)
  }
}
