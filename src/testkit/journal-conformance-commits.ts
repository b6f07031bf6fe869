/** The part of the conformance suite about what is committed, in which order, and what is refused. */
import assert from 'node:assert/strict'

import type { Batch, Journal } from '../journal/index.ts'
import { checkJournal } from './check-journal.ts'
import {
  append,
  dataOf,
  event,
  everything,
  partsOf,
  put,
  type JournalTests,
} from './journal-conformance-fixture.ts'
import { settling } from './settling.ts'

const WRITERS = 8
const ROUNDS = 150

export const COMMIT_TESTS: JournalTests = {
  async 'gives back an event with everything it was given, and with its places'({ journal }) {
    const full = event('\0 "\u{1f984}"\n', {
      version: 7,
      at: -5,
      effectiveAt: -1_000,
      requestId: 'r1',
      actor: 'somebody',
      trace: 't1',
    })
    const bare = event('')
    const result = await journal.commit({
      streams: [
        { stream: 'a', expected: 'none', events: [full, bare] },
        { stream: 'b', expected: 0, events: [bare] },
      ],
    })
    assert.deepEqual(result, { type: 'committed', position: 3, versions: [2, 1] })
    await journal.commit({ streams: [append('a', 'next')] })
    assert.deepEqual(await journal.readAll(), [
      { ...full, stream: 'a', seq: 1, position: 1, batch: 1 },
      { ...bare, stream: 'a', seq: 2, position: 2, batch: 1 },
      { ...bare, stream: 'b', seq: 1, position: 3, batch: 1 },
      { ...event('next'), stream: 'a', seq: 3, position: 4, batch: 4 },
    ])
    await checkJournal(journal)
  },

  async 'takes a batch of nothing, of a version only, and of parts without events'({ journal }) {
    assert.deepEqual(await journal.commit({}), { type: 'committed', position: 0, versions: [] })
    assert.deepEqual(await journal.commit(versionOnly(0)), {
      type: 'committed',
      position: 0,
      versions: [0],
    })
    assert.equal((await journal.commit(versionOnly(1))).type, 'conflict')
    assert.deepEqual(await journal.streams(''), [])
    assert.equal((await put(journal, 'c', ['k'])).type, 'committed')
    assert.equal(await journal.position(), 0)
  },

  async 'leaves nothing of a batch that is refused'({ journal }) {
    await journal.commit({ streams: [append('busy', '1', '2')] })
    const batch = everything('x')
    for (const expected of ['none', 0, 1, 3] as const) {
      const streams = [...batch.streams!, { stream: 'busy', expected, events: [event()] }]
      assert.deepEqual(await journal.commit({ ...batch, streams }), {
        type: 'conflict',
        stream: 'busy',
        expected,
        actual: 2,
      })
      assert.equal(await partsOf(journal, 'x'), 'none')
    }
    assert.deepEqual(await dataOf(journal, 'busy'), ['1', '2'])
    assert.equal((await journal.commit(batch)).type, 'committed')
    assert.equal(await partsOf(journal, 'x'), 'all')
    await checkJournal(journal)
  },

  async 'lets one of several win that expect the same version, and tells the others'({ journal }) {
    await journal.commit({ streams: [append('race', 'first')] })
    const wins = await Promise.all(
      Array.from({ length: WRITERS }, (_, n) => race(journal, `writer ${n}`)),
    )
    const events = await journal.readStream('race', { limit: 10_000 })
    assert.equal(events.length, 1 + WRITERS * ROUNDS)
    for (const [n, seqs] of wins.entries())
      assert.deepEqual(
        events.filter((each) => each.data === `writer ${n}`).map(({ seq }) => seq),
        seqs,
      )
    await checkJournal(journal)
  },

  async 'lets batches take effect in the order of the calls'({ journal }) {
    const names = Array.from({ length: 500 }, (_, n) => String(n))
    const results = await Promise.all(
      names.map((name, n) =>
        journal.commit({
          streams: [
            { stream: 'line', expected: n, events: [event(name)] },
            append(`s${n % 7}`, name),
          ],
          records: [{ collection: 'last', key: 'of all', value: name }],
        }),
      ),
    )
    assert.deepEqual(
      results,
      names.map((_, n) => ({
        type: 'committed',
        position: 2 * (n + 1),
        versions: [n + 1, Math.floor(n / 7) + 1],
      })),
    )
    assert.deepEqual(await dataOf(journal, 'line'), names)
    assert.deepEqual(await journal.readRecords('last', ''), [{ key: 'of all', value: '499' }])
    await checkJournal(journal)
  },

  async 'never shows a gap to somebody who reads while others commit'({ journal }) {
    const writing = Promise.all(
      Array.from({ length: WRITERS }, async (_, n) => {
        for (let round = 0; round < 40; round++)
          await journal.commit({ streams: [append(`s${n}`, 'a', 'b'), append('all', `${n}`)] })
      }),
    )
    const isDone = settling(writing)
    while (!isDone()) await checkPrefix(journal)
    await writing
    assert.equal((await checkJournal(journal)).events.length, WRITERS * 40 * 3)
  },
}

function versionOnly(expected: number): Batch {
  return { streams: [{ stream: 'a', expected, events: [] }] }
}

/** Appends so many times, each at the version it has read; gives the versions it has won. */
async function race(journal: Journal, name: string): Promise<number[]> {
  const won: number[] = []
  let expected = await journal.version('race')
  while (won.length < ROUNDS) {
    const result = await journal.commit({
      streams: [{ stream: 'race', expected, events: [event(name)] }],
    })
    if (result.type === 'committed') {
      expected = result.versions[0]!
      won.push(expected)
    } else {
      assert.equal(result.type, 'conflict')
      expected = await journal.version('race')
    }
  }
  return won
}

async function checkPrefix(journal: Journal): Promise<void> {
  const events = await journal.readAll({ limit: 10_000 })
  const versions = new Map<string, number>()
  for (const [n, { position, stream, seq }] of events.entries()) {
    assert.equal(position, n + 1)
    assert.equal(seq, (versions.get(stream) ?? 0) + 1)
    versions.set(stream, seq)
  }
  assert.equal(events.length % 3, 0, 'a batch is seen as a whole')
  assert.ok((await journal.position()) >= events.length)
}
