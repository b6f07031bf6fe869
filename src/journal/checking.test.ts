import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'

import { Accident } from '../std/index.ts'
import {
  batchBytes,
  checkBatch,
  checkKeys,
  checkPage,
  checkPlace,
  checkReadName,
  checkReadText,
} from './checking.ts'
import {
  BATCH_BYTES_MAX,
  BATCH_ITEMS_MAX,
  NAME_BYTES_MAX,
  PAYLOAD_BYTES_MAX,
  READ_LIMIT_DEFAULT,
  READ_LIMIT_MAX,
  type Batch,
  type NewEvent,
  type Snapshot,
} from './journal.ts'

const event: NewEvent = { type: 't', version: 1, at: 0, data: '' }
const snapshot: Snapshot = { stream: 's', seq: 2, topAt: 0, topSeq: 2, fold: 'f', state: '' }

function withEvent(change: Partial<NewEvent>): Batch {
  return { streams: [{ stream: 's', expected: 'any', events: [{ ...event, ...change }] }] }
}

function withSnapshot(change: Partial<Snapshot>): Batch {
  return { snapshots: [{ ...snapshot, ...change }] }
}

function withLedger(fingerprint: string, response: string): Batch {
  return { ledger: [{ key: 'k', fingerprint, response }] }
}

const byName: Readonly<Record<string, (name: string) => Batch>> = {
  stream: (stream) => ({ streams: [{ stream, expected: 0, events: [] }] }),
  'type of an event': (type) => withEvent({ type }),
  'request id of an event': (requestId) => withEvent({ requestId }),
  'actor of an event': (actor) => withEvent({ actor }),
  'trace of an event': (trace) => withEvent({ trace }),
  collection: (collection) => ({ records: [{ collection, key: 'k', value: '' }] }),
  'key of a record': (key) => ({ records: [{ collection: 'c', key, deleted: true }] }),
  'request id': (key) => ({ ledger: [{ key, fingerprint: '', response: '' }] }),
  fold: (fold) => withSnapshot({ fold }),
  fence: (name) => ({ fence: { name, token: 1 } }),
}

const byPayload: Readonly<Record<string, (text: string) => Batch>> = {
  'data of an event': (data) => withEvent({ data }),
  'value of a record': (value) => ({ records: [{ collection: 'c', key: 'k', value }] }),
  fingerprint: (fingerprint) => withLedger(fingerprint, ''),
  response: (response) => withLedger('', response),
  'state of a snapshot': (state) => withSnapshot({ state }),
}

function withParts(events: number): Batch {
  return {
    ...withSnapshot({}),
    ...withLedger('', ''),
    records: [{ collection: 'c', key: 'k', deleted: true }],
    streams: [
      { stream: 's', expected: 'any', events: Array.from({ length: events }, () => event) },
    ],
  }
}

function ofBytes(bytes: number): Batch {
  return {
    records: [0, 1, 2, 3, 4].map((n) => ({
      collection: 'c',
      key: String(n),
      value: 'x'.repeat(
        Math.min(Math.max(bytes - 10 - n * PAYLOAD_BYTES_MAX, 0), PAYLOAD_BYTES_MAX),
      ),
    })),
  }
}

function refuses(batch: Batch, message: string): void {
  assert.throws(
    () => checkBatch(batch),
    (error) => {
      assert.ok(error instanceof Accident)
      assert.equal(error.code, 'bad-batch')
      assert.equal(error.fault.message, message)
      assert.equal(typeof error.detail['remedy'], 'string')
      return true
    },
  )
}

function refusesRead(read: () => unknown): void {
  assert.throws(read, (error) => error instanceof Accident && error.code === 'bad-read')
}

