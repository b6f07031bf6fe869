/**
 * A line that anyone may leave, and that knows how many stand before whom.
 *
 * Places are handed out in order and counted by a tree of partial sums: joining is amortised constant,
 * leaving and asking for a rank is logarithmic. Places that were left are given back when it is full.
 */
import { assert } from '../std/index.ts'

export interface LineItem {
  /** Kept by the line; -1 while the item is in none. */
  lineIndex: number
}

const PLACES_FIRST = 64

export class Line<T extends LineItem> {
  #places: (T | undefined)[] = []
  /** At n: how many stand at the last `n & -n` of the first n places. */
  #sums: Int32Array = new Int32Array(PLACES_FIRST + 1)
  #first = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Who stands before all others. */
  get head(): T | undefined {
    if (this.#size === 0) return undefined
    while (this.#places[this.#first] === undefined) this.#first++
    return this.#places[this.#first]
  }

  append(item: T): void {
    assert(item.lineIndex === -1, 'an item stands in at most one line')
    if (this.#places.length === this.#sums.length - 1) this.#closeRanks()
    item.lineIndex = this.#places.length
    this.#places.push(item)
    this.#add(item.lineIndex, 1)
    this.#size++
  }

  /** False when the item does not stand in this line. */
  remove(item: T): boolean {
    const at = item.lineIndex
    if (at < 0 || this.#places[at] !== item) return false
    this.#places[at] = undefined
    this.#add(at, -1)
    this.#size--
    item.lineIndex = -1
    return true
  }

  /** How many stand before it. */
  rank(item: T): number {
    assert(this.#places[item.lineIndex] === item, 'the item stands in this line')
    let sum = 0
    for (let n = item.lineIndex; n > 0; n -= n & -n) sum += this.#sums[n]!
    return sum
  }

  #add(at: number, count: number): void {
    for (let n = at + 1; n < this.#sums.length; n += n & -n) this.#sums[n]! += count
  }

  #closeRanks(): void {
    const standing = this.#places.filter((item) => item !== undefined)
    this.#places = standing
    this.#sums = new Int32Array(Math.max(PLACES_FIRST, 2 * standing.length) + 1)
    this.#first = 0
    for (const [at, item] of standing.entries()) {
      item.lineIndex = at
      this.#add(at, 1)
    }
  }
}
