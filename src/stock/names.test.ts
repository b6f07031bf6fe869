import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import {
  ID_ENCODED_CHARS_MAX,
  isId,
  isRequestId,
  potKey,
  potPlace,
  REQUEST_ID_CHARS_MAX,
} from './names.ts'

const ids = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).filter(isId)

describe('the key of a pot', () => {
  test('is product and location, encoded, and can be taken apart', () => {
    assert.equal(potKey({ productId: 'a|b', locationId: 'c%7C' }), 'a%7Cb|c%257C')
    fc.assert(
      fc.property(ids, ids, (productId, locationId) => {
        const key = potKey({ productId, locationId })
        assert.deepEqual(potPlace(key), { productId, locationId })
        assert.ok(`stock-pot/${key}`.length <= 512)
      }),
    )
  })

  test('is nobody else’s: what only looks like one is none', () => {
    for (const key of [
      '',
      '|',
      'a',
      'a|',
      '|b',
      'a|b|c',
      'a%|b',
      'a%2|b',
      '%61|b',
      'a b|c',
      '%00|a',
    ])
      assert.equal(potPlace(key), undefined, key)
  })

  test('is not made of what is no id', () => {
    assert.throws(() => potKey({ productId: '', locationId: 'a' }), { name: 'AssertionFailure' })
  })
})

describe('an id', () => {
  test('is not blank, whole and without control characters', () => {
    for (const id of ['a', 'ö', '🥫', 'a b', '..', '__proto__', ' a '])
      assert.equal(isId(id), true, id)
    for (const id of ['', ' ', '\t', 'a\u0000', 'a\u001f', 'a\u0085', '\ud800', 'a\nb'])
      assert.equal(isId(id), false, JSON.stringify(id))
  })

  test('is as long as its encoding may be, and not longer', () => {
    assert.equal(ID_ENCODED_CHARS_MAX, 240)
    assert.equal(isId('a'.repeat(240)), true)
    assert.equal(isId('a'.repeat(241)), false)
    assert.equal(isId('ö'.repeat(40)), true)
    assert.equal(isId('ö'.repeat(41)), false)
  })

  test('of a request has so many characters', () => {
    assert.equal(isRequestId('r'.repeat(REQUEST_ID_CHARS_MAX)), true)
    assert.equal(isRequestId('r'.repeat(REQUEST_ID_CHARS_MAX + 1)), false)
    assert.equal(isRequestId('€'.repeat(REQUEST_ID_CHARS_MAX)), true)
    assert.equal(isRequestId(' '), false)
  })
})
