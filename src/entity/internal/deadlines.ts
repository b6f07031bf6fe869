/**
 * The deadlines of those who ask.
 *
 * Nearly everybody is answered within milliseconds. A young one is only noted; it gets a place among
 * the timers when it has waited for a tick, which is long before its deadline. So a deadline is
 * neither early nor late, and costs nothing where it is not needed.
 */
import { TimerEntry, type Clock, type TimerQueue } from '../../std/index.ts'
import type { Caller } from './request.ts'

const TICK_MS = 8

export class Deadlines {
  readonly #clock: Clock
  readonly #timers: TimerQueue
  readonly #tick: TimerEntry
  #young: Caller[] = []

  constructor(clock: Clock, timers: TimerQueue) {
    this.#clock = clock
    this.#timers = timers
    this.#tick = new TimerEntry(() => this.#onTick())
  }

  add(caller: Caller, ms: number): void {
    if (ms <= TICK_MS) {
      this.#timers.set(caller, ms)
      return
    }
    caller.due = Math.ceil(this.#clock.monotonic() + ms)
    if (this.#young.length === 0) this.#timers.set(this.#tick, TICK_MS)
    this.#young.push(caller)
  }

  #onTick(): void {
    const grown = this.#young
    this.#young = []
    for (const caller of grown)
      if (caller.reject !== undefined) this.#timers.setAt(caller, caller.due)
  }
}
