/** An inbox in a world: what it expects may still be on its way, so expecting turns virtual time. */
import type { Ended, Ref, Refusal, Watchable } from '../kernel/index.ts'
import type { Inbox } from './inbox.ts'

/** How much virtual time an expectation waits unless it says otherwise. */
const WITHIN_MS_DEFAULT = 1_000

export type Within = Readonly<{ withinMs?: number }>

export interface WorldInbox<T> extends Ref<T>, Watchable {
  /** What was told and not taken yet. */
  readonly messages: readonly T[]
  /** The next message, turning time until it arrives; rejects with `inbox-empty` when the time is over. */
  take(options?: Within): Promise<T>
  /** Takes the next message, turning time until it arrives, and rejects unless it equals `message`. */
  expect(message: T, options?: Within): Promise<void>
  /** Turns time by `forMs`, 0 unless said otherwise, and rejects if a message arrives. */
  expectEmpty(options?: Readonly<{ forMs?: number }>): Promise<void>
  /** Ends it, as an actor ends: watchers learn of it, and what is told later is refused. */
  end(cause?: Ended['cause'], error?: unknown): void
}

/** What an inbox takes from its world. */
export type InboxHost = Readonly<{
  /** Turns the world until `goal` holds, but not beyond `withinMs`. */
  turn: (goal: () => boolean, withinMs: number) => Promise<void>
  onReceived: (path: string, message: unknown) => void
}>

export class InboxOfWorld<T> implements WorldInbox<T> {
  readonly #inbox: Inbox<T>
  readonly #host: InboxHost

  constructor(box: Inbox<T>, host: InboxHost) {
    this.#inbox = box
    this.#host = host
  }

  get path(): string {
    return this.#inbox.path
  }

  get messages(): readonly T[] {
    return this.#inbox.messages
  }

  tell(message: T): Refusal | undefined {
    const refusal = this.#inbox.tell(message)
    if (refusal === undefined) this.#host.onReceived(this.path, message)
    return refusal
  }

  async take(options: Within = {}): Promise<T> {
    await this.#arrival(options.withinMs ?? WITHIN_MS_DEFAULT)
    return this.#inbox.take()
  }

  async expect(message: T, options: Within = {}): Promise<void> {
    await this.#arrival(options.withinMs ?? WITHIN_MS_DEFAULT)
    this.#inbox.expect(message)
  }

  async expectEmpty(options: Readonly<{ forMs?: number }> = {}): Promise<void> {
    await this.#arrival(options.forMs ?? 0)
    this.#inbox.expectEmpty()
  }

  onEnd(listener: (ended: Ended) => void): () => void {
    return this.#inbox.onEnd(listener)
  }

  end(cause?: Ended['cause'], error?: unknown): void {
    this.#inbox.end(cause, error)
  }

  #arrival(withinMs: number): Promise<void> {
    return this.#host.turn(() => this.#inbox.messages.length > 0, withinMs)
  }
}
