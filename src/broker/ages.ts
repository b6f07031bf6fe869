/**
 * When messages grow too old: each by the age that the queue allows, and some by a limit of their own before that.
 *
 * Age counts from when a message was sent, and nearly always messages come in that order. These are in line along
 * the slots themselves; those that were sent before somebody who stands there are in a heap. What the queue allows is
 * not part of either, so it can be changed at any time and costs nothing.
 */
import { SlotHeap } from './slot-heap.ts'
import { NO_SLOT, type Slots } from './slots.ts'

/** In the column of places in the heap: neither there nor in line, and in line. */
const NOWHERE = -1
const IN_LINE = -2

export class Ages {
  readonly #slots: Slots
  readonly #odd: SlotHeap
  readonly #limited: SlotHeap
  /** The first in line; those that follow are along `newer`, with others between them. */
  #head: number = NO_SLOT
  /** Of whom was put in line last, be it there or not. */
  #lastSeq = 0
  #lastSentAt = 0

  constructor(slots: Slots) {
    this.#slots = slots
    this.#odd = new SlotHeap(slots, 'sentAt')
    this.#limited = new SlotHeap(slots, 'expiresAt')
  }

  watch(slot: number): void {
    this.watchAge(slot)
    if (this.#slots.limitOf(slot) !== Infinity) this.#limited.push(slot)
  }

  /** Unless it is watched already. */
  watchAge(slot: number): void {
    const { aged, seq, sentAt } = this.#slots
    if (aged[slot] !== NOWHERE) return
    const isLast = seq[slot]! > this.#lastSeq && sentAt[slot]! >= this.#lastSentAt
    if (this.#head !== NO_SLOT && !isLast) return this.#odd.push(slot)
    if (this.#head === NO_SLOT) this.#head = slot
    aged[slot] = IN_LINE
    this.#lastSeq = seq[slot]!
    this.#lastSentAt = sentAt[slot]!
  }

  forget(slot: number): void {
    this.#forgetAge(slot)
    if (this.#slots.limitOf(slot) !== Infinity) this.#limited.remove(slot)
  }

  /** When the first is too old; Infinity for never. */
  nextAt(retentionMs: number): number {
    const { sentAt, expiresAt } = this.#slots
    const [head, odd, limited] = [this.#head, this.#odd.peek(), this.#limited.peek()]
    let at = limited === NO_SLOT ? Infinity : expiresAt[limited]!
    if (head !== NO_SLOT) at = Math.min(at, sentAt[head]! + retentionMs)
    if (odd !== NO_SLOT) at = Math.min(at, sentAt[odd]! + retentionMs)
    return at
  }

  /** One that is too old, which is not watched any more; none if there is none. */
  next(now: number, retentionMs: number): number {
    const { sentAt, expiresAt } = this.#slots
    const limited = this.#limited.peek()
    if (limited !== NO_SLOT && expiresAt[limited]! <= now) {
      this.#limited.remove(limited)
      return limited
    }
    for (const old of [this.#odd.peek(), this.#head])
      if (old !== NO_SLOT && sentAt[old]! + retentionMs <= now) {
        this.#forgetAge(old)
        return old
      }
    return NO_SLOT
  }

  #forgetAge(slot: number): void {
    const { aged, newer } = this.#slots
    if (aged[slot] !== IN_LINE) return this.#odd.remove(slot)
    aged[slot] = NOWHERE
    if (slot !== this.#head) return
    let head = newer[slot]!
    while (head !== NO_SLOT && aged[head] !== IN_LINE) head = newer[head]!
    this.#head = head
  }
}
