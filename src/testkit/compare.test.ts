import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { differences, listed } from './compare.ts'
import { inbox } from './inbox.ts'

describe('comparing', () => {
  test('agrees with the strict deep equality of Node on any data', () => {
    const data = fc.anything({ withMap: true, withSet: true, withBigInt: true, maxDepth: 3 })
    fc.assert(
      fc.property(data, data, (a, b) => {
        let equal = true
        try {
          assert.deepStrictEqual(a, b)
        } catch {
          equal = false
        }
        assert.equal(differences(a, b).length === 0, equal)
        assert.deepEqual(differences(a, structuredClone(a)), [])
      }),
    )
  })

  test('says where, what is there and what was expected', () => {
    const actual = { type: 'order', items: [{ price: 5 }, { price: 6 }], note: 'x' }
    const expected = { type: 'order', items: [{ price: 5 }, { price: 7 }], by: 'me' }

    assert.deepEqual(differences(actual, expected), [
      { at: '.items[1].price', actual: '6', expected: '7' },
      { at: '.by', actual: 'nothing', expected: "'me'" },
      { at: '.note', actual: "'x'", expected: 'nothing' },
    ])
  })

  test('names elements, keys that are no words, and entries of maps', () => {
    assert.deepEqual(
      differences(
        { list: [1, 2], 'a-b': 1, map: new Map([['k', 1]]) },
        { list: [1], 'a-b': 2, map: new Map([['k', 2]]) },
      ).map(({ at }) => at),
      ['.list[1]', '["a-b"]', ".map.get('k')"],
    )
  })

  test('a missing property is not an undefined one, and a number is not its text', () => {
    assert.equal(differences({}, { a: undefined }).length, 1)
    assert.equal(differences({ a: undefined }, {}).length, 1)
    assert.equal(differences(1, '1').length, 1)
    assert.equal(differences(0, -0).length, 1)
    assert.equal(differences(NaN, NaN).length, 0)
    assert.equal(differences([], {}).length, 1)
  })

  test('refs are equal only to themselves, and look-alikes are told apart', () => {
    const [one, other] = [inbox('a'), inbox('a')]

    assert.deepEqual(differences({ to: one }, { to: one }), [])
    assert.deepEqual(differences({ to: one }, { to: other }), [
      { at: '.to', actual: 'ref /a', expected: 'ref /a (another one)' },
    ])
  })

  test('instances are compared by kind and content', () => {
    assert.equal(differences(new Error('a'), new Error('a')).length, 0)
    assert.equal(differences(new Error('a'), new Error('b')).length, 1)
    assert.equal(differences(new Error('a'), new TypeError('a')).length, 1)
    assert.equal(differences(new Uint8Array([1]), new Uint8Array([1])).length, 0)
    assert.equal(differences(new Uint8Array([1]), new Uint8Array([2])).length, 1)
  })

  test('cycles end', () => {
    const [a, b]: { self?: unknown; n: number }[] = [{ n: 1 }, { n: 1 }]
    a!.self = a
    b!.self = b

    assert.deepEqual(differences(a, b), [])
    b!.n = 2
    assert.deepEqual(
      differences(a, b).map(({ at }) => at),
      ['.n'],
    )
  })

  test('the list of differences has an end', () => {
    const many = Array.from({ length: 1_000 }, (_, n) => n)

    assert.equal(differences(many, []).length, 10)
    assert.equal(differences(Object.fromEntries(many.entries()), {}).length, 10)
  })

  test('differences are listed one a line', () => {
    assert.equal(
      listed(differences({ a: 1, b: 2 }, { a: 2, b: 2, c: 3 })),
      '  .a is 1, not 2\n  .c is nothing, not 3',
    )
    assert.equal(listed(differences(1, 2)), '  it is 1, not 2')
  })
})
