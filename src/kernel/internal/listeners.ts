/** Whoever wants to hear of something. One that throws is logged and the others still hear. */
import type { Log } from '../../std/index.ts'

export class Listeners<T> {
  readonly #log: Log
  readonly #listeners = new Set<(value: T) => void>()

  constructor(log: Log) {
    this.#log = log
  }

  get size(): number {
    return this.#listeners.size
  }

  /** The answer takes it off again. */
  add(listener: (value: T) => void): () => boolean {
    const own = (value: T): void => listener(value)
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }

  emit(value: T): void {
    for (const listener of this.#listeners) {
      try {
        listener(value)
      } catch (error) {
        this.#log.error('a listener threw', { error })
      }
    }
  }
}
