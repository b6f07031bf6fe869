/**
 * What must be true of any journal at any time, whatever was written to it.
 *
 * Positions are 1, 2, 3 … and so are the versions of each stream; a stream read by itself is the same
 * as its part of everything; what was written together stands together. It reads in pages that grow
 * from one, so that the joints between them are checked as well.
 */
import assert from 'node:assert/strict'

import type { Journal, StoredEvent, StreamHead } from '../journal/index.ts'
import { byBytes } from './journal-model.ts'

export type JournalContent = Readonly<{
  events: readonly StoredEvent[]
  streams: readonly StreamHead[]
}>

const PAGE_MOST = 1_000

/** Throws an assertion at the first thing that is wrong; gives everything it has read. */
export async function checkJournal(journal: Journal): Promise<JournalContent> {
  const events = await readToEnd((after, limit) => journal.readAll({ after, limit }), 'position')
  const heads = await readHeads(journal)
  const byStream = Map.groupBy(events, ({ stream }) => stream)
  for (const [n, { position, batch }] of events.entries()) {
    assert.equal(position, n + 1, 'positions have no gap')
    const isFirst = batch === position
    assert.ok(isFirst || events[n - 1]?.batch === batch, `position ${position} is in its batch`)
  }
  assert.deepEqual(
    heads.map(({ stream }) => stream),
    [...byStream.keys()].toSorted(byBytes),
    'streams are those that have events, by name',
  )
  for (const { stream, version } of heads) {
    const part = byStream.get(stream) ?? []
    assert.equal(version, part.length, `the version of ${stream} is the number of its events`)
    for (const [n, { seq }] of part.entries()) assert.equal(seq, n + 1, `${stream} has no gap`)
    const read = await readToEnd(
      (after, limit) => journal.readStream(stream, { after, limit }),
      'seq',
    )
    assert.deepEqual(read, part, `${stream} by itself is its part of everything`)
    assert.equal(await journal.version(stream), version)
  }
  return { events, streams: heads }
}

async function readToEnd(
  read: (after: number, limit: number) => Promise<readonly StoredEvent[]>,
  place: 'position' | 'seq',
): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for (let limit = 1; ; limit = Math.min(2 * limit, PAGE_MOST)) {
    const page = await read(events.at(-1)?.[place] ?? 0, limit)
    events.push(...page)
    if (page.length < limit) return events
  }
}

async function readHeads(journal: Journal): Promise<StreamHead[]> {
  const heads: StreamHead[] = []
  for (let limit = 1; ; limit = Math.min(2 * limit, PAGE_MOST)) {
    const after = heads.at(-1)?.stream
    const page = await journal.streams('', { limit, ...(after !== undefined && { after }) })
    heads.push(...page)
    if (page.length < limit) return heads
  }
}
