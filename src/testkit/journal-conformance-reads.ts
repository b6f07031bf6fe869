/** The part of the conformance suite about reads. */
import assert from 'node:assert/strict'

import {
  READ_LIMIT_DEFAULT,
  READ_LIMIT_MAX,
  type Journal,
  type StoredEvent,
} from '../journal/index.ts'
import { append, put, type JournalTests } from './journal-conformance-fixture.ts'
import { byBytes } from './journal-model.ts'

/** Keys that mean something to somebody: patterns, quotes, paths, and the two orders of Unicode. */
const ODD_KEYS: readonly string[] = [
  'a',
  'aa',
  'a%b',
  'a%',
  'a_b',
  'axb',
  'a.b',
  'a.*',
  'a.>',
  'a*',
  'a b',
  'a/b',
  'a\\',
  "a'b",
  'a"b',
  'a\nb',
  'a\u{1}',
  'a\u{7f}',
  'a\u{e9}',
  'a\u{d7ff}',
  'a\u{e000}',
  'a\u{ffff}',
  'a\u{10000}',
  'a\u{10ffff}',
  'A',
  'b',
  '%',
  '_',
  '\u{10ffff}',
]

export const READ_TESTS: JournalTests = {
  async 'reads records by prefix in the order of their bytes, whatever is in a key'({ journal }) {
    await put(journal, 'odd', ODD_KEYS.toReversed())
    await put(journal, 'od', ['a', 'x'])
    for (const prefix of ['', ...ODD_KEYS, 'a\u{10}', 'zz']) {
      const expected = ODD_KEYS.filter((key) => key.startsWith(prefix)).toSorted(byBytes)
      const found = await journal.readRecords('odd', prefix)
      assert.deepEqual(
        found,
        expected.map((key) => ({ key, value: `of ${key}` })),
      )
      const walked: string[] = []
      for (let after: string | undefined = undefined; ;) {
        const page: Awaited<ReturnType<Journal['readRecords']>> = await journal.readRecords(
          'odd',
          prefix,
          { limit: 3, ...(after !== undefined && { after }) },
        )
        walked.push(...page.map(({ key }) => key))
        after = page.at(-1)?.key
        if (page.length < 3) break
      }
      assert.deepEqual(walked, expected)
    }
    assert.deepEqual(await journal.readRecords('nobody', ''), [])
  },

  async 'begins behind a key that need not be there'({ journal }) {
    await put(journal, 'c', ['b', 'bb', 'd'])
    const behind = async (prefix: string, after: string): Promise<string[]> =>
      (await journal.readRecords('c', prefix, { after })).map(({ key }) => key)
    assert.deepEqual(await behind('', 'a'), ['b', 'bb', 'd'])
    assert.deepEqual(await behind('', 'ba'), ['bb', 'd'])
    assert.deepEqual(await behind('b', 'a'), ['b', 'bb'])
    assert.deepEqual(await behind('b', 'c'), [])
    assert.deepEqual(await behind('', ''), ['b', 'bb', 'd'])
  },

  async 'gives the records that are there, in the order they are asked for'({ journal }) {
    await put(journal, 'c', ['a', 'b', 'c'])
    await journal.commit({
      records: [
        { collection: 'c', key: 'b', deleted: true },
        { collection: 'c', key: 'c', value: 'anew' },
        { collection: 'c', key: 'never', deleted: true },
      ],
    })
    assert.deepEqual(await journal.getRecords('c', ['c', 'x', 'b', 'a']), [
      { key: 'c', value: 'anew' },
      { key: 'a', value: 'of a' },
    ])
    assert.deepEqual(await journal.getRecords('c', []), [])
    assert.deepEqual(await journal.getRecords('d', ['a']), [])
  },

  async 'lists streams by prefix in the order of their bytes'({ journal }) {
    for (const key of ODD_KEYS) await journal.commit({ streams: [append(key, '1', '2')] })
    for (const prefix of ['', 'a', 'a%', 'a_', '\u{10ffff}']) {
      const expected = ODD_KEYS.filter((key) => key.startsWith(prefix)).toSorted(byBytes)
      const heads = expected.map((stream) => ({ stream, version: 2 }))
      assert.deepEqual(await journal.streams(prefix), heads)
      const after = expected[0]!
      assert.deepEqual(await journal.streams(prefix, { after, limit: 2 }), heads.slice(1, 3))
    }
  },

  async 'reads events in pages, and nothing behind the end'({ journal }) {
    const data = Array.from({ length: READ_LIMIT_DEFAULT + 5 }, (_, n) => String(n))
    await journal.commit({ streams: [append('a', ...data), append('b', 'x')] })
    assert.equal((await journal.readStream('a')).length, READ_LIMIT_DEFAULT)
    assert.equal((await journal.readAll()).length, READ_LIMIT_DEFAULT)
    assert.equal((await journal.readAll({ limit: READ_LIMIT_MAX })).length, data.length + 1)
    assert.equal((await journal.readStream('a', { limit: READ_LIMIT_MAX })).length, data.length)
    assert.deepEqual(seqsOf(await journal.readStream('a', { after: 2, limit: 3 })), [3, 4, 5])
    assert.deepEqual(seqsOf(await journal.readStream('a', { after: data.length - 1 })), [
      data.length,
    ])
    assert.deepEqual(await journal.readStream('a', { after: data.length }), [])
    assert.deepEqual(await journal.readAll({ after: data.length + 1 }), [])
    assert.deepEqual(await journal.readStream('nobody'), [])
    assert.equal(await journal.version('nobody'), 0)
    assert.equal(await journal.version('a'), data.length)
    assert.equal(await journal.position(), data.length + 1)
  },

  async 'refuses reads that ask for what cannot be'({ journal }) {
    for (const read of [
      () => journal.readAll({ limit: 0 }),
      () => journal.readAll({ limit: READ_LIMIT_MAX + 1 }),
      () => journal.readAll({ after: -1 }),
      () => journal.readStream('a', { after: 0.5 }),
      () => journal.readStream(''),
      () => journal.version('a\0'),
      () => journal.streams('\ud800'),
      () => journal.readRecords('', 'a'),
      () => journal.readRecords('c', '', { after: '\udc00' }),
      () => journal.getRecords('c', ['']),
      () => journal.getRecords('c', Array<string>(READ_LIMIT_MAX + 1).fill('k')),
      () => journal.lookup(''),
      () => journal.snapshots('a', ''),
      async () => journal.subscribe({ after: -1, handle: () => undefined }),
      async () => journal.subscribe({ after: 0, limit: 0, handle: () => undefined }),
    ])
      await assert.rejects(read, { code: 'bad-read' })
  },
}

function seqsOf(events: readonly StoredEvent[]): number[] {
  return events.map(({ seq }) => seq)
}
