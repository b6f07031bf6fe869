/**
 * A queue with two ends over a ring: mailboxes, stashes, lines of every kind.
 *
 * `head` and `tail` are 32-bit counters that run round and never meet the size of the ring: the slot
 * of a position is its low bits, the length is the wrapped difference. So growing copies each element
 * to the slot its position already names, and passing 2^31 is nothing special. A slot is cleared
 * when its element leaves, and a ring that was once large is given back when it runs empty.
 */
import { assert } from './assert.ts'

const SLOTS_FIRST = 16
const SLOTS_KEPT = 1_024 // an empty ring up to this size stays, so that a busy queue does not regrow it
const SLOTS_MAX = 2 ** 30 // beyond it the wrapped difference would turn negative

export class Deque<T> {
  #slots: (T | undefined)[] = slots(SLOTS_FIRST)
  #mask = SLOTS_FIRST - 1
  #head: number
  #tail: number

  /** `startAt` is where the counters begin, for tests that want them to wrap soon. */
  constructor(options: { startAt?: number } = {}) {
    this.#head = this.#tail = (options.startAt ?? 0) | 0
  }

  get length(): number {
    return (this.#tail - this.#head) | 0
  }

  pushBack(value: T): void {
    if (this.length > this.#mask) this.#grow()
    this.#slots[this.#tail & this.#mask] = value
    this.#tail = (this.#tail + 1) | 0
  }

  pushFront(value: T): void {
    if (this.length > this.#mask) this.#grow()
    this.#head = (this.#head - 1) | 0
    this.#slots[this.#head & this.#mask] = value
  }

  popFront(): T | undefined {
    if (this.#head === this.#tail) return undefined
    const slot = this.#head & this.#mask
    const value = this.#slots[slot]
    this.#slots[slot] = undefined
    this.#head = (this.#head + 1) | 0
    if (this.#head === this.#tail) this.#shrink()
    return value
  }

  popBack(): T | undefined {
    if (this.#head === this.#tail) return undefined
    this.#tail = (this.#tail - 1) | 0
    const slot = this.#tail & this.#mask
    const value = this.#slots[slot]
    this.#slots[slot] = undefined
    if (this.#head === this.#tail) this.#shrink()
    return value
  }

  peekFront(): T | undefined {
    return this.#head === this.#tail ? undefined : this.#slots[this.#head & this.#mask]
  }

  /** The element `i` places behind the front; undefined outside 0 to length - 1. */
  at(i: number): T | undefined {
    return i >= 0 && i < this.length ? this.#slots[(this.#head + i) & this.#mask] : undefined
  }

  clear(): void {
    this.#slots = slots(SLOTS_FIRST)
    this.#mask = SLOTS_FIRST - 1
    this.#head = this.#tail
  }

  /** Front to back. What is pushed while it runs is seen too; taking from the front skips. */
  *[Symbol.iterator](): Iterator<T> {
    for (let i = 0; i < this.length; i++) yield this.at(i)!
  }

  #grow(): void {
    const size = (this.#mask + 1) * 2
    assert(size <= SLOTS_MAX, 'a deque holds at most 2^30 elements')
    const grown = slots<T>(size)
    for (let at = this.#head; at !== this.#tail; at = (at + 1) | 0)
      grown[at & (size - 1)] = this.#slots[at & this.#mask]
    this.#slots = grown
    this.#mask = size - 1
  }

  #shrink(): void {
    if (this.#mask >= SLOTS_KEPT) this.clear()
  }
}

function slots<T>(size: number): (T | undefined)[] {
  return new Array<T | undefined>(size).fill(undefined)
}
