import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { fingerprintOf } from './fingerprint.ts'
import type { Batch, Expected } from './journal.ts'
import { isForgotten, judge, type View } from './verdict.ts'

const before = {
  fingerprint: fingerprintOf({ type: 'pay', amount: 5 }),
  response: 'paid',
  position: 9,
}

// A stream at version 3, one request answered, one fence taken for the second time.
const view: View = {
  version: (stream) => (stream === 'old' ? 3 : 0),
  answer: (key) => (key === 'known' ? before : undefined),
  token: (fence) => (fence === 'writer' ? 2 : 0),
}

const event = { type: 't', version: 1, at: 0, data: '' }
const duplicate = { key: 'known', fingerprint: before.fingerprint, response: 'other' }
const stale = { stream: 'old', expected: 2, events: [event] }

function snapshotOf(stream: string, seq: number): NonNullable<Batch['snapshots']> {
  return [{ stream, seq, topAt: 0, topSeq: 1, fold: 'f', state: '' }]
}

describe('a verdict', () => {
  test('grants a batch that nothing speaks against', () => {
    assert.equal(judge(view, {}), 'granted')
    assert.equal(
      judge(view, {
        fence: { name: 'writer', token: 2 },
        ledger: [{ key: 'unknown', fingerprint: '', response: '' }],
        streams: [
          { stream: 'old', expected: 3, events: [event] },
          { stream: 'new', expected: 'none', events: [event] },
          { stream: 'other', expected: 0, events: [event] },
        ],
        records: [{ collection: 'c', key: 'k', value: '' }],
      }),
      'granted',
    )
  })

  test('compares the version of every stream with what was expected', () => {
    const cases: readonly (readonly [stream: string, Expected, actual?: number])[] = [
      ['old', 'any'],
      ['new', 'any'],
      ['old', 2, 3],
      ['old', 4, 3],
      ['old', 'none', 3],
      ['old', 0, 3],
      ['new', 1, 0],
    ]
    for (const [stream, expected, actual] of cases) {
      const streams = [
        { stream: 'fine', expected: 'any' as const, events: [event] },
        { stream, expected, events: [] },
      ]
      const verdict =
        actual === undefined ? 'granted' : { type: 'conflict', stream, expected, actual }
      assert.deepEqual(judge(view, { streams }), verdict)
    }
  })

  test('names the first stream that conflicts', () => {
    const streams = [stale, { stream: 'new', expected: 1, events: [] }]
    assert.deepEqual(judge(view, { streams }), {
      type: 'conflict',
      stream: 'old',
      expected: 2,
      actual: 3,
    })
  })

  test('gives a repeated request its first answer, although the stream has moved on', () => {
    assert.deepEqual(judge(view, { ledger: [duplicate], streams: [stale] }), {
      type: 'duplicate',
      key: 'known',
      response: 'paid',
      position: 9,
    })
  })

  test('names the fields in which a request differs from the one of the same id', () => {
    const fingerprint = fingerprintOf({ type: 'pay', amount: 6, to: 'me' })
    const ledger = [
      { key: 'unknown', fingerprint: '', response: '' },
      { ...duplicate, fingerprint },
    ]
    assert.deepEqual(judge(view, { ledger, streams: [stale] }), {
      type: 'mismatch',
      key: 'known',
      fields: ['amount', 'to'],
    })
  })

  test('refuses every token but the last before anything else', () => {
    for (const token of [1, 3])
      assert.deepEqual(judge(view, { fence: { name: 'writer', token }, ledger: [duplicate] }), {
        type: 'fenced',
        name: 'writer',
        token,
        current: 2,
      })
    assert.deepEqual(judge(view, { fence: { name: 'nobody', token: 1 } }), {
      type: 'fenced',
      name: 'nobody',
      token: 1,
      current: 0,
    })
  })

  test('refuses a snapshot of more history than there is with the batch', () => {
    assert.equal(judge(view, { snapshots: snapshotOf('old', 3) }), 'granted')
    assert.deepEqual(judge(view, { snapshots: snapshotOf('old', 4) }), {
      type: 'conflict',
      stream: 'old',
      expected: 4,
      actual: 3,
    })
    const streams = [{ stream: 'old', expected: 'any' as const, events: [event, event] }]
    assert.equal(judge(view, { streams, snapshots: snapshotOf('old', 5) }), 'granted')
    assert.deepEqual(judge(view, { streams, snapshots: snapshotOf('old', 6) }), {
      type: 'conflict',
      stream: 'old',
      expected: 6,
      actual: 5,
    })
    const dropped = [{ stream: 'new', seq: 9, fold: 'f', dropped: true as const }]
    assert.equal(judge(view, { snapshots: dropped }), 'granted')
  })

  test('is out of date for an answer only when it is older than answers are kept', () => {
    assert.equal(isForgotten(1_000, 1_500, 500), false)
    assert.equal(isForgotten(1_000, 1_501, 500), true)
    assert.equal(isForgotten(1_000, 0, 500), false) // the clock was put back
  })
})
