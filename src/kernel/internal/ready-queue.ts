/**
 * The ready queue: mailboxes whose cells may run, in order.
 *
 * It registers, unregisters and hands out; why something is not ready is not
 * its business. Three lanes, each a doubly linked list, so that leaving costs
 * the same from anywhere. A lower lane gets every eighth turn of the one above,
 * so nothing starves.
 */
import type { InvokeResult } from './result.ts'

export const HIGH = 0
export const NORMAL = 1
export const LOW = 2

const SHARE = 8

/** What can be registered. The links belong to the queue it is in. */
export interface Ready {
  readonly lane: number
  queued: boolean
  before: Ready | null
  after: Ready | null
}

type Lane = { first: Ready | null; last: Ready | null }

export class ReadyQueue<R extends Ready> {
  /** How many are registered. */
  depth = 0
  #turn = 0
  readonly #lanes: readonly [Lane, Lane, Lane] = [
    { first: null, last: null },
    { first: null, last: null },
    { first: null, last: null },
  ]
  readonly #wake: (ready: R) => void

  /** `wake` is told of every registration. */
  constructor(wake: (ready: R) => void) {
    this.#wake = wake
  }

  /** To the end of its lane. Registering what is registered has no effect. */
  register(ready: R): void {
    if (ready.queued) return
    const lane = this.#lanes[ready.lane as 0]
    ready.queued = true
    ready.before = lane.last
    ready.after = null
    if (lane.last === null) lane.first = ready
    else lane.last.after = ready
    lane.last = ready
    this.depth++
    this.#wake(ready)
  }

  unregister(ready: R): void {
    if (!ready.queued) return
    const lane = this.#lanes[ready.lane as 0]
    if (ready.before === null) lane.first = ready.after
    else ready.before.after = ready.after
    if (ready.after === null) lane.last = ready.before
    else ready.after.before = ready.before
    ready.queued = false
    ready.before = null
    ready.after = null
    this.depth--
  }

  /** What follows from a run: to the end of the line while there is more to do, else out of it. */
  settle(ready: R, result: InvokeResult): void {
    if (result.type === 'yielded') this.register(ready)
    else this.unregister(ready)
  }

  /** The next in turn, no longer registered. */
  take(): R | undefined {
    const turn = this.#turn++
    const [high, normal, low] = this.#lanes
    let lane = high
    if (high.first === null || turn % SHARE === SHARE - 1) {
      lane = normal
      if (normal.first === null || turn % (SHARE * SHARE) >= SHARE * (SHARE - 1)) lane = low
      if (lane.first === null) lane = normal.first === null ? high : normal
    }
    return this.#handOut(lane.first)
  }

  /** The one at `index` in the order of the lanes, no longer registered: for a test that picks. */
  takeAt(index: number): R | undefined {
    let left = index
    for (const lane of this.#lanes) {
      for (let ready = lane.first; ready !== null; ready = ready.after) {
        if (left-- === 0) return this.#handOut(ready)
      }
    }
    return undefined
  }

  /** How many of those that are registered are meant. */
  count(isMeant: (ready: R) => boolean): number {
    let count = 0
    for (const lane of this.#lanes) {
      for (let ready = lane.first; ready !== null; ready = ready.after) {
        if (isMeant(ready as R)) count++
      }
    }
    return count
  }

  /** Up to `max`, in turn. */
  drain(max: number): R[] {
    const out: R[] = []
    while (out.length < max) {
      const ready = this.take()
      if (ready === undefined) break
      out.push(ready)
    }
    return out
  }

  #handOut(ready: Ready | null): R | undefined {
    if (ready === null) return undefined
    this.unregister(ready as R)
    return ready as R
  }
}
