/**
 * What deleted queues have left. Whoever waits at one is told; then its records go, some at a time, and its entry
 * in the catalog last, so that a crash in between is made good at the next start.
 */
import { Accident, fault } from '../std/index.ts'
import type { QueueFault } from './broker.ts'
import type { Catalog } from './catalog.ts'
import type { Queues } from './queues.ts'
import { TASKS, tasksPrefix } from './redriving.ts'
import { dedupsOf, messagesOf, notesOf, type Entry, type Shared } from './premises.ts'

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
    const { id, name } = entry
    await this.#queues.end(id, fault('queue-deleted', `the queue ${name.name} was deleted`))
    this.#queues.putAway(entry)
    this.#shared.awake.delete(entry.id)
    await this.#clear(messagesOf(id), '')
    await this.#clear(notesOf(id), '')
    await this.#clear(dedupsOf(id), '')
    await this.#clear(TASKS, tasksPrefix(id))
    sure(await this.#catalog.change(() => this.#catalog.remove(entry)))
  }

  async #clear(collection: string, prefix: string): Promise<void> {
    const { journal, committing } = this.#shared
    for (;;) {
      sure(this.#queues.isShut)
      const page = await journal.readRecords(collection, prefix, { limit: PAGE })
      if (page.length === 0) return
      const records = page.map(({ key }) => ({ collection, key, deleted: true }) as const)
      sure(await committing.commit(records))
    }
  }
}

function sure(refusal: QueueFault | undefined): void {
  if (refusal !== undefined) throw new Accident(refusal)
}
