import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { keyOf, messageIdOf, seqOfKey, seqOfMessageId } from './message-id.ts'

const seq = fc
  .tuple(fc.integer({ min: 0, max: 2 ** 21 - 1 }), fc.integer({ min: 0, max: 2 ** 32 - 1 }))
  .map(([high, low]) => high * 2 ** 32 + low)

describe('the number of a message', () => {
  test('is had again from its key, and keys are in the order of numbers', () => {
    fc.assert(
      fc.property(seq, seq, (a, b) => {
        assert.equal(seqOfKey(keyOf(a)), a)
        assert.equal(keyOf(a).length, 11)
        assert.equal(keyOf(a) < keyOf(b), a < b)
      }),
    )
  })

  test('is had again from its UUID, in either case', () => {
    fc.assert(
      fc.property(seq, (one) => {
        const id = messageIdOf(one)
        assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        assert.equal(seqOfMessageId(id), one)
        assert.equal(seqOfMessageId(id.toUpperCase()), one)
      }),
    )
  })

  test('makes a UUID that was never given before, and neighbours do not look alike', () => {
    const ids = new Set<string>()
    for (let n = 0; n < 10_000; n++) ids.add(messageIdOf(7 * 2 ** 32 + n))
    assert.equal(ids.size, 10_000)
    assert.equal(new Set([...ids].map((id) => id.slice(0, 8))).size > 9_900, true)
  })

  test('is not had from a UUID of somebody else, or from one digit off', () => {
    const id = messageIdOf(3 * 2 ** 32 + 5)
    assert.equal(seqOfMessageId('f81d4fae-7dec-11d0-a765-00a0c91e6bf6'), undefined)
    assert.equal(seqOfMessageId('not an id'), undefined)
    for (const [at, digit] of id.split('').entries()) {
      if (digit === '-') continue
      const other = `${id.slice(0, at)}${digit === '0' ? '1' : '0'}${id.slice(at + 1)}`
      assert.notEqual(seqOfMessageId(other), 3 * 2 ** 32 + 5)
    }
  })
})