describe('a batch', () => {
  test('may be empty, and may name a stream only for its version', () => {
    checkBatch({})
    checkBatch({ streams: [{ stream: 's', expected: 3, events: [] }] })
  })

  for (const [what, batchOf] of Object.entries(byName)) {
    test(`is refused for a ${what} that is no name`, () => {
      for (const name of ['x', '\u{1f984}', '%_.*>\'" \n', 'x'.repeat(NAME_BYTES_MAX)])
        checkBatch(batchOf(name))
      checkBatch(batchOf('\u{20ac}'.repeat(170) + 'xx'))
      refuses(batchOf(''), `the ${what} is empty`)
      refuses(batchOf('x'.repeat(NAME_BYTES_MAX + 1)), `the ${what} is too long`)
      refuses(batchOf('\u{20ac}'.repeat(171)), `the ${what} is too long`)
      refuses(batchOf('a\ud800'), `the ${what} has half a character in it`)
      refuses(batchOf('a\0b'), `the ${what} has a NUL in it`)
      refuses(batchOf(7 as never), `the ${what} is not a text`)
    })
  }

  for (const [what, batchOf] of Object.entries(byPayload)) {
    test(`is refused for a ${what} that is no payload`, () => {
      for (const text of [
        '',
        'x'.repeat(PAYLOAD_BYTES_MAX),
        '\u{e9}'.repeat(PAYLOAD_BYTES_MAX / 2),
      ])
        checkBatch(batchOf(text))
      refuses(batchOf('x'.repeat(PAYLOAD_BYTES_MAX + 1)), `the ${what} is too large`)
      refuses(batchOf('\u{e9}'.repeat(PAYLOAD_BYTES_MAX / 2) + 'x'), `the ${what} is too large`)
      refuses(batchOf('\udc00'), `the ${what} has half a character in it`)
      refuses(batchOf(undefined as never), `the ${what} is not a text`)
    })
  }

  test('may have a NUL in a payload, not in a fingerprint', () => {
    checkBatch(withEvent({ data: '\0' }))
    refuses(withLedger('\0', ''), 'a fingerprint has a NUL in it')
  })

  test('is refused for numbers that are not whole or too small', () => {
    checkBatch(withEvent({ at: -1, effectiveAt: Number.MIN_SAFE_INTEGER }))
    refuses(withEvent({ at: 0.5 }), 'the time of an event is not a whole number')
    refuses(withEvent({ at: 2 ** 53 }), 'the time of an event is not a whole number')
    refuses(withEvent({ effectiveAt: NaN }), 'the time of effect of an event is not a whole number')
    refuses(withEvent({ version: 0 }), 'the version of an event is not a whole number from 1')
    refuses(
      { streams: [{ stream: 's', expected: -1, events: [] }] },
      'the expected version of a stream is not a whole number from 0',
    )
    refuses(
      { streams: [{ stream: 's', expected: 'some' as never, events: [] }] },
      'the expected version of a stream is none',
    )
    refuses({ fence: { name: 'f', token: 0 } }, 'the token of a fence is not a whole number from 1')
    refuses(withSnapshot({ seq: 0 }), 'the length of a snapshot is not a whole number from 1')
    refuses(withSnapshot({ topSeq: 3 }), 'a snapshot names an event that it does not cover')
    refuses(
      withSnapshot({ topSeq: 0 }),
      'the last event in effect of a snapshot is not a whole number from 1',
    )
    refuses(
      withSnapshot({ topAt: Infinity }),
      'the latest time of effect in a snapshot is not a whole number',
    )
  })

  test('is refused for one item more than it may have', () => {
    checkBatch(withParts(BATCH_ITEMS_MAX - 4))
    refuses(withParts(BATCH_ITEMS_MAX - 3), 'the batch has too many items')
  })

  test('is refused for one byte more than it may have', () => {
    assert.equal(batchBytes(ofBytes(BATCH_BYTES_MAX)), BATCH_BYTES_MAX)
    assert.equal(checkBatch(ofBytes(BATCH_BYTES_MAX)), BATCH_BYTES_MAX)
    refuses(ofBytes(BATCH_BYTES_MAX + 1), 'the batch is too large')
  })

  for (const count of [2, 100]) {
    test(`of ${count} items is refused for one that stands in it twice`, () => {
      const numbers = Array.from({ length: count }, (_, n) => n)
      const batches: Readonly<Record<string, (numbers: readonly number[]) => Batch>> = {
        stream: (all) => ({
          streams: all.map((n) => ({ stream: `${n}`, expected: 'any', events: [event] })),
        }),
        record: (all) => ({
          records: all.map((n) => ({ collection: `${n % 2}`, key: `${n >> 1}`, value: '' })),
        }),
        'ledger key': (all) => ({
          ledger: all.map((n) => ({ key: `${n}`, fingerprint: '', response: '' })),
        }),
        snapshot: (all) => ({
          snapshots: all.map((n) => ({ ...snapshot, stream: `${n % 2}`, seq: (n >> 1) + 2 })),
        }),
      }
      for (const [what, batchOf] of Object.entries(batches)) {
        checkBatch(batchOf(numbers))
        refuses(batchOf([...numbers.slice(1), count - 1]), `a ${what} stands in the batch twice`)
      }
    })
  }

  test('in any order is refused if, and only if, something stands in it twice', () => {
    const place = fc.record({ collection: fc.constantFrom('a', 'b'), key: fc.nat(400) })
    fc.assert(
      fc.property(fc.array(place, { maxLength: 60 }), fc.boolean(), (places, areSorted) => {
        const keys = places.map(({ collection, key }) => `${collection}/${key}`)
        if (areSorted) keys.sort()
        const records = keys.map((key) => ({ collection: key[0]!, key: key.slice(2), value: '' }))
        const check = (): unknown => checkBatch({ records })
        if (new Set(keys).size === keys.length) check()
        else assert.throws(check, /stands in the batch twice/)
      }),
    )
  })

  test('counts its texts, all of them', () => {
    const batch: Batch = {
      streams: [
        {
          stream: 'a'.repeat(2),
          expected: 'none',
          events: [
            {
              ...event,
              type: 'a'.repeat(3),
              data: 'a'.repeat(5),
              requestId: 'a'.repeat(7),
              actor: 'a'.repeat(11),
              trace: 'a'.repeat(13),
            },
          ],
        },
      ],
      records: [{ collection: 'a'.repeat(17), key: 'a'.repeat(19), value: 'a'.repeat(23) }],
      ledger: [{ key: 'a'.repeat(29), fingerprint: 'a'.repeat(31), response: 'a'.repeat(37) }],
      snapshots: [
        { ...snapshot, stream: 'a'.repeat(41), fold: 'a'.repeat(43), state: 'a'.repeat(47) },
      ],
      fence: { name: 'a'.repeat(53), token: 1 },
    }
    const primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53]
    const sum = primes.reduce((all, prime) => all + prime)
    assert.equal(checkBatch(batch), sum)
    assert.equal(batchBytes(batch), sum)
  })
})

