/**
 * Wall time that neither jumps nor goes back.
 *
 * It is read from the host once, when it is made, and then runs with the monotonic clock. Where the
 * host's wall time is found to be elsewhere since, because somebody set it or because the two run at
 * different rates, this one is drawn after it so slowly that nobody who waits for a time notices.
 */
import type { Clock } from './clock.ts'

/** How fast it may be drawn towards the host's wall time: half a millisecond in a second. */
export const STEADY_SLEW_SHARE_MAX = 0.0005
/** How often the host's wall time is looked at. */
const LOOK_MS = 1_000
/** So that a time which is computed and then waited for is not missed by a rounding error. */
const ROUNDING_MS = 0.001

export interface SteadyClock {
  /** Whole milliseconds since the epoch; never less than it said before. */
  now(): number
  /** When it will be `at`, in monotonic milliseconds, as far as can be said now. */
  monotonicAt(at: number): number
}

export function steadyClock(clock: Clock): SteadyClock {
  return new Slewed(clock)
}

class Slewed implements SteadyClock {
  readonly #clock: Clock
  /** What it was at `#mono`, and how far ahead of it the host was. */
  #wall: number
  #mono: number
  #ahead = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#wall = clock.now()
    this.#mono = clock.monotonic()
  }

  now(): number {
    const mono = this.#clock.monotonic()
    if (mono - this.#mono >= LOOK_MS) this.#look(mono)
    return Math.floor(this.#wallAt(mono) + ROUNDING_MS)
  }

  monotonicAt(at: number): number {
    const left = at - this.#wall
    const drawn = left - this.#ahead // by then, if that is not too fast
    const slew = Math.sign(this.#ahead) * STEADY_SLEW_SHARE_MAX
    const isDrawn = Math.abs(this.#ahead) <= STEADY_SLEW_SHARE_MAX * drawn
    return this.#mono + (isDrawn ? drawn : left / (1 + slew))
  }

  #wallAt(mono: number): number {
    const passed = mono - this.#mono
    const drawnMax = passed * STEADY_SLEW_SHARE_MAX
    return this.#wall + passed + Math.max(-drawnMax, Math.min(drawnMax, this.#ahead))
  }

  #look(mono: number): void {
    this.#wall = this.#wallAt(mono)
    this.#mono = mono
    this.#ahead = this.#clock.now() - this.#wall
  }
}
