/** The part of the conformance suite about limits, and the numbers that show them coming. */
import assert from 'node:assert/strict'

import {
  BATCH_BYTES_MAX,
  BATCH_ITEMS_MAX,
  COMMITS_PENDING_MAX,
  NAME_BYTES_MAX,
  PAGE_BYTES_MIN,
  PAYLOAD_BYTES_MAX,
  type Batch,
} from '../journal/index.ts'
import { checkJournal } from './check-journal.ts'
import {
  append,
  dataOf,
  event,
  everything,
  type JournalTests,
} from './journal-conformance-fixture.ts'

export const LIMIT_TESTS: JournalTests = {
  async 'takes what is as large as it may be, and refuses what is larger with nothing left of it'({
    journal,
  }) {
    const name = '\u{20ac}'.repeat(NAME_BYTES_MAX / 3) + 'x'.repeat(NAME_BYTES_MAX % 3)
    const largest = 'x'.repeat(PAYLOAD_BYTES_MAX)
    const fits: Batch = {
      streams: [{ stream: name, expected: 'none', events: [event(largest, { type: name })] }],
      records: [{ collection: name, key: name, value: largest }],
      ledger: [{ key: name, fingerprint: '{}', response: largest }],
    }
    assert.equal((await journal.commit(fits)).type, 'committed')
    assert.deepEqual(await dataOf(journal, name), [largest])
    assert.deepEqual(await journal.readRecords(name, name), [{ key: name, value: largest }])
    assert.equal((await journal.lookup(name))?.response, largest)

    const quarter = 'x'.repeat(BATCH_BYTES_MAX / 4)
    for (const batch of [
      { streams: [append(`${name}x`, 'a')] },
      { streams: [append('a', `${largest}x`)] },
      { streams: [append('', 'a')] },
      { streams: [append('a\0b', 'a')] },
      { streams: [append('a\ud800', 'a')] },
      { streams: [append('a', '\udc00')] },
      { streams: [append('a', 'a'), append('a', 'b')] },
      { streams: [{ stream: 'a', expected: 'any' as const, events: [event('a', { at: 0.5 })] }] },
      recordsOf(BATCH_ITEMS_MAX + 1, ''),
      recordsOf(4, quarter),
    ])
      await assert.rejects(journal.commit(batch), { code: 'bad-batch' })
    assert.equal((await journal.commit(recordsOf(BATCH_ITEMS_MAX, ''))).type, 'committed')
    assert.equal((await journal.commit(recordsOf(3, quarter))).type, 'committed')
    assert.equal(await journal.position(), 1)
    await checkJournal(journal)
  },

  async 'gives all events and records, however large, to whoever reads on to the end'({ journal }) {
    const data = 'x'.repeat(PAYLOAD_BYTES_MAX)
    const count = 18
    for (let n = 0; n < count; n++)
      await journal.commit({
        streams: [append('a', data)],
        records: [{ collection: 'c', key: `${n + 10}`, value: data }],
      })

    let events = 0
    for (;;) {
      const page = await journal.readStream('a', { after: events })
      if (page.length === 0) break
      events += page.length
      assert.ok(events === count || page.length * PAYLOAD_BYTES_MAX >= PAGE_BYTES_MIN)
    }
    const keys: string[] = []
    for (;;) {
      const page = await journal.readRecords('c', '', { after: keys.at(-1) ?? '' })
      if (page.length === 0) break
      keys.push(...page.map(({ key }) => key))
    }
    assert.equal(events, count)
    assert.deepEqual(keys, [...new Set(keys)])
    assert.equal(keys.length, count)
  },

  async 'refuses one commit more than may wait, and answers all the others'({ journal }) {
    const calls = Array.from({ length: COMMITS_PENDING_MAX + 1 }, () =>
      journal.commit({ streams: [append('a', '')] }).then(
        ({ type }) => type,
        (error: { code: string }) => error.code,
      ),
    )
    const codes = await Promise.all(calls)
    assert.equal(codes.pop(), 'journal-overloaded')
    assert.deepEqual([...new Set(codes)], ['committed'])
    assert.equal(await journal.version('a'), COMMITS_PENDING_MAX)
    assert.equal((await journal.commit({ streams: [append('a', '')] })).type, 'committed')
  },

  async 'refuses more bytes than may wait, and answers all the others'({ journal }) {
    const large = 'x'.repeat(PAYLOAD_BYTES_MAX)
    const codes = await Promise.all(
      Array.from({ length: 20 }, () =>
        journal.commit({ records: [{ collection: 'c', key: 'k', value: large }] }).then(
          ({ type }) => type,
          (error: { code: string }) => error.code,
        ),
      ),
    )
    const taken = codes.indexOf('journal-overloaded')
    assert.ok(taken >= 8 && taken <= 16, `${taken} were taken`)
    assert.deepEqual(new Set(codes.slice(0, taken)), new Set(['committed']))
    assert.deepEqual(await journal.getRecords('c', ['k']), [{ key: 'k', value: large }])
  },

  async 'counts what it does'({ journal }) {
    await Promise.all([journal.commit(everything('x')), journal.commit(everything('y'))])
    await journal.commit(everything('x'))
    await journal.commit({ ledger: [{ key: 'x', fingerprint: '{"a":"1"}', response: '' }] })
    await journal.commit({ streams: [{ stream: 'x/1', expected: 9, events: [] }] })
    const stats = journal.stats()
    assert.equal(journal.state, 'open')
    const { groups, groupSizeMax, flushes: _flushes, bytes: _bytes, ...exact } = stats
    assert.ok(groups >= 1 && groups <= 5 && groupSizeMax >= 1)
    assert.deepEqual(exact, {
      state: 'open',
      commits: 2,
      refusals: 3,
      events: 6,
      records: 2,
      pending: 0,
      pendingBytes: 0,
      lagMs: 0,
      ledgerHits: 1,
      ledgerMismatches: 1,
    })
  },
}

function recordsOf(count: number, value: string): Batch {
  return {
    records: Array.from({ length: count }, (_, n) => ({ collection: 'c', key: `${n}`, value })),
  }
}