describe('a read', () => {
  test('gives a page of what it asks for, within the limits', () => {
    assert.equal(checkPage(undefined), READ_LIMIT_DEFAULT)
    assert.equal(checkPage({ limit: 1 }), 1)
    assert.equal(checkPage({ limit: READ_LIMIT_MAX }), READ_LIMIT_MAX)
    for (const limit of [0, -1, 1.5, NaN, READ_LIMIT_MAX + 1])
      refusesRead(() => checkPage({ limit }))
  })

  test('begins after a place that there can be', () => {
    assert.equal(checkPlace(undefined), 0)
    assert.equal(checkPlace({ after: 7 }), 7)
    for (const after of [-1, 0.5, NaN, 2 ** 53]) refusesRead(() => checkPlace({ after }))
  })

  test('is by a name that could have been written', () => {
    checkReadName('stream', 'x')
    checkReadText('prefix', '')
    for (const name of ['', 'a\0', '\ud800', 'x'.repeat(NAME_BYTES_MAX + 1)])
      refusesRead(() => checkReadName('stream', name))
    refusesRead(() => checkReadText('prefix', '\ud800'))
  })

  test('is of so many keys at once and not one more', () => {
    checkKeys(Array<string>(READ_LIMIT_MAX).fill('k'))
    refusesRead(() => checkKeys(Array<string>(READ_LIMIT_MAX + 1).fill('k')))
    refusesRead(() => checkKeys(['']))
  })
})
