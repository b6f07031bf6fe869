/**
 * The messages of one queue as columns of numbers: a message is a slot, and a slot is an index.
 *
 * A million messages are some eighty bytes each and nothing that the garbage collector has to follow.
 * `gen` grows with every delivery and every reuse of a slot, so (slot, gen) names one delivery and never
 * another. All messages are also in one line by age, oldest first: `newer` and `older` lead along it.
 */
import { assert } from '../std/index.ts'

export const NO_SLOT = -1

/** Where a message is; a slot is in exactly one of these. */
export const FREE = 0
/** Not durable yet, and therefore nobody's to see. */
export const WRITING = 1
export const READY = 2
export const DELAYED = 3
export const LEASED = 4
/** Between two states: its removal, or why it came back, is being made durable, and nobody is given it meanwhile. */
export const LEAVING = 5

const CAPACITY_MIN = 16
const MARK_EVERY = 1_024
const MARKS_MIN = 64
const PAGE_BITS = 10
const PAGE = 1 << PAGE_BITS
const PAGE_MASK = PAGE - 1

export class Slots {
  state: Uint8Array = new Uint8Array(0)
  level: Uint8Array = new Uint8Array(0)
  gen: Uint32Array = new Uint32Array(0)
  receives: Uint32Array = new Uint32Array(0)
  bytes: Uint32Array = new Uint32Array(0)
  /** Unique in the whole broker and growing: the order of messages, and the key of the record. */
  seq: Float64Array = new Float64Array(0)
  /** Steady wall time in ms, as the three that follow. */
  sentAt: Float64Array = new Float64Array(0)
  firstReceivedAt: Float64Array = new Float64Array(0)
  /** When the delivery began, in whole seconds rounded up: what a lease is measured from. */
  leasedAtS: Uint32Array = new Uint32Array(0)
  /** When a delay or a lease ends. */
  dueAt: Float64Array = new Float64Array(0)
  /** When it is too old by a limit of its own; empty as long as no message has had one: see `limitOf`. */
  expiresAt: Float64Array = new Float64Array(0)
  /** Along the list of its state: the lane it is ready in, or the line of leases. */
  next: Int32Array = new Int32Array(0)
  prev: Int32Array = new Int32Array(0)
  newer: Int32Array = new Int32Array(0)
  older: Int32Array = new Int32Array(0)
  /** Its places in the heaps of odd times, odd ages and limits of its own; -1 for none. The last is as `expiresAt`. */
  timed: Int32Array = new Int32Array(0)
  aged: Int32Array = new Int32Array(0)
  limited: Int32Array = new Int32Array(0)
  /** Which lane it is in, by the number of the lane. */
  lane: Uint32Array = new Uint32Array(0)
  /** The record as it was written, while it is kept in memory. */
  readonly texts: Texts = new Texts()

  /** The ends of the line by age. */
  oldest: number = NO_SLOT
  newest: number = NO_SLOT
  size = 0
  #free: number = NO_SLOT
  /** Every so many messages one whose place is remembered, so that nobody is looked for from the beginning. */
  #markSeqs: number[] = []
  #markSlots: number[] = []
  #sinceMark = 0

