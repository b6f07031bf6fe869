/**
 * The one heap: timers, deadlines, delayed messages.
 *
 * Binary and intrusive: every item knows its place, so taking out any item costs as little as taking
 * out the first. An item is in at most one heap at a time. Equals come out in no particular order;
 * whoever needs one compares a sequence number too.
 */
import { assert } from './assert.ts'

export interface HeapItem {
  /** Kept by the heap; -1 while the item is in none. */
  heapIndex: number
}

export class Heap<T extends HeapItem> {
  readonly #before: (a: T, b: T) => boolean
  readonly #items: T[] = []

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before
  }

  get size(): number {
    return this.#items.length
  }

  peek(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    assert(item.heapIndex === -1, 'an item is in at most one heap')
    const items = this.#items
    items.push(item)
    this.#rise(item, items.length - 1)
  }

  pop(): T | undefined {
    const first = this.#items[0]
    if (first !== undefined) this.#takeOut(first)
    return first
  }

  /** False when the item is not in this heap. */
  remove(item: T): boolean {
    const index = item.heapIndex
    if (index < 0 || this.#items[index] !== item) return false
    this.#takeOut(item)
    return true
  }

  // The last item fills the gap. It comes from another branch, so it may belong above or below.
  #takeOut(item: T): void {
    const items = this.#items
    const gap = item.heapIndex
    const last = items.pop()!
    item.heapIndex = -1
    if (last === item) return
    if (gap > 0 && this.#before(last, items[(gap - 1) >> 1]!)) this.#rise(last, gap)
    else this.#sink(last, gap)
  }

  #rise(item: T, from: number): void {
    const items = this.#items
    let index = from
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = items[parentIndex]!
      if (!this.#before(item, parent)) break
      items[index] = parent
      parent.heapIndex = index
      index = parentIndex
    }
    items[index] = item
    item.heapIndex = index
  }

  #sink(item: T, from: number): void {
    const items = this.#items
    const size = items.length
    let index = from
    for (;;) {
      let childIndex = 2 * index + 1
      if (childIndex >= size) break
      let child = items[childIndex]!
      const otherIndex = childIndex + 1
      if (otherIndex < size && this.#before(items[otherIndex]!, child)) {
        childIndex = otherIndex
        child = items[otherIndex]!
      }
      if (!this.#before(child, item)) break
      items[index] = child
      child.heapIndex = index
      index = childIndex
    }
    items[index] = item
    item.heapIndex = index
  }
}
