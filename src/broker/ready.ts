/**
 * What is ready, in the order in which it is handed out.
 *
 *   level 255   lane ─ lane ─ …          a lane is a line of messages by age: one for each group, and one
 *   level 254                            for those without a group
 *   …
 *   level 0     lane ─ lane ─ …          levels that have any are bits, so the highest is found at once
 *
 * Of one level, lanes take turns, message by message: a group that sends a million does not stand before
 * one that sends a single message. In a FIFO queue a lane gives what one receive takes of it, and is then
 * closed until all of that has been settled; messages that are put off stand in it too, and it is closed while
 * one of them is the first: nothing overtakes within a group. A message that comes back takes its old place.
 */
import { assert } from '../std/index.ts'
import { DELAYED, NO_SLOT, READY, type Slots } from './slots.ts'

export const LEVELS = 256

/** The messages of one group at one level. */
export class Lane {
  /** Among the lanes of its queue. */
  readonly number: number
  readonly level: number
  readonly group: string
  head: number = NO_SLOT
  tail: number = NO_SLOT
  /** Messages of it in whatever state; a lane without any is forgotten. */
  members = 0
  /** Messages of it that were taken and are not settled; counts in FIFO queues only. */
  held = 0
  /** Along the ring of its level; undefined while it is not on it. */
  next: Lane | undefined
  prev: Lane | undefined

  constructor(number: number, level: number, group: string) {
    this.number = number
    this.level = level
    this.group = group
  }
}

export class Ready {
  readonly #slots: Slots
  readonly #isFifo: boolean
  /** Where each level's ring is to be entered next. */
  readonly #rings: (Lane | undefined)[] = []
  readonly #plain: (Lane | undefined)[] = []
  readonly #groups = new Map<string, Lane>()
  /** By number; a number that has become free is given to the next. */
  readonly #lanes: Lane[] = []
  readonly #freeNumbers: number[] = []
  readonly #words = new Uint32Array(LEVELS / 32)
  size = 0

  constructor(slots: Slots, isFifo: boolean) {
    this.#slots = slots
    this.#isFifo = isFifo
  }

  /** Gives a message its lane, for as long as it is in the queue. */
  join(slot: number, group: string): void {
    const level = this.#slots.level[slot]!
    const lane = group === '' ? this.#plainLane(level) : this.#groupLane(level, group)
    lane.members++
    this.#slots.lane[slot] = lane.number
  }

  laneOf(slot: number): Lane {
    return this.#lanes[this.#slots.lane[slot]!]!
  }

  /** The message is gone. */
  leave(slot: number): void {
    const lane = this.laneOf(slot)
    lane.members--
    if (lane.members > 0 || lane.group === '') return
    this.#groups.delete(nameOf(lane.level, lane.group))
    this.#freeNumbers.push(lane.number)
  }

  /** To the end of its lane, or to its old place if it was there before. */
  add(slot: number): void {
    this.#lineUp(slot)
    this.size++
    this.#judge(this.laneOf(slot))
  }

  /** It is put off: in a FIFO queue those behind it have to wait as well. */
  putOff(slot: number): void {
    if (!this.#isFifo) return
    this.#lineUp(slot)
    this.#judge(this.laneOf(slot))
  }

  /** What was put off is not any more, and is ready or leaves. */
  endPutOff(slot: number): void {
    if (this.#isFifo) this.#unline(slot)
  }

  #lineUp(slot: number): void {
    const lane = this.laneOf(slot)
    const { next, prev } = this.#slots
    const before = this.#placeOf(lane, slot)
    const after = before === NO_SLOT ? lane.head : next[before]!
    prev[slot] = before
    next[slot] = after
    if (before === NO_SLOT) lane.head = slot
    else next[before] = slot
    if (after === NO_SLOT) lane.tail = slot
    else prev[after] = slot
  }

  #unline(slot: number): void {
    const lane = this.laneOf(slot)
    const { next, prev } = this.#slots
    const [before, after] = [prev[slot]!, next[slot]!]
    if (before === NO_SLOT) lane.head = after
    else next[before] = after
    if (after === NO_SLOT) lane.tail = before
    else prev[after] = before
    next[slot] = prev[slot] = NO_SLOT
  }

  /** Whether the lane gives anything may have changed. */
  #judge(lane: Lane): void {
    if (this.#hasFirst(lane)) this.#open(lane)
    else this.#close(lane)
  }

  /** Whether who is in this state stands in its lane. */
  #stands(state: number): boolean {
    return state === READY || (this.#isFifo && state === DELAYED)
  }

