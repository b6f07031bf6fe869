import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { Heap, type HeapItem } from './heap.ts'

class Item implements HeapItem {
  heapIndex = -1
  readonly due: number

  constructor(due: number) {
    this.due = due
  }
}

function heapOf(...dues: number[]): { heap: Heap<Item>; items: Item[] } {
  const heap = new Heap<Item>((a, b) => a.due < b.due)
  const items = dues.map((due) => new Item(due))
  for (const item of items) heap.push(item)
  return { heap, items }
}

describe('heap', () => {
  test('an empty one has nothing to give', () => {
    const { heap } = heapOf()
    assert.equal(heap.size, 0)
    assert.equal(heap.peek(), undefined)
    assert.equal(heap.pop(), undefined)
  })

  test('an item that left knows that it is in no heap and may come back', () => {
    const { heap, items } = heapOf(1)
    const item = items[0]!

    assert.equal(heap.pop(), item)
    assert.equal(item.heapIndex, -1)
    assert.equal(heap.remove(item), false)
    heap.push(item)
    assert.equal(heap.peek(), item)
  })

  test('an item is in one heap at most, and another heap does not take it out', () => {
    const { heap, items } = heapOf(1, 2, 3)
    const other = heapOf(4, 5, 6)
    const item = items[0]!

    assert.throws(() => heap.push(item), { name: 'AssertionFailure' })
    assert.throws(() => other.heap.push(item), { name: 'AssertionFailure' })
    assert.equal(other.heap.remove(item), false)
    assert.equal(heap.size, 3)
    assert.equal(other.heap.size, 3)
  })

  test('a gap deep in one branch is filled from another and order holds', () => {
    // The last item (12) belongs above the parent (20) of the one that is taken out.
    const { heap, items } = heapOf(1, 20, 2, 21, 22, 3, 12)
    const [out] = items.splice(3, 1)

    assert.equal(heap.remove(out!), true)

    assertOrdered(items)
    assert.deepEqual(drained(heap), [1, 2, 3, 12, 20, 22])
  })

  test('behaves like a sorted list under any pushes, pops and removals', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ do: fc.constant('push'), n: fc.integer({ max: 20 }) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('pop'), n: fc.nat() }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('remove'), n: fc.nat() }) },
    )

    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const { heap } = heapOf()
        const model: Item[] = []
        for (const { do: action, n } of steps) {
          if (action === 'push') {
            const item = new Item(n)
            heap.push(item)
            model.push(item)
          } else if (action === 'pop') {
            const item = heap.pop()
            assert.equal(item?.due, model.length === 0 ? undefined : least(model))
            if (item !== undefined) model.splice(model.indexOf(item), 1)
          } else if (model.length > 0) {
            const item = model.splice(n % model.length, 1)[0]!
            assert.equal(heap.remove(item), true)
            assert.equal(item.heapIndex, -1)
          }
          assert.equal(heap.size, model.length)
          assert.equal(heap.peek()?.due, model.length === 0 ? undefined : least(model))
          assertOrdered(model)
        }
        assert.deepEqual(
          drained(heap),
          model.map((item) => item.due).toSorted((a, b) => a - b),
        )
      }),
      { numRuns: 1_000 },
    )
  })
})

/** Every item has a place of its own and comes after none of those below it. */
function assertOrdered(items: readonly Item[]): void {
  const places = items.toSorted((a, b) => a.heapIndex - b.heapIndex)
  for (const [index, item] of places.entries()) {
    assert.equal(item.heapIndex, index)
    assert.ok(index === 0 || places[(index - 1) >> 1]!.due <= item.due)
  }
}

function least(items: readonly Item[]): number {
  return Math.min(...items.map((item) => item.due))
}

function drained(heap: Heap<Item>): number[] {
  const dues: number[] = []
  for (let item = heap.pop(); item !== undefined; item = heap.pop()) dues.push(item.due)
  return dues
}
