/**
 * The messages of one queue and what may become of each. Memory only: what of it is durable, and when, is
 * decided by `queue.ts`, which calls these transitions in the order in which the journal has them.
 *
 *             admit            publish
 *   (nothing) ─────▶ writing ─────────▶ delayed ──due──▶ ready ──lease──▶ leased
 *                       │                  ▲               ▲                │  │
 *                    retract               └─ give back, later or at once ──┘  │
 *                       ▼                                                      │
 *                   (nothing) ◀── release ── leaving ◀────── leave ────────────┤
 *                                               └─────────── stay ────────────▶┘
 *
 * Also ready and delayed messages leave, by age, by purge or to make room. What must stay true: a message is
 * in exactly one state, the counts are those of the states, a delivery is named by (slot, gen) and ends once.
 * Every time is steady wall time in ms and passed in.
 */
import { assert } from '../std/index.ts'
import { Ages } from './ages.ts'
import { Ready } from './ready.ts'
import { SlotHeap } from './slot-heap.ts'
import { DELAYED, LEASED, LEAVING, NO_SLOT, READY, Slots, WRITING } from './slots.ts'

/** What a message brings with it. */
export type Admission = Readonly<{
  seq: number
  level: number
  group: string
  sentAt: number
  /** When it may be seen; in the past for at once. */
  dueAt: number
  /** When it is too old by a limit of its own; Infinity for none. */
  expiresAt: number
  bytes: number
  receives: number
  firstReceivedAt: number
  /** Left out where the text stays on disk. */
  text: string | undefined
}>

/** What time has done to a message. */
export type Due = 'became-visible' | 'lease-ended' | 'expired'

export class QueueState {
  readonly slots: Slots = new Slots()
  readonly ready: Ready
  /** Delays, and leases of a length of their own. */
  readonly #timed: SlotHeap
  readonly #ages: Ages
  /** How old a message may become. */
  retentionMs: number
  /** Leases of the usual length end in the order in which they began. */
  #firstLease: number = NO_SLOT
  #lastLease: number = NO_SLOT
  delayed = 0
  leased = 0
  leaving = 0
  writing = 0
  bytes = 0
  /** Those of `bytes` that are about to go. */
  leavingBytes = 0

  constructor(isFifo: boolean, retentionMs: number = Infinity) {
    this.retentionMs = retentionMs
    this.ready = new Ready(this.slots, isFifo)
    this.#timed = new SlotHeap(this.slots, 'dueAt')
    this.#ages = new Ages(this.slots)
  }

  get size(): number {
    return this.slots.size
  }

  /** Takes a message in that is not durable yet. */
  admit(message: Admission): number {
    const { slots } = this
    const slot = slots.take(message.seq)
    slots.state[slot] = WRITING
    slots.level[slot] = message.level
    slots.sentAt[slot] = message.sentAt
    slots.dueAt[slot] = message.dueAt
    slots.setLimit(slot, message.expiresAt)
    slots.bytes[slot] = message.bytes
    slots.receives[slot] = message.receives
    slots.firstReceivedAt[slot] = message.firstReceivedAt
    if (message.text !== undefined) slots.texts.set(slot, message.text)
    this.ready.join(slot, message.group)
    this.writing++
    this.bytes += message.bytes
    return slot
  }

  /** It is durable: from here on it is seen, counted and grows old. */
  publish(slot: number, now: number): void {
    this.#expect(slot, WRITING)
    this.writing--
    this.#ages.watch(slot)
    this.#show(slot, now)
  }

  /** It never became durable. */
  retract(slot: number): void {
    this.#expect(slot, WRITING)
    this.writing--
    this.#drop(slot)
  }