  #hasFirst({ head }: Lane): boolean {
    return head !== NO_SLOT && this.#slots.state[head] === READY
  }

  /**
   * Behind whom it stands: the youngest that is older. Nearly always that is the last; otherwise it is looked for
   * from both ends of the lane and from its own age backwards, in turns, so that the nearest way counts.
   */
  #placeOf(lane: Lane, slot: number): number {
    const { seq, next, prev, older, state } = this.#slots
    const own = seq[slot]!
    let [passed, fromHead, fromTail, before] = [NO_SLOT, lane.head, lane.tail, older[slot]!]
    for (;;) {
      if (fromTail === NO_SLOT || seq[fromTail]! < own) return fromTail
      if (seq[fromHead]! > own) return passed
      if (before === NO_SLOT) return NO_SLOT
      if (this.#slots.lane[before] === lane.number && this.#stands(state[before]!)) return before
      fromTail = prev[fromTail]!
      passed = fromHead
      fromHead = next[fromHead]!
      before = older[before]!
    }
  }

  remove(slot: number): void {
    const lane = this.laneOf(slot)
    this.#unline(slot)
    this.size--
    if (!this.#hasFirst(lane)) this.#close(lane)
  }

  /** The message that is next, or none. With ageing, waiting for `agingMs` is worth one level. */
  first(now: number, agingMs: number): number {
    const lane = agingMs > 0 ? this.#most(now, agingMs) : this.#rings[this.#highest()]
    return lane === undefined ? NO_SLOT : lane.head
  }

  /** Takes out what `first` gave, for a lease. The next lane has its turn, unless order forbids. */
  take(slot: number): void {
    const lane = this.laneOf(slot)
    this.remove(slot)
    if (this.#isFifo) lane.held++
    else if (lane.next !== undefined) this.#rings[lane.level] = lane.next
  }

  /** A receive has ended: what it took of a group must be settled before the group gives more. */
  endTurn(slots: readonly number[]): void {
    if (this.#isFifo) for (const slot of slots) this.#close(this.laneOf(slot))
  }

  /** As if it had been taken, though it was not ready. */
  hold(slot: number): void {
    if (!this.#isFifo) return
    const lane = this.laneOf(slot)
    lane.held++
    this.#close(lane)
  }

  /** A message that was taken is back or gone. */
  settle(slot: number): void {
    if (!this.#isFifo) return
    const lane = this.laneOf(slot)
    assert(lane.held > 0, 'what is settled was held')
    lane.held--
    this.#judge(lane)
  }

  #plainLane(level: number): Lane {
    return (this.#plain[level] ??= this.#newLane(level, ''))
  }

  #groupLane(level: number, group: string): Lane {
    const name = nameOf(level, group)
    let lane = this.#groups.get(name)
    if (lane === undefined) this.#groups.set(name, (lane = this.#newLane(level, group)))
    return lane
  }

  #newLane(level: number, group: string): Lane {
    const number = this.#freeNumbers.pop() ?? this.#lanes.length
    const lane = new Lane(number, level, group)
    this.#lanes[number] = lane
    return lane
  }

  #open(lane: Lane): void {
    if (lane.next !== undefined || lane.held > 0) return
    const first = this.#rings[lane.level]
    if (first === undefined) {
      lane.next = lane.prev = lane
      this.#rings[lane.level] = lane
      this.#words[lane.level >>> 5]! |= 1 << (lane.level & 31)
      return
    }
    const last = first.prev!
    lane.prev = last
    lane.next = first
    last.next = lane
    first.prev = lane
  }

  #close(lane: Lane): void {
    const { next, prev, level } = lane
    if (next === undefined || prev === undefined) return
    if (next === lane) {
      this.#rings[level] = undefined
      this.#words[level >>> 5]! &= ~(1 << (level & 31))
    } else {
      prev.next = next
      next.prev = prev
      if (this.#rings[level] === lane) this.#rings[level] = next
    }
    lane.next = lane.prev = undefined
  }

  #highest(): number {
    for (let word = this.#words.length - 1; word >= 0; word--) {
      const bits = this.#words[word]!
      if (bits !== 0) return word * 32 + 31 - Math.clz32(bits)
    }
    return NO_SLOT
  }

  #most(now: number, agingMs: number): Lane | undefined {
    let best: Lane | undefined
    let bestLevel = -1
    for (let level = this.#highest(); level >= 0; level--) {
      const lane = this.#rings[level]
      if (lane === undefined) continue
      const waited = now - this.#slots.sentAt[lane.head]!
      const effective = level + Math.max(0, Math.floor(waited / agingMs))
      if (effective <= bestLevel) continue
      best = lane
      bestLevel = effective
    }
    return best
  }
}

function nameOf(level: number, group: string): string {
  return `${level}/${group}`
}
