import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { changedConfig, configOf, decodeConfig, differences, encodeConfig } from './config.ts'
import {
  DEDUP_MS_FIFO,
  DEDUP_MS_MAX,
  DELAY_MS_MAX,
  IN_FLIGHT_MAX_FIFO,
  IN_FLIGHT_MAX_STANDARD,
  MESSAGE_BYTES_MAX,
  VISIBILITY_MS_MAX,
  WAIT_MS_MAX,
} from './limits.ts'

function fieldsOf(given: Readonly<Record<string, unknown>>): unknown {
  const config = configOf(given)
  return 'ok' in config ? config.detail['fields'] : []
}

const BOUNDS = {
  visibilityMs: [0, VISIBILITY_MS_MAX],
  maxReceives: [1, 2 ** 31 - 1],
  delayMs: [0, DELAY_MS_MAX],
  waitMs: [0, WAIT_MS_MAX],
  blockMs: [0, WAIT_MS_MAX],
  dedupWindowMs: [0, DEDUP_MS_MAX],
  messageBytesMax: [1, MESSAGE_BYTES_MAX],
  inFlightMax: [1, IN_FLIGHT_MAX_STANDARD],
} as const

describe('the config of a queue', () => {
  for (const [field, [min, max]] of Object.entries(BOUNDS))
    test(`may have ${field} from ${min} to ${max}, and not one beyond`, () => {
      assert.deepEqual(fieldsOf({ [field]: min }), [])
      assert.deepEqual(fieldsOf({ [field]: max }), [])
      assert.deepEqual(fieldsOf({ [field]: min - 1 }), [field])
      assert.deepEqual(fieldsOf({ [field]: max + 1 }), [field])
      assert.deepEqual(fieldsOf({ [field]: '5' }), [field])
    })

  test('says everything that is wrong with it at once', () => {
    const given = {
      maxLength: 0,
      overflow: 'explode',
      backoff: { factor: 0 },
      colour: 'red',
      fifo: 'yes',
    }
    assert.deepEqual(fieldsOf(given), ['maxLength', 'backoff.factor', 'overflow', 'fifo', 'colour'])
  })

  test('without a queue for dead letters cannot have messages go there', () => {
    assert.deepEqual(fieldsOf({ onExpire: 'dead-letter' }), ['onExpire'])
    assert.deepEqual(fieldsOf({ overflow: 'dead-letter-oldest' }), ['overflow'])
    assert.deepEqual(fieldsOf({ onExpire: 'dead-letter', deadLetterQueue: 'd' }), [])
  })

  test('has maxRetries for maxReceives, and the defaults of its kind', () => {
    const standard = configOf({ maxRetries: 3 })
    assert.ok(!('ok' in standard))
    assert.deepEqual([standard.maxReceives, standard.dedupWindowMs], [3, 0])
    const fifo = configOf({ fifo: true })
    assert.ok(!('ok' in fifo))
    assert.deepEqual([fifo.dedupWindowMs, fifo.inFlightMax], [DEDUP_MS_FIFO, IN_FLIGHT_MAX_FIFO])
  })

  test('can be changed but for whether it is FIFO', () => {
    const before = configOf({ backoff: { baseMs: 5, factor: 3, maxMs: 10, jitter: 0 } })
    assert.ok(!('ok' in before))
    const after = changedConfig(before, { visibilityMs: 1 })
    assert.ok(!('ok' in after))
    assert.deepEqual(differences(before, after), ['visibilityMs'])
    assert.deepEqual(after.backoff, before.backoff)
    const refused = changedConfig(before, { fifo: true })
    assert.ok('ok' in refused && refused.code === 'bad-queue-config')
  })

  test('is the same when it was written down, without end included', () => {
    const config = configOf({ maxReceives: Infinity, maxBytes: 7 })
    assert.ok(!('ok' in config))
    const stored: unknown = JSON.parse(JSON.stringify(encodeConfig(config)))
    assert.deepEqual(decodeConfig(stored as Record<string, unknown>), config)
  })

  test('that was written before a setting was there has the default of it', () => {
    assert.equal(decodeConfig({ fifo: false }).visibilityMs, 30_000)
  })
})
