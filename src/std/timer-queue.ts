/**
 * Everything that waits for time in one place: one heap, one armed timer.
 *
 * Due times are whole milliseconds of the monotonic clock, rounded up, so a
 * timer is never early; among equals, first set is first fired.
 */
import { assert } from './assert.ts'
import type { Clock, Timer } from './clock.ts'
import { Heap, type HeapItem } from './heap.ts'

export class TimerEntry implements HeapItem {
  heapIndex = -1
  due = 0
  order = 0
  fire: () => void

  constructor(fire: () => void) {
    this.fire = fire
  }
}

export class TimerQueue {
  readonly #clock: Clock
  readonly #heap = new Heap<TimerEntry>(
    (a, b) => a.due < b.due || (a.due === b.due && a.order < b.order),
  )
  #order = 0
  #armed: Timer | null = null
  #armedDue = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#heap.size
  }

  /** Calls `fire` once, `ms` from now. */
  after(ms: number, fire: () => void): TimerEntry {
    const entry = new TimerEntry(fire)
    this.set(entry, ms)
    return entry
  }

  /** Sets or resets an entry to `ms` from now. */
  set(entry: TimerEntry, ms: number): void {
    assert(!Number.isNaN(ms), 'who sets a timer has checked its time')
    this.setAt(entry, this.#clock.monotonic() + Math.max(0, ms))
  }

  /** Sets or resets an entry to a time of the monotonic clock. */
  setAt(entry: TimerEntry, dueMs: number): void {
    if (entry.heapIndex >= 0) this.#heap.remove(entry)
    entry.due = Math.ceil(dueMs)
    entry.order = this.#order++
    this.#heap.push(entry)
    if (this.#armed === null || entry.due < this.#armedDue) this.#arm()
  }

  /** True where it had not fired yet. The armed timer stays: finding nothing due costs less than re-arming. */
  cancel(entry: TimerEntry): boolean {
    const pending = entry.heapIndex >= 0 && this.#heap.remove(entry)
    if (pending && this.#heap.size === 0) this.#disarm()
    return pending
  }

  #arm(): void {
    this.#disarm()
    const next = this.#heap.peek()
    if (next === undefined) return
    this.#armedDue = next.due
    this.#armed = this.#clock.setTimer(next.due, () => this.#expire())
  }

  #disarm(): void {
    this.#armed?.cancel()
    this.#armed = null
  }

  #expire(): void {
    this.#armed = null
    const now = this.#clock.monotonic()
    for (;;) {
      const next = this.#heap.peek()
      if (next === undefined || next.due > now) break
      this.#heap.pop()
      next.fire()
    }
    if (this.#armed === null) this.#arm()
  }

  /** Forgets everything: for a system that has stopped. */
  clear(): void {
    while (this.#heap.pop() !== undefined);
    this.#disarm()
  }
}
