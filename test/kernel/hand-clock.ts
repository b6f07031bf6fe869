/** A clock that the program turns. */
import type { Clock, Timer } from '../../src/std/index.ts'

export class HandClock implements Clock {
  #now = 0
  #timers: { readonly due: number; readonly callback: () => void }[] = []

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  setTimer(due: number, callback: () => void): Timer {
    const timer = { due, callback }
    this.#timers.push(timer)
    return { cancel: () => void (this.#timers = this.#timers.filter((each) => each !== timer)) }
  }

  /** Runs what comes due on the way, the earliest first, each at its own time. */
  advance(ms: number): void {
    const until = this.#now + ms
    for (;;) {
      const due = this.#timers.filter((timer) => timer.due <= until)
      const next = due.toSorted((a, b) => a.due - b.due)[0]
      if (next === undefined) break
      this.#timers = this.#timers.filter((each) => each !== next)
      this.#now = Math.max(this.#now, next.due)
      next.callback()
    }
    this.#now = until
  }
}
