/**
 * Subscriptions: readers that go on reading.
 *
 * A subscription owns no buffer. It reads a page behind the last event that was handled, waits for the
 * handler, and reads on; where there is nothing to read it waits until something was committed. So it
 * sees each event once and in order because a journal's positions have no gap, and it is slow at its
 * own cost only.
 */
import { checkPage, checkPlace } from './checking.ts'
import type { Journal, StoredEvent, SubscribeOptions, Subscription } from './journal.ts'

/** The subscriptions of one journal. */
export class Subscriptions {
  readonly #readAll: Journal['readAll']
  readonly #open = new Set<Reader>()

  constructor(readAll: Journal['readAll']) {
    this.#readAll = readAll
  }

  add(options: SubscribeOptions): Subscription {
    const reader: Reader = new Reader(this.#readAll, options, () => this.#open.delete(reader))
    this.#open.add(reader)
    return reader
  }

  /** Something was committed: whoever waits reads on. */
  wake(): void {
    for (const reader of this.#open) reader.wake()
  }

  /** Ends them all, each after the page it has in hand. */
  close(): void {
    for (const reader of this.#open) void reader.close()
  }
}

class Reader implements Subscription {
  readonly ended: Promise<void>
  readonly #readAll: Journal['readAll']
  readonly #handle: SubscribeOptions['handle']
  readonly #limit: number
  #position: number
  #isClosed = false
  /** Whether something was committed since the last page was asked for. */
  #isStale = false
  #onStale: (() => void) | undefined

  constructor(readAll: Journal['readAll'], options: SubscribeOptions, onEnded: () => void) {
    this.#readAll = readAll
    this.#handle = options.handle
    this.#limit = checkPage(options)
    this.#position = checkPlace(options)
    this.ended = this.#run().finally(onEnded)
  }

  get position(): number {
    return this.#position
  }

  wake(): void {
    this.#isStale = true
    this.#onStale?.()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.wake()
    await this.ended.catch(() => undefined) // whoever looks at `ended` is told why
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #run(): Promise<void> {
    for (;;) {
      if (this.#isClosed) return
      this.#isStale = false
      const events = await this.#page()
      if (this.#isClosed) return
      if (events.length > 0) await this.#deal(events)
      else await this.#staleness()
    }
  }

  /** A journal that is closed meanwhile has nothing to say to a subscription that is closed with it. */
  async #page(): Promise<readonly StoredEvent[]> {
    try {
      return await this.#readAll({ after: this.#position, limit: this.#limit })
    } catch (error) {
      if (this.#isClosed) return []
      throw error
    }
  }

  async #deal(events: readonly StoredEvent[]): Promise<void> {
    await this.#handle(events)
    this.#position = events.at(-1)!.position
  }

  #staleness(): Promise<void> {
    if (this.#isStale) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onStale = () => {
        this.#onStale = undefined
        resolve()
      }
    })
  }
}