  /** A slot for a message that is newer than most; its columns are the caller's to fill. */
  take(seq: number): number {
    if (this.#free === NO_SLOT) this.#grow()
    const slot = this.#free
    this.#free = this.next[slot]!
    this.gen[slot]!++
    this.seq[slot] = seq
    this.next[slot] = this.prev[slot] = NO_SLOT
    this.timed[slot] = this.aged[slot] = -1
    this.size++
    this.#lineUp(slot)
    return slot
  }

  /** When it is too old by a limit of its own; Infinity for none. */
  limitOf(slot: number): number {
    return this.expiresAt.length === 0 ? Infinity : this.expiresAt[slot]!
  }

  setLimit(slot: number, at: number): void {
    if (this.expiresAt.length === 0) {
      if (at === Infinity) return
      this.expiresAt = new Float64Array(this.state.length).fill(Infinity)
      this.limited = new Int32Array(this.state.length).fill(-1)
    }
    this.expiresAt[slot] = at
  }

  /** The message of that number; none if it is not there. */
  find(seq: number): number {
    const slot = this.from(seq)
    return slot !== NO_SLOT && this.seq[slot] === seq ? slot : NO_SLOT
  }

  /** The message of that number, or the first after it. */
  from(seq: number): number {
    let slot = this.#markBefore(seq)
    while (slot !== NO_SLOT && this.seq[slot]! < seq) slot = this.newer[slot]!
    return slot
  }

  release(slot: number): void {
    assert(this.state[slot] !== FREE, 'a slot is released once')
    const [newer, older] = [this.newer[slot]!, this.older[slot]!]
    if (newer === NO_SLOT) this.newest = older
    else this.older[newer] = older
    if (older === NO_SLOT) this.oldest = newer
    else this.newer[older] = newer
    this.state[slot] = FREE
    this.gen[slot]!++
    this.texts.drop(slot)
    this.next[slot] = this.#free
    this.#free = slot
    this.size--
  }

  /** Nearly always the newest; what was brought over from another queue may be older than the last. */
  #lineUp(slot: number): void {
    const seq = this.seq[slot]!
    let older = this.newest
    while (older !== NO_SLOT && this.seq[older]! > seq) older = this.older[older]!
    const newer = older === NO_SLOT ? this.oldest : this.newer[older]!
    this.older[slot] = older
    this.newer[slot] = newer
    if (older === NO_SLOT) this.oldest = slot
    else this.newer[older] = slot
    if (newer !== NO_SLOT) {
      this.older[newer] = slot
      return
    }
    this.newest = slot
    if (++this.#sinceMark >= MARK_EVERY) this.#mark(slot)
  }

  #mark(slot: number): void {
    this.#sinceMark = 0
    if (this.#markSeqs.length > MARKS_MIN + (2 * this.size) / MARK_EVERY) this.#forgetMarks()
    this.#markSeqs.push(this.seq[slot]!)
    this.#markSlots.push(slot)
  }

  /** A place at or before that number to begin at. */
  #markBefore(seq: number): number {
    const seqs = this.#markSeqs
    let [low, high] = [0, seqs.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (seqs[middle]! <= seq) low = middle + 1
      else high = middle
    }
    while (--low >= 0) if (this.#isMarkThere(low)) return this.#markSlots[low]!
    return this.oldest
  }

  #isMarkThere(index: number): boolean {
    const slot = this.#markSlots[index]!
    return this.state[slot] !== FREE && this.seq[slot] === this.#markSeqs[index]
  }

  #forgetMarks(): void {
    const kept = this.#markSlots.filter((_, index) => this.#isMarkThere(index))
    this.#markSlots = kept
    this.#markSeqs = kept.map((slot) => this.seq[slot]!)
  }

  #grow(): void {
    const before = this.state.length
    const capacity = Math.max(CAPACITY_MIN, before * 2)
    this.state = grown(this.state, new Uint8Array(capacity))
    this.level = grown(this.level, new Uint8Array(capacity))
    this.gen = grown(this.gen, new Uint32Array(capacity))
    this.receives = grown(this.receives, new Uint32Array(capacity))
    this.bytes = grown(this.bytes, new Uint32Array(capacity))
    this.seq = grown(this.seq, new Float64Array(capacity))
    this.sentAt = grown(this.sentAt, new Float64Array(capacity))
    this.firstReceivedAt = grown(this.firstReceivedAt, new Float64Array(capacity))
    this.leasedAtS = grown(this.leasedAtS, new Uint32Array(capacity))
    this.dueAt = grown(this.dueAt, new Float64Array(capacity))
    this.next = grown(this.next, new Int32Array(capacity))
    this.prev = grown(this.prev, new Int32Array(capacity))
    this.newer = grown(this.newer, new Int32Array(capacity))
    this.older = grown(this.older, new Int32Array(capacity))
    this.timed = grown(this.timed, new Int32Array(capacity))
    this.aged = grown(this.aged, new Int32Array(capacity))
    this.lane = grown(this.lane, new Uint32Array(capacity))
    if (this.expiresAt.length > 0) {
      this.expiresAt = grown(this.expiresAt, new Float64Array(capacity).fill(Infinity))
      this.limited = grown(this.limited, new Int32Array(capacity).fill(-1))
    }
    for (let slot = capacity - 1; slot >= before; slot--) {
      this.next[slot] = this.#free
      this.#free = slot
    }
  }
}

/** Texts by slot. Most slots of a long queue have none, so there are pages, and none where there is no text. */
export class Texts {
  readonly #pages: (string | undefined)[][] = []

  get(slot: number): string | undefined {
    return this.#pages[slot >>> PAGE_BITS]?.[slot & PAGE_MASK]
  }

  set(slot: number, text: string): void {
    const page = (this.#pages[slot >>> PAGE_BITS] ??= new Array<string | undefined>(PAGE).fill(
      undefined,
    ))
    page[slot & PAGE_MASK] = text
  }

  drop(slot: number): void {
    const page = this.#pages[slot >>> PAGE_BITS]
    if (page !== undefined) page[slot & PAGE_MASK] = undefined
  }

  *all(): Iterable<string> {
    for (const page of this.#pages)
      for (const text of page ?? []) if (text !== undefined) yield text
  }
}

function grown<Column extends Readonly<{ set(from: Column): void }>>(
  from: Column,
  into: Column,
): Column {
  into.set(from)
  return into
}
