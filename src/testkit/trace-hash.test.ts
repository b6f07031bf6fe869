import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import type { TraceEntry } from '../kernel/index.ts'
import { inbox } from './inbox.ts'
import { TraceHash } from './trace-hash.ts'

function entry(message: unknown, more: Partial<TraceEntry> = {}): TraceEntry {
  return { seq: 0, at: 0, actor: '/a', type: 'received', facts: { message }, ...more }
}

function digest(...entries: readonly TraceEntry[]): string {
  const hash = new TraceHash()
  for (const each of entries) hash.add(each)
  return hash.digest
}

describe('trace hash', () => {
  test('is sixteen hexadecimal digits, the same for the same entries', () => {
    assert.match(digest(), /^[0-9a-f]{16}$/)
    assert.equal(digest(entry({ n: 1 })), digest(entry({ n: 1 })))
  })

  test('depends on who, what, when, and the order', () => {
    const [a, b] = [entry('a'), entry('b')]
    const digests = [
      digest(a),
      digest(b),
      digest(a, b),
      digest(b, a),
      digest(a, a),
      digest(entry('a', { actor: '/b' })),
      digest(entry('a', { type: 'failed' })),
      digest(entry('a', { at: 1 })),
    ]
    assert.equal(new Set(digests).size, digests.length)
  })

  test('tells values apart by kind, shape and content', () => {
    class Box {
      n = 1
    }
    const values: unknown[] = [
      undefined,
      null,
      0,
      1,
      '1',
      1n,
      true,
      'true',
      '',
      [],
      {},
      [[]],
      [[], []],
      [1, 2],
      ['1', '2'],
      ['12'],
      { n: 1 },
      { n: '1' },
      { m: 1 },
      { n: { m: 1 } },
      { n: {}, m: 1 },
      new Box(),
      new Map(),
      new Map([['n', 1]]),
      new Set(['n', 1]),
      new Uint8Array([1]),
      new Uint8Array([1, 0]),
      assert.ok,
      Symbol('n'),
      new Error('n'),
      new TypeError('n'),
      new Error('m'),
      inbox('n'),
      inbox('m'),
    ]
    const digests = new Map(values.map((value) => [digest(entry(value)), value]))
    assert.equal(digests.size, values.length)
  })

  test('equal data has equal hashes, and different data has not', () => {
    const data = fc.jsonValue({ maxDepth: 3 })
    fc.assert(
      fc.property(data, data, (a, b) => {
        assert.equal(digest(entry(a)), digest(entry(structuredClone(a))))
        if (JSON.stringify(a) !== JSON.stringify(b)) {
          assert.notEqual(digest(entry(a)), digest(entry(b)))
        }
      }),
    )
  })

  test('a ref counts by its path and an error by what it says', () => {
    assert.equal(digest(entry(inbox('a'))), digest(entry(inbox('a'))))
    assert.equal(digest(entry(new Error('x'))), digest(entry(new Error('x'))))
  })

  test('cycles and endless depth end', () => {
    const cyclic: Record<string, unknown> = {}
    cyclic['self'] = cyclic
    let deep: unknown = 1
    for (let n = 0; n < 1_000; n++) deep = [deep]

    digest(entry(cyclic), entry(deep))
  })

  test('a hundred thousand neighbours do not collide', () => {
    const digests = new Set<string>()
    for (let n = 0; n < 100_000; n++) digests.add(digest(entry(n)))
    assert.equal(digests.size, 100_000)
  })
})
