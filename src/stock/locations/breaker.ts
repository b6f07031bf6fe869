/**
 * A circuit breaker: whoever keeps failing is left alone for a while.
 *
 *   closed --so many failures in a row--> open --quiet period over--> trial --success--> closed
 *                                          '<--------- failure --------'
 *
 * Every attempt is counted. Of a trial there is one: everybody else is refused until it has ended. What
 * became of an attempt that was let through before the state changed says nothing about now.
 */
import { assert, type Clock } from '../../std/index.ts'

/** Failures in a row that open it. */
export const BREAKER_FAILURES_DEFAULT = 5
/** How long it stays open. */
export const BREAKER_QUIET_MS_DEFAULT = 60_000

export type BreakerState = 'closed' | 'open' | 'trial'

export class Breaker {
  readonly #clock: Clock
  readonly #failuresMax: number
  readonly #quietMs: number
  readonly #onChange: (state: BreakerState) => void
  #state: BreakerState = 'closed'
  #failures = 0
  #untilMs = 0
  /** Counts changes of state. */
  #era = 0

  constructor(
    clock: Clock,
    failuresMax: number,
    quietMs: number,
    onChange: (state: BreakerState) => void = () => undefined,
  ) {
    assert(failuresMax >= 1 && quietMs > 0, 'a breaker has a threshold and a quiet period')
    this.#clock = clock
    this.#failuresMax = failuresMax
    this.#quietMs = quietMs
    this.#onChange = onChange
  }

  get state(): BreakerState {
    return this.#state
  }

  /** A ticket for one attempt, to be given back with what became of it; undefined if there is none. */
  admit(): number | undefined {
    if (this.#state === 'open' && this.#clock.monotonic() >= this.#untilMs) this.#become('trial')
    else if (this.#state !== 'closed') return undefined
    return this.#era
  }

  succeeded(ticket: number): void {
    if (ticket !== this.#era) return
    this.#failures = 0
    if (this.#state !== 'closed') this.#become('closed')
  }

  failed(ticket: number): void {
    if (ticket !== this.#era) return
    this.#failures += 1
    if (this.#state !== 'trial' && this.#failures < this.#failuresMax) return
    this.#untilMs = this.#clock.monotonic() + this.#quietMs
    this.#failures = 0
    this.#become('open')
  }

  #become(state: BreakerState): void {
    this.#state = state
    this.#era += 1
    this.#onChange(state)
  }
}
