import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import {
  PLAIN_DEPTH_MAX,
  PLAIN_TEXT_CHARS_MAX,
  PLAIN_VALUES_MAX,
  plainFields,
  plainText,
} from './plain.ts'

function nested(levels: number): object {
  return levels === 0 ? {} : { in: nested(levels - 1) }
}

describe('plain', () => {
  test('leaves alone what JSON can say', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (fields) => {
        const shown = plainFields(fields)
        assert.deepEqual(JSON.parse(JSON.stringify(shown)), JSON.parse(JSON.stringify(fields)))
      }),
    )
  })

  test('never throws, whatever it is given', () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withMap: true, withNullPrototype: true }),
        (of) => {
          JSON.stringify(plainFields({ of }))
        },
      ),
    )
  })

  test('names what JSON cannot say', () => {
    assert.deepEqual(
      {
        ...plainFields({
          big: 12n,
          none: NaN,
          mark: Symbol('mark'),
          call: () => 1,
          map: new Map([[1, 2]]),
          bytes: new Uint8Array(3),
        }),
      },
      {
        big: '12',
        none: 'NaN',
        mark: 'Symbol(mark)',
        call: '[function]',
        map: '[1 entries]',
        bytes: '[3 bytes]',
      },
    )
  })

  test('shows the same object twice, but not inside itself', () => {
    const shared = { a: 1 }
    const loop: Record<string, unknown> = { shared, again: shared }
    loop['self'] = loop

    assert.equal(
      JSON.stringify(plainFields(loop)),
      '{"shared":{"a":1},"again":{"a":1},"self":"[cyclic]"}',
    )
  })

  test('survives properties, proxies and conversions that throw', () => {
    const { proxy: revoked, revoke } = Proxy.revocable({}, {})
    revoke()
    const fields = {
      get bad() {
        return assert.fail('getter')
      },
      json: { toJSON: () => assert.fail('toJSON') },
      revoked,
      good: 1,
    }

    assert.equal(
      JSON.stringify(plainFields(fields)),
      '{"bad":"[unreadable]","json":"[unreadable]","revoked":"[unreadable]","good":1}',
    )
    assert.deepEqual(plainFields(revoked), { fields: '[unreadable]' })
  })

  test('shows the parts of an error that are not enumerable, and its causes', () => {
    const cause = new Error('inner')
    const error = Object.assign(new TypeError('outer', { cause }), { code: 'bad-thing' })
    const { error: shown } = plainFields({ error })

    const read = JSON.parse(JSON.stringify(shown)) as Record<string, unknown>
    assert.equal(read['name'], 'TypeError')
    assert.equal(read['message'], 'outer')
    assert.equal(read['code'], 'bad-thing')
    assert.equal((read['cause'] as Record<string, unknown>)['message'], 'inner')
    assert.match(String(read['stack']), /outer/)
  })

  test('a property named __proto__ is a property', () => {
    const fields = JSON.parse('{"__proto__":{"admin":true}}') as object
    assert.equal(JSON.stringify(plainFields(fields)), '{"__proto__":{"admin":true}}')
  })

  test('cuts a text one past the limit, not at it', () => {
    const limit = 'x'.repeat(PLAIN_TEXT_CHARS_MAX)
    assert.equal(plainText(limit), limit)
    assert.equal(plainText(`${limit}yz`), `${limit}[2 more]`)
    assert.equal(plainText(undefined as unknown as string), '[undefined]')
  })

  test('names what is nested one level too deep', () => {
    const deepest = JSON.stringify(plainFields(nested(PLAIN_DEPTH_MAX)))
    assert.doesNotMatch(deepest, /\[object\]/)
    const deeper = JSON.stringify(plainFields(nested(PLAIN_DEPTH_MAX + 1)))
    assert.match(deeper, /"\[object\]"/)
    JSON.stringify(plainFields(nested(5_000)))
  })

  test('stops at the limit of values and says how many are missing', () => {
    const most = Object.fromEntries(new Array(PLAIN_VALUES_MAX).entries())
    assert.equal('...' in plainFields(most), false)
    assert.equal(plainFields({ ...most, over: 1 })['...'], '[1 more]')
    const list = plainFields({ list: new Array(1_000_000).fill(0) })['list'] as unknown[]
    assert.equal(list.length, PLAIN_VALUES_MAX)
    assert.equal(list.at(-1), `[${1_000_000 - PLAIN_VALUES_MAX + 1} more]`)
  })
})
