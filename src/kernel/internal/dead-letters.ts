/**
 * Where mail ends that nobody will read: counted by reason, the last few kept,
 * and shown to whoever listens.
 */
import { Deque } from '../../std/index.ts'
import type { Core } from './core.ts'
import { Listeners } from './listeners.ts'
import { isSpecial } from './special.ts'

/** Dead letters kept for inspection. */
export const DEAD_LETTERS_KEPT_MAX = 100

export type DeadLetterReason =
  | 'stopped'
  | 'mailbox-full'
  | 'dropped-oldest'
  | 'dropped-newest'
  | 'backpressure-cycle'
  | 'outbox-full'
  | 'invalid-message'
  | 'stale-address'
  | 'stale-incarnation'
  | 'late-reply'

export type DeadLetter = Readonly<{
  reason: DeadLetterReason
  /** Whom it was for. */
  path: string
  message: unknown
  /** Monotonic milliseconds of the system's clock. */
  at: number
}>

export class DeadLetterOffice {
  readonly #core: Core
  readonly #kept = new Deque<DeadLetter>()
  readonly #listeners: Listeners<DeadLetter>

  constructor(core: Core) {
    this.#core = core
    this.#listeners = new Listeners(core.log)
  }

  add(path: string, mail: unknown, reason: DeadLetterReason): void {
    const { metrics, clock, tracer } = this.#core
    metrics.deadLetters.set(reason, (metrics.deadLetters.get(reason) ?? 0) + 1)
    const message = isSpecial(mail) ? mail.about : mail
    const letter = { reason, path, message, at: clock.monotonic() }
    this.#kept.pushBack(letter)
    if (this.#kept.length > DEAD_LETTERS_KEPT_MAX) this.#kept.popFront()
    this.#listeners.emit(letter)
    if (tracer.active) tracer.write(path, 'dead-letter', { reason, message })
  }

  get recent(): readonly DeadLetter[] {
    return [...this.#kept]
  }

  subscribe(listener: (letter: DeadLetter) => void): () => void {
    const remove = this.#listeners.add(listener)
    return () => void remove()
  }
}
