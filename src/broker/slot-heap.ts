/**
 * Slots by a time of theirs, earliest first; equal times by age. Four children a node, since a heap of a
 * million is read more often than it is deep, and every slot knows its place, so any can be taken out.
 */
import { NO_SLOT, type Slots } from './slots.ts'

/** Which column has the places of a heap by that time. */
const PLACES = { dueAt: 'timed', sentAt: 'aged', expiresAt: 'limited' } as const

export class SlotHeap {
  readonly #slots: Slots
  readonly #column: keyof typeof PLACES
  readonly #place: (typeof PLACES)[keyof typeof PLACES]
  readonly #heap: number[] = []

  constructor(slots: Slots, by: keyof typeof PLACES) {
    this.#slots = slots
    this.#column = by
    this.#place = PLACES[by]
  }

  get size(): number {
    return this.#heap.length
  }

  peek(): number {
    return this.#heap[0] ?? NO_SLOT
  }

  has(slot: number): boolean {
    return this.#slots[this.#place][slot] !== -1
  }

  push(slot: number): void {
    this.#heap.push(slot)
    this.#rise(slot, this.#heap.length - 1)
  }

  remove(slot: number): void {
    const heap = this.#heap
    const places = this.#slots[this.#place]
    const gap = places[slot]!
    if (gap < 0) return
    places[slot] = -1
    const last = heap.pop()!
    if (last === slot) return
    if (gap > 0 && this.#isBefore(last, heap[(gap - 1) >> 2]!)) this.#rise(last, gap)
    else this.#sink(last, gap)
  }

  #isBefore(a: number, b: number): boolean {
    const times = this.#slots[this.#column]
    const [timeA, timeB] = [times[a]!, times[b]!]
    return timeA < timeB || (timeA === timeB && this.#slots.seq[a]! < this.#slots.seq[b]!)
  }

  #rise(slot: number, from: number): void {
    const heap = this.#heap
    const places = this.#slots[this.#place]
    let index = from
    while (index > 0) {
      const above = (index - 1) >> 2
      const parent = heap[above]!
      if (!this.#isBefore(slot, parent)) break
      heap[index] = parent
      places[parent] = index
      index = above
    }
    heap[index] = slot
    places[slot] = index
  }

  #sink(slot: number, from: number): void {
    const heap = this.#heap
    const places = this.#slots[this.#place]
    let index = from
    for (;;) {
      const first = index * 4 + 1
      if (first >= heap.length) break
      let least = first
      const end = Math.min(first + 4, heap.length)
      for (let child = first + 1; child < end; child++)
        if (this.#isBefore(heap[child]!, heap[least]!)) least = child
      const child = heap[least]!
      if (!this.#isBefore(child, slot)) break
      heap[index] = child
      places[child] = index
      index = least
    }
    heap[index] = slot
    places[slot] = index
  }
}
