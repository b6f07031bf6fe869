import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { Accident } from '../../std/index.ts'
import { JSON_PATH_CHARS_MAX, jsonPath } from './json-path.ts'

const ORDER = {
  id: 'o-1',
  lines: [
    { sku: 'a', count: 2 },
    { sku: 'b', count: 0 },
  ],
  'ship to': { city: null },
  "it's": 1,
}

describe('a path into JSON', () => {
  const found: readonly (readonly [string, unknown[]])[] = [
    ['$', [ORDER]],
    ['$.id', ['o-1']],
    ['$.lines[0].sku', ['a']],
    ['$.lines[-1].sku', ['b']],
    ['$.lines[2].sku', []],
    ['$.lines[*].count', [2, 0]],
    ["$['ship to'].city", [null]],
    ['$["ship to"].*', [null]],
    [String.raw`$['it\'s']`, [1]],
    ['$.toString', []],
    ['$.id.length', []],
    ['$.lines.length', []],
    ['$.lines.length()', [2]],
    ['$.id.length()', [3]],
    ['$.lines[0].count.length()', []],
  ]
  for (const [path, values] of found)
    test(`${path} finds ${JSON.stringify(values).slice(0, 30)}`, () => {
      assert.deepEqual(jsonPath(path).find(ORDER), values)
    })

  test('that cannot be read is refused with the place', () => {
    for (const [path, at] of [
      ['id', 1],
      ['', 1],
      ['$.', 2],
      ['$.a..b', 4],
      ['$[x]', 2],
      ["$['a]", 2],
      ['$.a b', 4],
    ] as const)
      assert.throws(
        () => jsonPath(path),
        (error) =>
          error instanceof Accident &&
          error.code === 'bad-json-path' &&
          error.message.includes(`at character ${at};`),
      )
  })

  test('has at most so many characters', () => {
    const path = `$.${'a'.repeat(JSON_PATH_CHARS_MAX - 2)}`
    assert.deepEqual(jsonPath(path).find({}), [])
    assert.throws(() => jsonPath(`${path}a`), { code: 'bad-json-path' })
  })

  test('that is written from names and places finds what is there', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.nat(3)), { maxLength: 6 }), (way) => {
        let root: unknown = 'leaf'
        for (const part of way.toReversed())
          root =
            typeof part === 'number'
              ? Array.from({ length: part + 1 }, () => root)
              : Object.fromEntries([[part, root]])
        const path = way
          .map((part) =>
            typeof part === 'number'
              ? `[${part}]`
              : `['${part.replaceAll(/['\\]/g, String.raw`\$&`)}']`,
          )
          .join('')
        assert.deepEqual(jsonPath(`$${path}`).find(root), ['leaf'])
      }),
    )
  })
})
