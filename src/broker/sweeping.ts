/**
 * What deleted queues have left. Whoever waits at one is told; then its records go, some at a time, and its entry
 * in the catalog last, so that a crash in between is made good at the next start.
 */
import { fault } from '../std/index.ts'
import type { Catalog } from './catalog.ts'
import type { Queues } from './queues.ts'
import { dedupsOf, messagesOf, notesOf, type Entry, type Shared } from './shared.ts'

/** Records that go at once. */
const PAGE = 1_000

export class Sweeping {
  readonly #shared: Shared
  readonly #catalog: Catalog
  readonly #queues: Queues
  readonly #sweeps = new Set<Promise<void>>()

  constructor(shared: Shared, catalog: Catalog, queues: Queues) {
    this.#shared = shared
    this.#catalog = catalog
    this.#queues = queues
  }

  /** Does not wait; what cannot be done is done after the next start. */
  add(entry: Entry): void {
    const sweep = this.#sweep(entry).catch((error: unknown) =>
      this.#shared.log.warn('what a deleted queue has left could not be deleted', {
        queue: entry.name.name,
        error: String(error),
      }),
    )
    this.#sweeps.add(sweep)
    void sweep.then(() => this.#sweeps.delete(sweep))
  }

  async ended(): Promise<void> {
    await Promise.all(this.#sweeps)
  }

  async #sweep(entry: Entry): Promise<void> {
    const { journal, fence } = this.#shared
    const { id, name } = entry
    await this.#queues.end(id, fault('queue-deleted', `the queue ${name.name} was deleted`))
    this.#queues.forget(id)
    for (const collection of [messagesOf(id), notesOf(id), dedupsOf(id)])
      while (!this.#queues.isClosing) {
        const page = await journal.readRecords(collection, '', { limit: PAGE })
        if (page.length === 0) break
        const records = page.map(({ key }) => ({ collection, key, deleted: true }) as const)
        await journal.commit({ records, fence })
      }
    if (!this.#queues.isClosing) await this.#catalog.change(() => this.#catalog.remove(entry))
  }
}
