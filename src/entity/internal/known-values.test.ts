import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { KnownValues } from './known-values.ts'

describe('known values', () => {
  test('tell what is stored, that nothing is, and what they do not know', () => {
    const known = new KnownValues()
    known.set('a', '1')
    known.set('b', undefined)
    assert.deepEqual([known.has('a'), known.get('a')], [true, '1'])
    assert.deepEqual([known.has('b'), known.get('b')], [true, undefined])
    assert.equal(known.has('c'), false)
    known.clear()
    assert.equal(known.has('a'), false)
  })

  test('leave out long texts, also in place of a short one', () => {
    const known = new KnownValues()
    known.set('a', 'x'.repeat(1_024))
    assert.equal(known.has('a'), true)
    known.set('a', 'x'.repeat(1_025))
    assert.equal(known.has('a'), false)
  })

  test('begin anew beyond their bound, but not where a value is replaced', () => {
    const known = new KnownValues()
    for (let n = 0; n < 8_192; n++) known.set(String(n), 'x')
    known.set('0', 'y')
    assert.equal(known.has('8191'), true)
    known.set('8192', 'z')
    assert.deepEqual([known.has('0'), known.has('8192')], [false, true])
  })
})