  /** The next message to hand out, leased until `until`; none if there is none. Ends with `endTurn`. */
  lease(now: number, until: number, isUsual: boolean, agingMs: number): number {
    const slot = this.ready.first(now, agingMs)
    if (slot === NO_SLOT) return NO_SLOT
    const { slots } = this
    this.ready.take(slot)
    slots.state[slot] = LEASED
    slots.gen[slot]!++
    if (slots.receives[slot]!++ === 0) slots.firstReceivedAt[slot] = now
    slots.dueAt[slot] = until
    slots.leasedAtS[slot] = Math.ceil(now / 1_000)
    this.leased++
    if (isUsual && !(until < this.#lastLeaseEnd())) this.#lineUpLease(slot)
    else this.#timed.push(slot)
    return slot
  }

  endTurn(slots: readonly number[]): void {
    this.ready.endTurn(slots)
  }

  /** Whether that delivery has not ended. */
  isHeld(slot: number, gen: number): boolean {
    const { state } = this.slots
    return (
      slot >= 0 && slot < state.length && state[slot] === LEASED && this.slots.gen[slot] === gen
    )
  }

  extend(slot: number, until: number): void {
    this.#expect(slot, LEASED)
    this.#unlease(slot)
    this.slots.dueAt[slot] = until
    this.#timed.push(slot)
  }

  /** The delivery has come to nothing: back to its old place, at once or when it is due. */
  giveBack(slot: number, now: number, dueAt: number): void {
    this.#expect(slot, LEASED)
    this.#unlease(slot)
    this.leased--
    this.slots.gen[slot]!++
    this.slots.dueAt[slot] = dueAt
    this.ready.settle(slot)
    this.#show(slot, now)
  }

  /** The delivery was none: it does not count. */
  uncount(slot: number): void {
    this.slots.receives[slot]!--
  }

  /** Something is being written about it; nobody is given it meanwhile, and its time stands still. */
  leave(slot: number): void {
    const { slots } = this
    const state = slots.state[slot]!
    if (state === LEASED) {
      this.#unlease(slot)
      this.leased--
    } else if (state === READY) {
      this.ready.take(slot)
      this.ready.endTurn([slot])
    } else {
      this.#expect(slot, DELAYED)
      this.#timed.remove(slot)
      this.delayed--
      this.ready.endPutOff(slot)
      this.ready.hold(slot)
    }
    slots.state[slot] = LEAVING
    this.leaving++
    this.leavingBytes += slots.bytes[slot]!
  }

  /** It is still there after all: back to its old place, at once or when it is due. */
  stay(slot: number, now: number, dueAt: number): void {
    this.#expect(slot, LEAVING)
    this.#endLeaving(slot)
    this.slots.dueAt[slot] = dueAt
    this.slots.gen[slot]!++
    this.ready.settle(slot)
    this.#show(slot, now)
  }

  /** The delivery that was to end goes on as it was. */
  holdOn(slot: number): void {
    this.#expect(slot, LEAVING)
    this.#endLeaving(slot)
    this.slots.state[slot] = LEASED
    this.leased++
    this.#timed.push(slot)
  }

  /** It is gone, durably. */
  release(slot: number): void {
    this.#expect(slot, LEAVING)
    this.#endLeaving(slot)
    this.ready.settle(slot)
    this.#drop(slot)
  }

  /** When something is due next; Infinity for never. */
  nextDueAt(): number {
    const { dueAt } = this.slots
    let at = this.#ages.nextAt(this.retentionMs)
    const timed = this.#timed.peek()
    if (timed !== NO_SLOT) at = Math.min(at, dueAt[timed]!)
    if (this.#firstLease !== NO_SLOT) at = Math.min(at, dueAt[this.#firstLease]!)
    return at
  }

  /**
   * Hands one message to `visit` that something has become of by now, and says whether there was any. A
   * message that became visible is ready already; one whose lease has ended or that has grown old is where it
   * was, and `visit` gives it back or lets it leave. A leased message is not too old before it comes back.
   */
  nextDue(now: number, visit: (what: Due, slot: number) => void): boolean {
    const { slots } = this
    const timed = this.#timed.peek()
    if (timed !== NO_SLOT && slots.dueAt[timed]! <= now) {
      if (slots.state[timed] === LEASED) visit('lease-ended', timed)
      else {
        this.#timed.remove(timed)
        this.delayed--
        this.ready.endPutOff(timed)
        this.#show(timed, now)
        visit('became-visible', timed)
      }
      return true
    }
    const lease = this.#firstLease
    if (lease !== NO_SLOT && slots.dueAt[lease]! <= now) {
      visit('lease-ended', lease)
      return true
    }
    const old = this.#ages.next(now, this.retentionMs)
    if (old === NO_SLOT) return false
    if (slots.state[old] === READY || slots.state[old] === DELAYED) visit('expired', old)
    return true
  }

  isTooOld(slot: number, now: number): boolean {
    const { slots } = this
    return Math.min(slots.limitOf(slot), slots.sentAt[slot]! + this.retentionMs) <= now
  }

  /** Where it is seen, or waits to be seen. */
  #show(slot: number, now: number): void {
    const { slots } = this
    // Who was too old while it was held may be so no longer.
    if (!this.isTooOld(slot, now)) this.#ages.watchAge(slot)
    if (slots.dueAt[slot]! > now) {
      slots.state[slot] = DELAYED
      this.#timed.push(slot)
      this.delayed++
      this.ready.putOff(slot)
    } else {
      slots.state[slot] = READY
      this.ready.add(slot)
    }
  }

  #endLeaving(slot: number): void {
    this.leaving--
    this.leavingBytes -= this.slots.bytes[slot]!
  }

  #drop(slot: number): void {
    this.bytes -= this.slots.bytes[slot]!
    this.#ages.forget(slot)
    this.ready.leave(slot)
    this.slots.release(slot)
  }

  #lastLeaseEnd(): number {
    return this.#lastLease === NO_SLOT ? -Infinity : this.slots.dueAt[this.#lastLease]!
  }

  #lineUpLease(slot: number): void {
    const { next, prev } = this.slots
    const last = this.#lastLease
    prev[slot] = last
    next[slot] = NO_SLOT
    if (last === NO_SLOT) this.#firstLease = slot
    else next[last] = slot
    this.#lastLease = slot
  }

  #unlease(slot: number): void {
    if (this.#timed.has(slot)) {
      this.#timed.remove(slot)
      return
    }
    const { next, prev } = this.slots
    const [before, after] = [prev[slot]!, next[slot]!]
    if (before === NO_SLOT) this.#firstLease = after
    else next[before] = after
    if (after === NO_SLOT) this.#lastLease = before
    else prev[after] = before
    next[slot] = prev[slot] = NO_SLOT
  }

  #expect(slot: number, state: number): void {
    assert(this.slots.state[slot] === state, 'a message makes its transitions from where it is')
  }
}
