/**
 * Messages in the order in which they grow too old, as long as that is the order in which they came.
 *
 * Nobody is taken out of the middle: who has gone meanwhile is passed over at the head, and when more than
 * half are gone the line closes up.
 */
import { FREE, NO_SLOT, type Slots } from './slots.ts'

const GONE_MIN = 64

export class AgeLine {
  readonly #slots: Slots
  #line: number[] = []
  /** Whom a place was given to: a slot that has another message since is somebody else. */
  #seqs: number[] = []
  #head = 0
  #last = -Infinity

  constructor(slots: Slots) {
    this.#slots = slots
  }

  /** False if it would grow too old before somebody who stands there. */
  push(slot: number): boolean {
    const at = this.#slots.expiresAt[slot]!
    if (this.peek() === NO_SLOT) this.#last = -Infinity
    if (at < this.#last) return false
    if (this.#line.length - this.#head > this.#slots.size * 2 + GONE_MIN) this.#closeUp()
    this.#last = at
    this.#line.push(slot)
    this.#seqs.push(this.#slots.seq[slot]!)
    return true
  }

  peek(): number {
    while (this.#head < this.#line.length) {
      if (this.#isThere(this.#head)) return this.#line[this.#head]!
      this.#head++
    }
    this.clear()
    return NO_SLOT
  }

  shift(): void {
    this.#head++
  }

  clear(): void {
    if (this.#line.length === 0) return
    this.#line = []
    this.#seqs = []
    this.#head = 0
  }

  #isThere(index: number): boolean {
    const slot = this.#line[index]!
    return this.#slots.state[slot] !== FREE && this.#slots.seq[slot] === this.#seqs[index]
  }

  #closeUp(): void {
    const kept: number[] = []
    for (let index = this.#head; index < this.#line.length; index++)
      if (this.#isThere(index)) kept.push(this.#line[index]!)
    this.#line = kept
    this.#seqs = kept.map((slot) => this.#slots.seq[slot]!)
    this.#head = 0
  }
}
