import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'

import fc from 'fast-check'

import { differingFields, fingerprintOf } from './fingerprint.ts'

const value = fc.oneof(
  fc.json({ maxDepth: 3 }).map((json): unknown => JSON.parse(json)),
  fc.bigInt(),
  fc.string({ minLength: 60, maxLength: 70 }),
)
const fields = fc.dictionary(fc.string(), value, { maxKeys: 6, noNullPrototype: true })

/** The same data, every object in it with its keys the other way round. */
function turned(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(turned)
  if (typeof data !== 'object' || data === null) return data
  const entries = Object.entries(data).map(([name, inner]) => [name, turned(inner)] as const)
  return Object.fromEntries(entries.toReversed())
}

describe('a fingerprint', () => {
  test('does not depend on the order of keys, at any depth', () => {
    fc.assert(
      fc.property(fields, (given) => {
        assert.equal(fingerprintOf(turned(given) as typeof given), fingerprintOf(given))
      }),
    )
  })

  test('names the fields that were changed, added or left out, and no others', () => {
    fc.assert(
      fc.property(fields, fields, fc.boolean(), (before, other, shares) => {
        const after = shares ? { ...before, ...other } : other
        const [old, given] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
        const names = [...new Set([...old.keys(), ...given.keys()])]
        const differing = names.filter(
          (name) =>
            old.has(name) !== given.has(name) || !isDeepStrictEqual(old.get(name), given.get(name)),
        )
        const [a, b] = [fingerprintOf(before), fingerprintOf(after)]
        assert.deepEqual(differingFields(a, b), differing.toSorted())
        assert.equal(a === b, differing.length === 0)
      }),
    )
  })

  test('tells values of different kinds apart', () => {
    const kinds = [
      1,
      '1',
      1n,
      '1n',
      true,
      'true',
      null,
      'null',
      [1],
      ['1'],
      { a: 1 },
      [],
      {},
      '',
      NaN,
    ]
    const prints = kinds.map((kind) => fingerprintOf({ of: kind }))
    assert.equal(new Set(prints).size, kinds.length)
  })

  test('is not that of a request which sends the digest of a value in place of the value', () => {
    const long = fingerprintOf({ of: 'x'.repeat(1_000) })
    const { of } = JSON.parse(long)
    assert.match(of, /^#/)
    assert.notEqual(fingerprintOf({ of }), long)
  })

  test('keeps a field of 64 characters and digests a longer one', () => {
    const kept = 'x'.repeat(62)
    assert.ok(fingerprintOf({ of: kept }).includes(kept))
    assert.ok(!fingerprintOf({ of: `${kept}x` }).includes(kept))
    assert.ok(fingerprintOf({ of: 'x'.repeat(1_000_000) }).length < 64)
    assert.notEqual(fingerprintOf({ of: `${kept}xy` }), fingerprintOf({ of: `${kept}xz` }))
  })

  test('leaves out what is undefined and takes data as JSON would', () => {
    assert.equal(fingerprintOf({ a: undefined, b: { c: undefined } }), fingerprintOf({ b: {} }))
    assert.equal(fingerprintOf({ a: [undefined] }), fingerprintOf({ a: [null] }))
    assert.equal(fingerprintOf({ a: { toJSON: () => 'x' } }), fingerprintOf({ a: 'x' }))
  })

  test('is refused for what is not data', () => {
    const cycle: { in?: unknown } = {}
    cycle.in = cycle
    for (const no of [() => 1, Symbol('no'), new Map(), new Set(), new Uint8Array(2), cycle]) {
      assert.throws(() => fingerprintOf({ of: [no] }), { code: 'bad-batch' })
    }
  })

  test('that is none has no fields to name', () => {
    assert.deepEqual(differingFields('no', '{}'), [])
    assert.deepEqual(differingFields('{"a":"1"}', 'null'), [])
  })
})
