/**
 * Keyed timers. An expiry waits in the mailbox as a special that asks, when its
 * turn has come, whether it is still the one that counts; cancelling or setting
 * anew therefore also takes back an expiry that is queued.
 */
import { Accident, fault, TimerEntry } from '../../std/index.ts'
import type { Next } from '../behavior.ts'
import type { Timers } from '../timers.ts'
import { deliver, extrasOf, type Cell } from './cell.ts'
import type { Extras } from './extras.ts'
import { Special } from './special.ts'
import { ENDING } from './status.ts'

/** Keyed timers one actor may have running at once. */
export const TIMERS_MAX = 1_000

class Keyed extends Special {
  readonly message: unknown
  readonly entry: TimerEntry
  /** Waits in the mailbox. */
  queued = false
  cancelled = false
  readonly #extras: Extras
  readonly #incarnation: number
  readonly #over: (keyed: Keyed) => void

  constructor(extras: Extras, message: unknown, entry: TimerEntry, over: (keyed: Keyed) => void) {
    super()
    this.#extras = extras
    this.#incarnation = extras.incarnation
    this.message = message
    this.entry = entry
    this.#over = over
  }

  override get about(): unknown {
    return this.message
  }

  override get due(): boolean {
    return !this.cancelled && this.#extras.incarnation === this.#incarnation
  }

  override run(cell: Cell): Next<never> {
    this.queued = false
    this.#over(this)
    return cell.receive(cell, this.message as never)
  }
}

export class ActorTimers implements Timers<never> {
  readonly #cell: Cell
  readonly #running = new Map<string, Keyed>()

  constructor(cell: Cell) {
    this.#cell = cell
  }

  after(key: string, ms: number, message: never): void {
    this.#start(key, ms, message, undefined)
  }

  every(key: string, ms: number, message: never): void {
    this.#start(key, ms, message, ms)
  }

  cancel(key: string): void {
    const keyed = this.#running.get(key)
    if (keyed === undefined) return
    this.#running.delete(key)
    keyed.cancelled = true
    this.#cell.core.timers.cancel(keyed.entry)
  }

  isActive(key: string): boolean {
    return this.#running.has(key)
  }

  cancelAll(): void {
    for (const key of this.#running.keys()) this.cancel(key)
  }

  #start(key: string, ms: number, message: unknown, period: number | undefined): void {
    const cell = this.#cell
    if (!Number.isFinite(ms) || ms < 0 || period === 0) throw badDelay(cell, key, ms)
    this.cancel(key)
    if ((cell.status & ENDING) !== 0) return
    if (this.#running.size >= TIMERS_MAX) throw tooMany(cell)
    const { timers } = cell.core
    const entry = new TimerEntry(() => {
      if (!keyed.queued) {
        keyed.queued = true
        deliver(cell, keyed)
      }
      if (period !== undefined) timers.set(entry, period)
    })
    const keyed = new Keyed(extrasOf(cell), message, entry, () => {
      if (period === undefined && this.#running.get(key) === keyed) this.#running.delete(key)
    })
    this.#running.set(key, keyed)
    timers.set(entry, ms)
  }
}

function badDelay(cell: Cell, key: string, ms: number): Accident {
  return new Accident(
    fault('bad-option', `the timer ${key} of ${cell.path} cannot run for ${ms} ms`, {
      actor: cell.path,
      option: 'ms',
      given: ms,
      remedy: 'give a finite number of milliseconds, above 0 for a repeated timer',
    }),
  )
}

function tooMany(cell: Cell): Accident {
  return new Accident(
    fault('too-many-timers', `${cell.path} has ${TIMERS_MAX} timers and may have no more`, {
      actor: cell.path,
      limit: TIMERS_MAX,
      remedy: 'reuse a key, or keep a list and one timer for its next entry',
    }),
  )
}
