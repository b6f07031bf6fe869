/**
 * Names handlers that take too long.
 *
 * Async ones are found by a sweep over the cells that wait, several times within the limit. A sweep
 * that finds a handler for the first time notes when; one that finds it there for the whole limit
 * names it, once. So nobody is named too early, and whoever takes a quarter longer than the limit is
 * named for sure, while no clock is read a message and nothing runs while nobody waits. Handlers
 * that hold the thread are found by the watchdog, from outside.
 */
import { TimerEntry } from '../../std/index.ts'
import type { Waiting } from './awaiting.ts'
import type { Core } from './core.ts'

/** A turn that takes longer is named. */
export const SLOW_TURN_MS_DEFAULT = 1_000

const SWEEPS = 4

/** A handler of a cell, by its number, and since when it is known to run. */
type Sighting = Readonly<{ turn: number; since: number }>

export class SlowTurns {
  readonly #core: Core
  readonly #ms: number
  readonly #waiting = new Map<Waiting, Sighting>()
  readonly #sweep: TimerEntry

  constructor(core: Core, ms: number) {
    this.#core = core
    this.#ms = ms
    this.#sweep = new TimerEntry(() => this.#look())
  }

  watch(waiting: Waiting): void {
    if (waiting.watched || this.#ms === Infinity) return
    waiting.watched = true
    this.#note(waiting, this.#core.clock.monotonic())
    if (this.#sweep.heapIndex < 0) this.#core.timers.set(this.#sweep, this.#ms / SWEEPS)
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

  #note(waiting: Waiting, since: number): void {
    this.#waiting.set(waiting, { turn: waiting.turn, since })
  }

  #look(): void {
    const now = this.#core.clock.monotonic()
    for (const [waiting, { turn, since }] of this.#waiting) {
      if (waiting.promise === null) {
        this.forget(waiting)
      } else if (waiting.turn !== turn) {
        this.#note(waiting, now)
      } else if (waiting.named !== turn && now - since >= this.#ms) {
        waiting.named = turn
        this.report(waiting.cell.path, { kind: 'async', overMs: this.#ms })
      }
    }
    if (this.#waiting.size > 0) this.#core.timers.set(this.#sweep, this.#ms / SWEEPS)
  }
}
