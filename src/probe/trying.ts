/**
 * Tries again what may go better next time, and stops asking what is down.
 *
 *   closed --given up on, several times in a row--> open --pause over--> one try --answered--> closed
 *                                                    ^--------------- failed again ----'
 *
 * Only an accident that says of itself that it is transient is tried again, and only such accidents
 * count against a dependency: one that refuses a wrong name or a wrong key is in good health. Pauses
 * grow and are scattered, so that many who failed together do not come back together.
 */
import { Accident, type Clock, type Random } from '../std/index.ts'

export interface Trying {
  /** Throws the last failure; a dependency that is known to be down is not asked, and its last failure is thrown. */
  run<T>(
    dependency: string,
    act: () => Promise<T>,
    options: Readonly<{ signal: AbortSignal }>,
  ): Promise<T>
  /** Whether the dependency is left alone; for metrics. */
  isLeftAlone(dependency: string): boolean
}

export type TryingOptions = Readonly<{ clock: Clock; random: Random }>

export const ATTEMPTS_MAX = 4
export const PAUSE_FIRST_MS = 200
export const PAUSE_MS_MAX = 10_000
/** How often in a row, whoever asks, until a dependency is left alone. */
export const BREAKER_FAILURES_MAX = 5
export const BREAKER_OPEN_MS = 30_000

export function createTrying({ clock, random }: TryingOptions): Trying {
  const breakers = new Map<string, Breaker>()

  return {
    async run(dependency, act, { signal }) {
      const breaker = breakers.get(dependency) ?? new Breaker(dependency, clock)
      breakers.set(dependency, breaker)
      signal.throwIfAborted()
      const attempts = breaker.admit() === 'test' ? 1 : ATTEMPTS_MAX
      for (let attempt = 1; ; attempt++)
        try {
          const answer = await act()
          breaker.answered()
          return answer
        } catch (error) {
          if (signal.aborted) {
            breaker.untold()
            throw error
          }
          if (!isTransient(error)) {
            breaker.answered()
            throw error
          }
          if (attempt === attempts) {
            breaker.failed(error)
            throw error
          }
          await pause(clock, pauseMs(attempt, error), signal).catch((reason: unknown) => {
            breaker.untold()
            throw reason
          })
        }
    },

    isLeftAlone: (dependency) => breakers.get(dependency)?.isOpen === true,
  }

  /** At least what the dependency asked for, as far as anybody waits that long. */
  function pauseMs(attempt: number, error: Accident): number {
    const growing = Math.min(PAUSE_FIRST_MS * 2 ** (attempt - 1), PAUSE_MS_MAX)
    const asked = error.detail['retryAfterMs']
    const leastMs = typeof asked === 'number' ? Math.min(asked, PAUSE_MS_MAX) : 0
    return Math.max(growing * (0.5 + random.next() / 2), leastMs)
  }
}

export function isTransient(error: unknown): error is Accident {
  return error instanceof Accident && error.detail['isTransient'] === true
}

class Breaker {
  readonly #dependency: string
  readonly #clock: Clock
  #failures = 0
  #last: Accident | undefined
  #openUntil = -Infinity
  #isTesting = false

  constructor(dependency: string, clock: Clock) {
    this.#dependency = dependency
    this.#clock = clock
  }

  get isOpen(): boolean {
    return this.#failures >= BREAKER_FAILURES_MAX
  }

  /** One at a time finds out whether an open one can be closed. */
  admit(): 'ask' | 'test' {
    if (!this.isOpen || this.#last === undefined) return 'ask'
    const leftMs = Math.max(Math.ceil(this.#openUntil - this.#clock.monotonic()), 0)
    if (leftMs > 0 || this.#isTesting) throw this.#leftAlone(this.#last, leftMs)
    this.#isTesting = true
    return 'test'
  }

  answered(): void {
    this.#failures = 0
    this.#last = undefined
    this.#isTesting = false
  }

  /** Whoever asked went away before the dependency could show anything. */
  untold(): void {
    this.#isTesting = false
  }

  failed(error: Accident): void {
    this.#failures += 1
    this.#last = error
    this.#isTesting = false
    this.#openUntil = this.#clock.monotonic() + BREAKER_OPEN_MS
  }

  #leftAlone({ fault: last }: Accident, leftMs: number): Accident {
    return new Accident({
      ...last,
      message: `${this.#dependency} is left alone after ${this.#failures} failures: ${last.message}`,
      detail: { ...last.detail, retryAfterMs: leftMs },
    })
  }
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(clock.monotonic() + ms, () => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    })
    signal.addEventListener('abort', onAbort, { once: true })
    function onAbort(): void {
      timer.cancel()
      reject(signal.reason)
    }
  })
}
