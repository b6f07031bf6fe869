import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, fault, isFault } from './fault.ts'

const full = fault('line-full', 'the line is full', { actor: '/lane', remedy: 'try again later' })

describe('fault', () => {
  test('is plain data that survives a structured clone', () => {
    assert.deepEqual(structuredClone(full), full)
    assert.deepEqual(fault('gone', 'it is gone').detail, {})
  })

  test('is told from anything else without throwing', () => {
    const hostile = new Proxy({}, { get: () => assert.fail('trap') })
    const { proxy: revoked, revoke } = Proxy.revocable({}, {})
    revoke()

    assert.equal(isFault(full), true)
    assert.equal(isFault(structuredClone(full)), true)
    for (const other of [
      undefined,
      null,
      'line-full',
      0,
      {},
      { ok: true, code: 'a', message: 'b', detail: {} },
      { ok: false, code: 1, message: 'b', detail: {} },
      { ok: false, code: 'a', message: 'b', detail: null },
      hostile,
      revoked,
    ])
      assert.equal(isFault(other), false)
  })
})

describe('accident', () => {
  test('carries the fault, its code and its detail', () => {
    const cause = new Error('disk on fire')
    const accident = new Accident(full, { cause })

    assert.equal(accident.fault, full)
    assert.equal(accident.code, 'line-full')
    assert.equal(accident.detail, full.detail)
    assert.equal(accident.cause, cause)
    assert.ok(accident instanceof Error)
  })

  test('says what happened and, where the fault knows it, what to do', () => {
    assert.equal(new Accident(full).message, 'the line is full; try again later')
    assert.equal(new Accident(fault('gone', 'it is gone')).message, 'it is gone')
    assert.equal(new Accident(fault('gone', 'it is gone', { remedy: 7 })).message, 'it is gone')
  })

  test('without a cause has none, not an undefined one', () => {
    assert.equal('cause' in new Accident(full), false)
  })
})
