/** Who waits for which signal. A sticky signal is kept for the next one to wait. */
import { Accident, fault } from '../../std/index.ts'

/** Sticky signals that may be kept at once. */
export const STICKY_SIGNALS_MAX = 10_000

export class Signals {
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #sticky = new Set<string>()

  /** Calls `fire` at the next signal; the answer forgets it again. */
  wait(key: string, fire: () => void): () => void {
    if (this.#sticky.delete(key)) {
      fire()
      return () => undefined
    }
    let waiting = this.#waiting.get(key)
    if (waiting === undefined) this.#waiting.set(key, (waiting = new Set()))
    waiting.add(fire)
    return () => {
      waiting.delete(fire)
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key)
    }
  }

  /** Wakes all who wait for `key`, in the order they came; says how many. */
  send(key: string, sticky: boolean): number {
    const waiting = this.#waiting.get(key)
    if (waiting === undefined) {
      if (sticky) this.#keep(key)
      return 0
    }
    this.#waiting.delete(key)
    const count = waiting.size
    for (const fire of waiting) fire()
    return count
  }

  #keep(key: string): void {
    if (this.#sticky.size >= STICKY_SIGNALS_MAX && !this.#sticky.has(key)) {
      throw new Accident(
        fault('too-many-signals', `the sticky signal ${key} cannot be kept`, {
          actor: '/',
          key,
          limit: STICKY_SIGNALS_MAX,
          remedy: 'let an actor wait for the signals that were sent, or send without sticky',
        }),
      )
    }
    this.#sticky.add(key)
  }
}
