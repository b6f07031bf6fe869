import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { QUERY_FIELDS_MAX } from './limits.ts'
import { parseQuery, queryReader } from './query.ts'
import { custom, flag, listOf, optional, readShape, shape, text, whole } from './shape.ts'

const page = shape({
  limit: optional(whole(1, 100), 10),
  deep: optional(flag(), false),
  order: optional(text({ max: 10 })),
  tags: optional(listOf(text({ max: 5 }), { max: 3 })),
  sizes: optional(listOf(whole(0, 9), { max: 3 })),
  share: optional(
    custom({
      schema: { type: 'number' },
      expected: 'a number',
      read: (value) => (typeof value === 'number' ? value : undefined),
    }),
  ),
})

function read(query: string): ReturnType<typeof readShape> {
  const raw = parseQuery(query)
  assert.ok(raw !== undefined)
  return readShape(page, queryReader(page)(raw))
}

describe('a query', () => {
  test('is read as its schema says', () => {
    assert.deepEqual(read('limit=25&deep=true&order=a+b%26c&tags=x&sizes=1&sizes=2&share=-0.5'), {
      ok: true,
      value: { limit: 25, deep: true, order: 'a b&c', tags: ['x'], sizes: [1, 2], share: -0.5 },
    })
    assert.deepEqual(read(''), { ok: true, value: { limit: 10, deep: false } })
    assert.deepEqual(read('&&unknown&x='), { ok: true, value: { limit: 10, deep: false } })
  })

  test('with a text that is not what the schema says is refused', () => {
    for (const query of [
      'limit=1e1',
      'limit=0x10',
      'limit=',
      'limit=%201',
      'limit=101',
      'limit=1&limit=2',
      'deep=yes',
      'deep=',
      'tags=toolong',
      'tags=1&tags=2&tags=3&tags=4',
    ])
      assert.equal(read(query).ok, false, query)
  })

  test('with a percent sign that encodes nothing is refused as a whole', () => {
    for (const query of ['a=%', 'a=%zz', '%c3=1', 'b=1&a=%e0%a4%a'])
      assert.equal(parseQuery(query), undefined)
  })

  test('has so many fields and no more', () => {
    const fields = (count: number): string =>
      Array.from({ length: count }, (_, at) => `a${at}=1`).join('&')
    assert.ok(parseQuery(fields(QUERY_FIELDS_MAX)))
    assert.equal(parseQuery(fields(QUERY_FIELDS_MAX + 1)), undefined)
  })

  test('cannot reach a prototype (OWASP: prototype pollution)', () => {
    const raw = parseQuery('__proto__=1&constructor=2&toString=3')
    assert.equal(Object.getPrototypeOf(raw), null)
    assert.deepEqual(Object.keys(raw ?? {}), ['__proto__', 'constructor', 'toString'])
    assert.equal(({} as Record<string, unknown>)['isAdmin'], undefined)
  })

  test('is decoded once, for any names and values', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.string({ unit: 'grapheme' }),
        (name, value) => {
          fc.pre(name !== '')
          const raw = parseQuery(`${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
          assert.equal(raw?.[name], value)
        },
      ),
    )
  })
})
