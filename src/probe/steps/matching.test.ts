import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { conditionOf, expectMatch, literal, matches, pathOf, shown, wantedOf } from './matching.ts'

const VALUE = { id: 'o-1', n: 5, tags: ['a', 'b'], lines: [{ n: 1 }, { n: 2 }], none: null }

function asked(word: string, written: string): unknown {
  return conditionOf('a', wantedOf(word, written))
}

describe('what a step wants of a value', () => {
  const holds: readonly (readonly [string, string, string])[] = [
    ['$.id', 'with value', '"o-1"'],
    ['$.id', 'with value', `'o-1'`],
    ['id', 'with value', '"o-1"'],
    ['$.n', 'with value', '5'],
    ['$.none', 'with value', 'null'],
    ['$.tags', 'with value', '["a", "b"]'],
    ['lines[*].n', 'with value', '2'],
    ['lines.length()', 'with value', '2'],
    ['$.id', 'with pattern', '"^o-\\\\d$"'],
    ['$.n', 'with pattern', '"5"'],
    ['$.id', 'containing', '"-"'],
    ['$.tags', 'containing', '"b"'],
    ['$.n', 'greater than', '4.9'],
    ['$.n', 'less than', '6'],
  ]
  for (const [path, word, written] of holds)
    test(`${path} ${word} ${written} holds`, () => {
      assert.ok(matches(path, wantedOf(word, written), VALUE))
    })

  const fails: readonly (readonly [string, string, string])[] = [
    ['$.n', 'with value', '"5"'],
    ['$.nothing', 'with value', 'null'],
    ['$.id', 'with pattern', '"^1"'],
    ['$.id', 'containing', '"x"'],
    ['$.tags', 'containing', '"c"'],
    ['$.n', 'greater than', '5'],
    ['$.n', 'less than', '5'],
    ['$.id', 'less than', '5'],
  ]
  for (const [path, word, written] of fails)
    test(`${path} ${word} ${written} does not`, () => {
      const wanted = wantedOf(word, written)
      assert.ok(!matches(path, wanted, VALUE))
      assert.throws(() => expectMatch('the event', path, wanted, VALUE), /^Error: the event has /)
    })

  test('is text in quotes or JSON, and a number where one is needed', () => {
    assert.equal(literal('"a"'), 'a')
    assert.equal(literal(`'say "a"'`), 'say "a"')
    assert.throws(() => literal('a'), /neither text in quotes/)
    assert.throws(() => wantedOf('less than', '"5"'), /is not a number/)
  })

  test('is compared with what is shown in part, but never with a part of a text', () => {
    const secret = 's'.repeat(40)
    for (let before = 380; before < 520; before += 1) {
      const text = shown({ a: ['x'.repeat(before), secret, 12_345_678], b: 'y'.repeat(500) })
      assert.doesNotMatch(text.replace(secret, '').replace('12345678', ''), /s|1/)
      assert.ok(text.length <= 501 && text.endsWith('…'))
    }
    assert.equal(shown(secret.repeat(20)), '…')
    assert.equal(shown('"\\'.repeat(90)), JSON.stringify('"\\'.repeat(90)))
  })

  test('is asked of the log in its words, unless it is a pattern', () => {
    const place = { of: 'value', path: '$.a' }
    assert.deepEqual(asked('with value', '1'), { ...place, test: { type: 'equals', value: 1 } })
    assert.deepEqual(asked('containing', '"x"'), {
      ...place,
      test: { type: 'contains', text: 'x' },
    })
    assert.deepEqual(asked('less than', '1'), { ...place, test: { type: 'less', than: 1 } })
    assert.equal(asked('with pattern', '"x"'), undefined)
    assert.equal(pathOf('[0].a'), '$[0].a')
  })
})
