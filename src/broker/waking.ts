/**
 * Queues that have something to do though nobody asks them: after a start, messages are due, grow old or were
 * delivered too often in queues that nobody speaks to. One after the other is looked at, and woken if there is a
 * message in it; an empty one is left asleep and costs nothing. The broker answers meanwhile.
 */
import { Accident } from '../std/index.ts'
import type { QueueFault } from './broker.ts'
import type { Catalog } from './catalog.ts'
import type { Queues } from './queues.ts'
import { messagesOf, type Shared } from './premises.ts'

export class Waking {
  readonly #shared: Shared
  readonly #catalog: Catalog
  readonly #queues: Queues
  /** Settles when all have been looked at. */
  ended: Promise<void> = Promise.resolve()

  constructor(shared: Shared, catalog: Catalog, queues: Queues) {
    this.#shared = shared
    this.#catalog = catalog
    this.#queues = queues
  }

  begin(): void {
    this.ended = this.#wakeAll()
  }

  async #wakeAll(): Promise<void> {
    for (const { id } of this.#catalog.all()) {
      if (this.#queues.isShut !== undefined) return
      try {
        await this.wake(id, true)
      } catch (error) {
        if (!(error instanceof Accident)) throw error
        this.#shared.log.warn('a queue could not be looked at', { id, error: error.message })
      }
    }
  }

  /** Settles when it has read what is on record. */
  async wake(id: number, onlyIfFull: boolean): Promise<void> {
    const entry = this.#catalog.byId(id)
    if (entry === undefined || entry.isDeleting || this.#queues.isShut !== undefined) return
    if (onlyIfFull) {
      if (this.#queues.byId(id) !== undefined) return
      const { journal } = this.#shared
      const [first] = await journal.readRecords(messagesOf(id), '', { limit: 1 })
      if (first === undefined) return
    }
    const queue = await this.#queues.wake(entry)
    if ('ok' in queue) return
    await this.#queues.ask<true | QueueFault>(queue, (replyTo) => ({ type: 'wake', replyTo }))
  }
}
