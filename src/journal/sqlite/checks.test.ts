import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import {
  anchorCrc,
  digestCrc,
  eventCrc,
  fenceCrc,
  ledgerCrc,
  linkOf,
  recordCrc,
  snapshotCrc,
  streamCrc,
  sumWith,
  sumWithout,
} from './checks.ts'

const event = {
  position: 7,
  stream: 2,
  seq: 3,
  batch: 6,
  at: 1_700_000_000_000,
  effective: null,
  type: 'Reserved',
  version: 1,
  about: null,
  data: Buffer.from('{"n":1}'),
}

const word = fc.integer({ min: 0, max: 2 ** 32 - 1 })

describe('the check numbers of rows', () => {
  test('are those the file has been written with', () => {
    const blob = Buffer.from('ä')
    assert.deepEqual(
      [
        streamCrc({ id: 1, name: 'a', version: 2, link: 3 }),
        eventCrc(event),
        recordCrc({ collection: 3, key: 'k', value: blob }),
        ledgerCrc({ id: 1, key: 'k', fingerprint: 'f', response: blob, position: 1, at: 2 }),
        snapshotCrc({ stream: 1, seq: 2, fold: 'f', top_at: 3, top_seq: 4, state: blob }),
        fenceCrc({ name: 'f', token: 1 }),
        digestCrc({ id: 1, name: 'd', count: 2, sum: 3 }),
        anchorCrc({ filed: 1, position: 2, streams: 3, ledger_first: 4, ledger_last: 5 }),
        linkOf(0, 1),
        linkOf(1, 1),
        sumWith(0, 1),
      ],
      [
        3758615354, 1659558959, 3699660424, 3380016624, 2185408587, 4110416319, 3483689218,
        1079422506, 677952471, 2604992731, 1839040773077338,
      ],
    )
  })

  test('depend on every column of an event, its place included', () => {
    const crcs = new Set([eventCrc(event)])
    const others: Partial<Record<keyof typeof event, unknown>>[] = [
      { position: 8 },
      { stream: 3 },
      { seq: 4 },
      { batch: 7 },
      { at: event.at + 1 },
      { effective: event.at },
      { type: 'Released' },
      { version: 2 },
      { about: '' },
      { about: '{}' },
      { data: Buffer.from('{"n":2}') },
    ]
    for (const other of others) crcs.add(eventCrc({ ...event, ...other } as typeof event))
    assert.equal(crcs.size, others.length + 1)
  })

  test('tell where one column ends and the next begins', () => {
    const [left, right] = [Buffer.from('bc'), Buffer.from('c')]
    assert.notEqual(
      recordCrc({ collection: 1, key: 'a', value: left }),
      recordCrc({ collection: 1, key: 'ab', value: right }),
    )
  })

  test('are the same for a blob that is copied and one that is not', () => {
    const head = recordCrc({ collection: 1, key: 'k', value: Buffer.alloc(0) })
    assert.ok(head >= 0)
    for (const size of [4_095, 4_096, 4_097, 100_000]) {
      const value = Buffer.alloc(size, 7)
      const bytes = Buffer.alloc(1 + 8 + 8 + 1 + 8)
      bytes[0] = 3
      bytes.writeDoubleLE(1, 1)
      bytes.writeDoubleLE(1, 9)
      bytes.write('k', 17)
      bytes.writeDoubleLE(size, 18)
      const expected = crc32(Buffer.concat([bytes, value]))
      assert.equal(recordCrc({ collection: 1, key: 'k', value }), expected)
    }
  })

  test('take texts of any length', () => {
    const name = '€'.repeat(50_000)
    assert.notEqual(
      streamCrc({ id: 1, name, version: 1, link: 1 }),
      streamCrc({ id: 1, name: `${name}€`, version: 1, link: 1 }),
    )
  })
})

describe('links', () => {
  test('depend on both the event and the link before it', () => {
    fc.assert(
      fc.property(word, word, word, (previous, crc, other) => {
        if (crc === other) return
        assert.notEqual(linkOf(previous, crc), linkOf(previous, other))
        assert.notEqual(linkOf(crc, previous), linkOf(other, previous))
      }),
    )
  })
})

describe('sums', () => {
  test('are the same in any order, and forget what is taken out', () => {
    fc.assert(
      fc.property(fc.array(word), fc.array(word), (kept, gone) => {
        const forwards = [...kept, ...gone].reduce(sumWith, 0)
        const backwards = [...gone, ...kept].reduceRight(sumWith, 0)
        assert.equal(forwards, backwards)
        assert.equal(gone.reduce(sumWithout, forwards), kept.reduce(sumWith, 0))
        assert.ok(Number.isSafeInteger(forwards) && forwards >= 0)
      }),
    )
  })
})
