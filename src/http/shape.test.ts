import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { isFault } from '../std/index.ts'
import { ISSUES_NAMED_MAX } from './limits.ts'
import {
  custom,
  flag,
  listOf,
  nearest,
  oneOf,
  optional,
  readShape,
  shape,
  text,
  whole,
  type Shape,
} from './shape.ts'

function valueOf<T>(of: Shape<T>, value: unknown): T {
  const read = readShape(of, value)
  assert.ok(read.ok, JSON.stringify(read))
  return read.value
}

function detailOf(of: Shape<unknown>, value: unknown): Readonly<Record<string, unknown>> {
  const read = readShape(of, value)
  assert.ok(isFault(read) && read.code === 'bad-input', JSON.stringify(read))
  return read.detail
}

function isRefused(of: Shape<unknown>, value: unknown): boolean {
  return isFault(readShape(of, value))
}

const sale = shape({
  requestId: text({ min: 1, max: 8 }),
  quantity: whole(1, 100),
  note: optional(text({ max: 5 })),
  kind: optional(oneOf(['plain', 'gift']), 'plain'),
  lines: listOf(shape({ product: text({ min: 1, max: 4 }), isNew: flag() }), { min: 1, max: 3 }),
})

describe('shape', () => {
  test('reads what it names and leaves the rest alone', () => {
    const sent = { requestId: 'r', quantity: 5, lines: [{ product: 'p', isNew: true, x: 1 }], y: 2 }
    assert.deepEqual(valueOf(sale, sent), {
      requestId: 'r',
      quantity: 5,
      kind: 'plain',
      lines: [{ product: 'p', isNew: true }],
    })
  })

  test('names everything that is wrong at once, in the order of declaration', () => {
    const detail = detailOf(sale, {
      lines: [{ product: '', isNew: true }, { isNew: 'yes' }, 7],
      kind: 'other',
      quantity: '5',
    })
    assert.deepEqual(detail['missing'], ['requestId', 'lines[1].product'])
    assert.deepEqual(detail['invalid'], [
      'quantity',
      'kind',
      'lines[0].product',
      'lines[1].isNew',
      'lines[2]',
    ])
    assert.deepEqual(detail['expected'], {
      requestId: 'a text of 1 to 8 characters',
      quantity: 'a whole number from 1 to 100',
      kind: 'one of plain, gift',
      'lines[0].product': 'a text of 1 to 4 characters',
      'lines[1].product': 'a text of 1 to 4 characters',
      'lines[1].isNew': 'true or false',
      'lines[2]': 'an object',
    })
    assert.equal(typeof detail['remedy'], 'string')
  })

  test('nothing at all is an object without fields, and null is absent', () => {
    for (const nothing of [undefined, null, {}])
      assert.deepEqual(detailOf(sale, nothing)['missing'], ['requestId', 'quantity', 'lines'])
    assert.deepEqual(detailOf(shape({ a: whole(0, 1) }), { a: null })['missing'], ['a'])
    assert.deepEqual(valueOf(shape({ a: optional(whole(0, 1)) }), { a: null }), {})
    assert.equal(valueOf(optional(whole(0, 9), 4), undefined), 4)
    assert.deepEqual(detailOf(whole(0, 9), undefined)['missing'], [''])
  })

  test('a value that is no object is refused', () => {
    for (const sent of [[], 'a', 1, true]) assert.deepEqual(detailOf(sale, sent)['invalid'], [''])
  })

  test('an exact shape refuses what it does not know, with a suggestion', () => {
    const exact = shape(
      { port: optional(whole(0, 9)), host: optional(text({ max: 9 })) },
      { exact: true },
    )
    assert.deepEqual(detailOf(exact, { prot: 1, zebra: 2 })['expected'], {
      prot: 'no such field; did you mean port?',
      zebra: 'no such field',
    })
    assert.deepEqual(valueOf(exact, { port: 1 }), { port: 1 })
  })

  test('what every object inherits is not taken for input, and may not be a field', () => {
    assert.throws(() => shape({ constructor: text({ max: 1 }) }))
    assert.throws(() => shape({ ['__proto__']: text({ max: 1 }) }))
    const read = valueOf(shape({ a: optional(whole(0, 1)) }), JSON.parse('{"__proto__":{"a":1}}'))
    assert.deepEqual(read, {})
  })

  test('texts are bounded at both ends, matched, and whole', () => {
    const bounded = text({ min: 2, max: 4, pattern: /^[a-z]+$/ })
    assert.deepEqual(
      ['ab', 'abcd'].map((sent) => valueOf(bounded, sent)),
      ['ab', 'abcd'],
    )
    for (const sent of ['a', 'abcde', 'AB', 5, {}, ['ab']]) assert.ok(isRefused(bounded, sent))
    assert.ok(isRefused(text({ max: 9 }), '\ud800'), 'half a character')
    assert.equal(valueOf(text({ max: 9 }), '😀'), '😀')
    assert.throws(() => text({ max: 1, pattern: /a/g }))
  })

  test('whole numbers are whole, safe and within bounds', () => {
    const bounded = whole(-3, 5)
    for (const sent of [-3, 0, 5]) assert.equal(valueOf(bounded, sent), sent)
    for (const sent of [-4, 6, 0.5, NaN, Infinity, '1', true, 2 ** 53, [1]])
      assert.ok(isRefused(bounded, sent))
    assert.ok(Object.is(valueOf(bounded, -0), 0))
  })

  test('lists are bounded at both ends', () => {
    const bounded = listOf(whole(0, 9), { min: 1, max: 2 })
    for (const sent of [[1], [1, 2]]) assert.deepEqual(valueOf(bounded, sent), sent)
    for (const sent of [[], [1, 2, 3], {}, '1']) assert.ok(isRefused(bounded, sent))
    assert.deepEqual(detailOf(bounded, [1, null])['missing'], ['[1]'])
  })

  test('a reading of your own says what it expects', () => {
    const even = custom({
      schema: { type: 'integer', multipleOf: 2 },
      expected: 'an even number',
      read: (value) =>
        typeof value === 'number' && value % 2 === 0 ? { half: value / 2 } : undefined,
    })
    assert.deepEqual(valueOf(shape({ a: even }), { a: 4 }), { a: { half: 2 } })
    assert.deepEqual(detailOf(shape({ a: even }), { a: 3 })['expected'], { a: 'an even number' })
    assert.deepEqual(detailOf(shape({ a: even }), {})['expected'], { a: 'an even number' })
  })

  test('names so many fields and counts the rest', () => {
    const many = (count: number): unknown =>
      detailOf(
        listOf(flag(), { max: 1_000 }),
        Array.from({ length: count }, () => 0),
      )
    assert.equal(JSON.stringify(many(ISSUES_NAMED_MAX)).includes('unnamed'), false)
    const past = detailOf(listOf(flag(), { max: 1_000 }), new Array(ISSUES_NAMED_MAX + 1).fill(0))
    assert.equal(past['unnamed'], 1)
  })

  test('is its own JSON Schema', () => {
    assert.deepEqual(sale.schema, {
      type: 'object',
      properties: {
        requestId: { type: 'string', minLength: 1, maxLength: 8 },
        quantity: { type: 'integer', minimum: 1, maximum: 100 },
        note: { type: 'string', maxLength: 5 },
        kind: { type: 'string', enum: ['plain', 'gift'], default: 'plain' },
        lines: {
          type: 'array',
          minItems: 1,
          maxItems: 3,
          items: {
            type: 'object',
            properties: {
              product: { type: 'string', minLength: 1, maxLength: 4 },
              isNew: { type: 'boolean' },
            },
            required: ['product', 'isNew'],
          },
        },
      },
      required: ['requestId', 'quantity', 'lines'],
    })
  })

  test('answers any value at all with a value or a refusal, and never throws', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const read = readShape(sale, value)
        assert.ok(read.ok || read.code === 'bad-input')
      }),
    )
  })
})

describe('nearest', () => {
  test('is what a slip may have meant, and nothing when all are far', () => {
    assert.equal(nearest('lisen', ['listen', 'log']), 'listen')
    assert.equal(nearest('LOG', ['listen', 'log']), 'log')
    assert.equal(nearest('zebra', ['listen', 'log']), undefined)
    assert.equal(nearest('x'.repeat(100_000), ['listen']), undefined)
  })
})
