/**
 * Names handlers that take too long.
 *
 * Async ones are found by a sweep over the cells that wait: one that is still at
 * the same handler two sweeps later is named, once. No clock is read a message,
 * and nothing runs while nobody waits. Handlers that hold the thread are found by
 * the watchdog, from outside.
 */
import type { Waiting } from './awaiting.ts'
import type { Core } from './core.ts'
import { TimerEntry } from './timer-queue.ts'

/** A turn that takes longer is named. */
export const SLOW_TURN_MS_DEFAULT = 1_000

export class SlowTurns {
  readonly #core: Core
  readonly #ms: number
  readonly #waiting = new Map<Waiting, number>()
  readonly #sweep: TimerEntry

  constructor(core: Core, ms: number) {
    this.#core = core
    this.#ms = ms
    this.#sweep = new TimerEntry(() => this.#look())
  }

  watch(waiting: Waiting): void {
    if (waiting.watched) return
    waiting.watched = true
    this.#waiting.set(waiting, waiting.turn)
    if (this.#sweep.heapIndex < 0) this.#core.timers.set(this.#sweep, this.#ms)
  }

  forget(waiting: Waiting): void {
    waiting.watched = false
    this.#waiting.delete(waiting)
  }

  /** For the watchdog: a turn that held the thread. */
  report(path: string, facts: Readonly<Record<string, unknown>>): void {
    const { metrics, tracer, log } = this.#core
    metrics.slowTurns++
    log.warn('a turn takes long', { actor: path, ...facts })
    if (tracer.active) tracer.write(path, 'slow-turn', facts)
  }

  #look(): void {
    for (const [waiting, turn] of this.#waiting) {
      if (waiting.promise === null) {
        this.forget(waiting)
      } else if (waiting.turn !== turn) {
        this.#waiting.set(waiting, waiting.turn)
      } else if (waiting.named !== turn) {
        waiting.named = turn
        this.report(waiting.cell.path, { kind: 'async', overMs: this.#ms })
      }
    }
    if (this.#waiting.size > 0) this.#core.timers.set(this.#sweep, this.#ms)
  }
}
