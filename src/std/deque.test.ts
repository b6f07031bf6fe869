import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { afterIo } from './clock.ts'
import { Deque } from './deque.ts'

const FIRST = 16 // slots of a young ring

function dequeOf(values: Iterable<number>, startAt = 0): Deque<number> {
  const deque = new Deque<number>({ startAt })
  for (const value of values) deque.pushBack(value)
  return deque
}

function count(n: number): number[] {
  return [...new Array<undefined>(n).keys()]
}

describe('deque', () => {
  test('an empty one has nothing to give', () => {
    const deque = new Deque<number>()
    assert.equal(deque.length, 0)
    assert.equal(deque.popFront(), undefined)
    assert.equal(deque.popBack(), undefined)
    assert.equal(deque.peekFront(), undefined)
    assert.equal(deque.at(0), undefined)
    assert.deepEqual([...deque], [])
  })

  test('undefined is an element like any other', () => {
    const deque = new Deque<undefined>()
    deque.pushBack(undefined)
    assert.equal(deque.length, 1)
    deque.popFront()
    assert.equal(deque.length, 0)
  })

  test('grows in order from every position of the head', () => {
    for (let head = 0; head < FIRST; head++) {
      for (const grow of ['pushBack', 'pushFront'] as const) {
        const deque = dequeOf(count(head))
        for (let n = 0; n < head; n++) deque.popFront()
        for (const value of count(FIRST)) deque.pushBack(value)

        deque[grow](99)

        const expected = grow === 'pushBack' ? [...count(FIRST), 99] : [99, ...count(FIRST)]
        assert.deepEqual([...deque], expected, `head at ${head}, ${grow}`)
      }
    }
  })

  test('its counters pass 2^31 and 2^32 unnoticed', () => {
    for (const startAt of [2 ** 31 - 3, 2 ** 31, 2 ** 32 - 3, -3]) {
      const deque = dequeOf(count(FIRST + 4), startAt)
      assert.equal(deque.length, FIRST + 4)
      assert.deepEqual([...deque], count(FIRST + 4))
      assert.equal(deque.at(FIRST), FIRST)
      for (const value of count(FIRST + 4)) assert.equal(deque.popFront(), value)
      for (const value of count(8)) deque.pushFront(value) // and back over the edge
      assert.deepEqual([...deque], count(8).toReversed())
    }
  })

  test('elements that left are let go', async () => {
    const gc = globalThis.gc
    assert.ok(gc, 'tests run with --expose-gc')
    const deque = new Deque<object>()
    const refs = count(10).map(() => {
      const value = {}
      deque.pushBack(value)
      return new WeakRef(value)
    })
    for (let n = 0; n < 5; n++) deque.popFront()
    for (let n = 0; n < 5; n++) deque.popBack()

    await new Promise<void>(afterIo) // a WeakRef holds on until the end of the job that made it
    gc()
    assert.deepEqual(
      refs.filter((ref) => ref.deref() !== undefined),
      [],
    )
    assert.equal(deque.length, 0)
  })

  test('a ring that was large is given back when it runs empty', () => {
    const gc = globalThis.gc
    assert.ok(gc, 'tests run with --expose-gc')
    const deque = new Deque<number>()
    gc()
    const before = process.memoryUsage().heapUsed
    for (const take of ['popFront', 'popBack', 'clear'] as const) {
      for (let n = 0; n < 1_000_000; n++) deque.pushBack(n)
      while (deque.length > 0) deque[take]()
      gc()
      const kept = process.memoryUsage().heapUsed - before
      assert.ok(kept < 2_000_000, `${take} keeps ${kept} bytes`)
    }
    assert.equal(deque.length, 0)
  })

  test('behaves like an array under any operations, wherever its counters stand', () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.constant('pushBack' as const) },
      { weight: 2, arbitrary: fc.constant('pushFront' as const) },
      { weight: 3, arbitrary: fc.constant('popFront' as const) },
      { weight: 1, arbitrary: fc.constant('popBack' as const) },
      { weight: 1, arbitrary: fc.constant('flood' as const) },
      { weight: 1, arbitrary: fc.constant('clear' as const) },
    )
    const startAt = fc.oneof(
      fc.integer(),
      fc.integer({ min: 2 ** 31 - 40, max: 2 ** 31 + 40 }),
      fc.integer({ min: -40, max: 40 }),
    )

    fc.assert(
      fc.property(startAt, fc.array(step, { maxLength: 150 }), (start, steps) => {
        const deque = new Deque<number>({ startAt: start })
        const model: number[] = []
        for (const [n, action] of steps.entries()) {
          switch (action) {
            case 'pushBack':
              deque.pushBack(n)
              model.push(n)
              break
            case 'pushFront':
              deque.pushFront(n)
              model.unshift(n)
              break
            case 'popFront':
              assert.equal(deque.popFront(), model.shift())
              break
            case 'popBack':
              assert.equal(deque.popBack(), model.pop())
              break
            case 'flood':
              for (let more = 0; more < 20; more++) deque.pushBack(more)
              model.push(...count(20))
              break
            case 'clear':
              if (n % 4 !== 0) break // often enough
              deque.clear()
              model.length = 0
              break
          }
          assert.equal(deque.length, model.length)
          assert.equal(deque.peekFront(), model[0])
          assert.equal(deque.at(model.length - 1), model.at(-1))
          assert.equal(deque.at(model.length), undefined)
          assert.equal(deque.at(-1), undefined)
        }
        assert.deepEqual([...deque], model)
      }),
      { numRuns: 1_000 },
    )
  })
})
