import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { parseBody } from './json-body.ts'
import { JSON_DEPTH_MAX } from './limits.ts'

function parse(text: string): ReturnType<typeof parseBody> {
  return parseBody(Buffer.from(text))
}

function messageOf(text: string): string {
  const parsed = parse(text)
  assert.ok(!parsed.ok)
  assert.equal(parsed.code, 'bad-json')
  return parsed.message
}

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

describe('a body', () => {
  test('that is JSON is read as JSON.parse would', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        fc.pre(!/proto|constructor|\\u/.test(text))
        const parsed = parse(text)
        assert.ok(parsed.ok)
        assert.deepEqual(parsed.value, JSON.parse(text))
      }),
    )
  })

  test('that is not JSON is refused with the place', () => {
    for (const text of ['{', '{"a":1,}', "{'a':1}", 'NaN', '\ufeff{}', '1 2', ''])
      assert.equal(messageOf(text), 'the body is not JSON')
    const parsed = parse('{"secret":1,}')
    assert.ok(!parsed.ok)
    assert.equal(parsed.detail['where'], 'at position 12')
    assert.ok(!JSON.stringify(parse('{"secret":x}')).includes('secret'), 'without what was sent')
  })

  test('that is not UTF-8 is refused and not mended', () => {
    const parsed = parseBody(Buffer.from([0x22, 0xf0, 0x9f, 0x98, 0x22]))
    assert.ok(!parsed.ok)
    assert.equal(parsed.message, 'the body is not UTF-8')
    assert.ok(parse('"\ufffd"').ok, 'while the sign for it may be sent')
  })

  test('may be nested as deep as the limit and no deeper', () => {
    assert.ok(parse(nested(JSON_DEPTH_MAX)).ok)
    assert.match(messageOf(nested(JSON_DEPTH_MAX + 1)), /nested deeper than 64/)
    assert.match(messageOf('{"a":'.repeat(65) + '1' + '}'.repeat(65)), /nested deeper/)
    assert.match(messageOf(nested(500_000)), /nested deeper/)
  })

  test('with many brackets side by side or in texts is not deep', () => {
    assert.ok(parse(`[${Array.from({ length: 200 }, () => '[{}]').join(',')}]`).ok)
    assert.ok(parse(JSON.stringify({ a: '[{'.repeat(200), '\\"[[': '"'.repeat(100) })).ok)
  })

  test('with a key that names a prototype is refused, however it is written', () => {
    for (const text of [
      '{"__proto__":{"isAdmin":true}}',
      '{"a":[{"__proto__":1}]}',
      '{"\\u005f_proto__":1}',
      '{"__\\u0070roto__":1}',
      '{"constructor":{"prototype":{"isAdmin":true}}}',
      '{"\\u0063onstructor":{"prototype":1}}',
    ])
      assert.equal(messageOf(text), 'the body has a key that names a prototype')
  })

  test('may speak of prototypes', () => {
    for (const text of [
      '"__proto__"',
      '{"a":"__proto__"}',
      '{"constructor":"Bob"}',
      '{"\\u0061":1}',
    ])
      assert.ok(parse(text).ok, text)
  })
})
