/**
 * A clock that is turned by hand.
 *
 * Time stands still until somebody moves it. Timers run in the order of their due times, equals in
 * the order they were set, and each finds the clock at the time it was due or later, never earlier.
 */
import {
  Accident,
  assert,
  fault,
  Heap,
  type Clock,
  type HeapItem,
  type Timer,
} from '../std/index.ts'

export interface VirtualClock extends Clock {
  /** When the next timer is due, in monotonic milliseconds; undefined where none waits. */
  readonly next: number | undefined
  /** Moves time by `ms` and runs what comes due on the way, each at its own time. */
  advance(ms: number): void
  /** Moves time by `ms` and runs nothing: what came due meanwhile is late. */
  pass(ms: number): void
  /** Runs one timer that is due, the earliest; `choose` picks among equals. False where none is due. */
  fire(choose?: (count: number) => number): boolean
}

export type VirtualClockOptions = Readonly<{
  /** What `now()` says at the beginning. */
  now?: number
}>

/** The first instant of 2026, UTC. */
const NOW_DEFAULT = 1_767_225_600_000

/** Timers that may run without time going on, before the clock is said to be stuck. */
const INSTANT_TIMERS_MAX = 100_000

export function virtualClock(options: VirtualClockOptions = {}): VirtualClock {
  return new HandTurned(options.now ?? NOW_DEFAULT)
}

class Pending implements HeapItem {
  heapIndex = -1
  readonly dueMs: number
  readonly order: number
  readonly callback: () => void

  constructor(dueMs: number, order: number, callback: () => void) {
    this.dueMs = dueMs
    this.order = order
    this.callback = callback
  }
}

class HandTurned implements VirtualClock {
  readonly #startedAt: number
  readonly #pending = new Heap<Pending>(
    (a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order),
  )
  #ms = 0
  #order = 0
  #turning = false

  constructor(startedAt: number) {
    this.#startedAt = startedAt
  }

  now(): number {
    return this.#startedAt + this.#ms
  }

  monotonic(): number {
    return this.#ms
  }

  setTimer(dueMs: number, callback: () => void): Timer {
    assert(!Number.isNaN(dueMs), 'a timer is due at a number')
    const pending = new Pending(dueMs, this.#order++, callback)
    if (dueMs !== Infinity) this.#pending.push(pending) // else it never comes due
    return { cancel: () => void this.#pending.remove(pending) }
  }

  get next(): number | undefined {
    return this.#pending.peek()?.dueMs
  }

  advance(ms: number): void {
    assert(!this.#turning, 'a timer does not turn the clock that runs it')
    refuseUnlessDuration(ms)
    const target = this.#ms + ms
    this.#turning = true
    try {
      this.#runUntil(target)
    } finally {
      this.#turning = false
    }
    this.#ms = Math.max(this.#ms, target)
  }

  pass(ms: number): void {
    refuseUnlessDuration(ms)
    this.#ms += ms
  }

  fire(choose?: (count: number) => number): boolean {
    const first = this.#pending.peek()
    if (first === undefined || first.dueMs > this.#ms) return false
    const chosen = choose === undefined ? this.#pending.pop() : this.#pickEqual(first.dueMs, choose)
    chosen?.callback()
    return true
  }

  #runUntil(target: number): void {
    let atOnce = 0
    for (let due = this.next; due !== undefined && due <= target; due = this.next) {
      if (due > this.#ms) {
        this.#ms = due
        atOnce = 0
      }
      if (++atOnce > INSTANT_TIMERS_MAX) throw stuck(this.#ms)
      this.fire()
    }
  }

  #pickEqual(dueMs: number, choose: (count: number) => number): Pending | undefined {
    const equals: Pending[] = []
    while (this.#pending.peek()?.dueMs === dueMs) equals.push(this.#pending.pop()!)
    const chosen = equals[equals.length === 1 ? 0 : choose(equals.length)]
    for (const other of equals) if (other !== chosen) this.#pending.push(other)
    return chosen
  }
}

function refuseUnlessDuration(ms: number): void {
  if (Number.isFinite(ms) && ms >= 0) return
  throw new Accident(
    fault('bad-option', `a clock cannot be turned by ${ms} ms`, {
      option: 'ms',
      given: ms,
      remedy: 'give a finite number of milliseconds from 0',
    }),
  )
}

function stuck(atMs: number): Accident {
  return new Accident(
    fault('clock-stuck', `timers set timers at ${atMs} ms and time does not go on`, {
      atMs,
      limit: INSTANT_TIMERS_MAX,
      remedy: 'let a timer that sets itself anew be due later than now',
    }),
  )
}
