import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { KnownTexts, writeText } from './texts.ts'

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom('', 'x'.repeat(31), 'x'.repeat(32), 'x'.repeat(33), 'é'.repeat(16), 'xé'),
)

describe('a text', () => {
  test('is written as its UTF-8, at its place, and nothing around it is touched', () => {
    fc.assert(
      fc.property(text, fc.nat(5), (value, at) => {
        const expected = Buffer.from(value)
        const bytes = Buffer.alloc(at + expected.length + 200, '#')
        assert.equal(writeText(bytes, value, at), expected.length)
        assert.deepEqual(bytes.subarray(at, at + expected.length), expected)
        assert.ok(bytes.subarray(0, at).every((byte) => byte === 35))
        assert.ok(bytes.subarray(at + value.length * 3).every((byte) => byte === 35))
      }),
    )
  })

  test('that is known is told from all others, also from those with its hash', () => {
    const texts = new KnownTexts()
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 50 }), (values) => {
        for (const value of [...values, ...values]) {
          const bytes = Buffer.from(`before${value}behind`)
          assert.equal(texts.read(bytes, 6, bytes.length - 6), value)
        }
      }),
    )
    // 31 * 'a' + 'b' is 31 * 'b' + 'C': both have one place.
    for (const value of ['ab', 'bC', 'ab', 'bC'])
      assert.equal(texts.read(Buffer.from(value), 0, 2), value)
  })
})
