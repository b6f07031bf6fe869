import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { compareBytes, SortedMap } from './sorted-map.ts'

// Where the orders of UTF-16 and UTF-8 part: surrogates on one side, U+E000 and above on the other.
const odd = ['a', 'b', '\u{7f}', '\u{d7ff}', '\u{e000}', '\u{ffff}', '\u{10000}', '\u{10ffff}']
const key = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.array(fc.constantFrom(...odd), { maxLength: 4 }).map((parts) => parts.join('')),
)

function bytewise(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

describe('a sorted map', () => {
  test('compares texts as their UTF-8 bytes compare', () => {
    fc.assert(
      fc.property(key, key, (a, b) => {
        assert.equal(Math.sign(compareBytes(a, b)), bytewise(a, b))
      }),
      { numRuns: 2_000 },
    )
  })

  test('is a map with sorted pages, whatever is done to it', () => {
    const step = fc.tuple(fc.constantFrom('set', 'set', 'delete'), key)
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        key,
        fc.option(key, { nil: undefined }),
        fc.integer({ min: 1, max: 20 }),
        (steps, prefix, after, limit) => {
          const map = new SortedMap<number>()
          const model = new Map<string, number>()
          for (const [n, [action, name]] of steps.entries()) {
            if (action === 'set') {
              map.set(name, n)
              model.set(name, n)
            } else assert.equal(map.delete(name), model.delete(name))
          }
          const expected = [...model]
            .filter(([name]) => name.startsWith(prefix))
            .filter(([name]) => after === undefined || bytewise(name, after) > 0)
            .toSorted(([a], [b]) => bytewise(a, b))
          assert.deepEqual(map.page(prefix, after, limit), expected.slice(0, limit))
          assert.equal(map.size, model.size)
        },
      ),
    )
  })

  test('keeps its order through thousands of keys that come and go in any order', () => {
    const map = new SortedMap<number>()
    const keys = Array.from({ length: 5_000 }, (_, n) =>
      String((n * 7_919) % 5_000).padStart(4, '0'),
    )
    for (const [n, name] of keys.entries()) map.set(name, n)
    const names = (): string[] => map.page('', undefined, 10_000).map(([name]) => name)
    assert.deepEqual(names(), keys.toSorted())
    for (const name of keys) if (Number(name) % 3 !== 0) map.delete(name)
    assert.deepEqual(names(), keys.filter((name) => Number(name) % 3 === 0).toSorted())
    for (const name of keys) map.delete(name)
    assert.deepEqual(names(), [])
    map.set('a', 1)
    assert.deepEqual(map.page('', undefined, 1), [['a', 1]])
  })
})
