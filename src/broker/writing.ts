/**
 * How a queue makes things durable: one batch of it is in flight at a time, and what is wanted meanwhile
 * gathers in the next. So a busy queue writes seldom and much, an idle one at once.
 *
 * What is wanted ends in the order in which it was wanted, each with `done` or with `failed`, and always within
 * a turn of the queue.
 */
import {
  BATCH_BYTES_MAX,
  BATCH_ITEMS_MAX,
  type Batch,
  type CommitResult,
  type Fence,
  type Journal,
  type RecordWrite,
} from '../journal/index.ts'
import { Accident, fault } from '../std/index.ts'
import type { QueueFault } from './broker.ts'

export type Wish = Readonly<{
  /** Messages: no key is wanted twice within one batch. */
  messages: readonly RecordWrite[]
  /** The rest, of which the last wish for a key counts. */
  notes: readonly RecordWrite[]
  bytes: number
  done: () => void
  failed: (reason: QueueFault) => void
}>

/** What a record costs beside its value. */
const RECORD_BYTES = 128

export class Writing {
  readonly #journal: Journal
  readonly #fence: Fence
  readonly #begin: (commit: Promise<CommitResult>) => void
  #wishes: Wish[] = []
  #inFlight: readonly Wish[] | undefined

  /** `begin` brings the outcome of a commit back into a turn: to `ended`, or to `broken`. */
  constructor(journal: Journal, fence: Fence, begin: (commit: Promise<CommitResult>) => void) {
    this.#journal = journal
    this.#fence = fence
    this.#begin = begin
  }

  get isIdle(): boolean {
    return this.#inFlight === undefined && this.#wishes.length === 0
  }

  add(wish: Wish): void {
    this.#wishes.push(wish)
  }

  /** At the end of every turn. */
  flush(): void {
    while (this.#inFlight === undefined && this.#wishes.length > 0) {
      const count = this.#fitting()
      const wishes = count === this.#wishes.length ? this.#wishes : this.#wishes.slice(0, count)
      this.#wishes = count === this.#wishes.length ? [] : this.#wishes.slice(count)
      const records = recordsOf(wishes)
      if (records.length === 0) {
        for (const wish of wishes) wish.done()
        continue
      }
      this.#inFlight = wishes
      const batch: Batch = { records, fence: this.#fence }
      this.#begin(this.#journal.commit(batch))
    }
  }

  ended(result: CommitResult): void {
    const wishes = this.#taken()
    if (result.type === 'committed') for (const wish of wishes) wish.done()
    else
      fail(wishes, fault('broker-closed', `the store has refused the broker: it is ${result.type}`))
  }

  broken(error: unknown): void {
    fail(this.#taken(), refusalOf(error))
  }

  /** Whoever has not been written is told, and nothing is begun any more. */
  abandon(reason: QueueFault): void {
    const wishes = this.#wishes
    this.#wishes = []
    fail(wishes, reason)
  }

  #taken(): readonly Wish[] {
    const wishes = this.#inFlight ?? []
    this.#inFlight = undefined
    return wishes
  }

  #fitting(): number {
    let items = 0
    let bytes = 0
    let count = 0
    for (const wish of this.#wishes) {
      const own = wish.messages.length + wish.notes.length
      items += own
      bytes += wish.bytes + own * RECORD_BYTES
      if (count > 0 && (items > BATCH_ITEMS_MAX || bytes > BATCH_BYTES_MAX)) break
      count++
    }
    return count
  }
}

function recordsOf(wishes: readonly Wish[]): readonly RecordWrite[] {
  const records: RecordWrite[] = []
  const notes = new Map<string, RecordWrite>()
  for (const wish of wishes) {
    for (const record of wish.messages) records.push(record)
    for (const note of wish.notes) notes.set(`${note.collection}/${note.key}`, note)
  }
  if (notes.size > 0) records.push(...notes.values())
  return records
}

function fail(wishes: readonly Wish[], reason: QueueFault): void {
  for (const wish of wishes) wish.failed(reason)
}

function refusalOf(error: unknown): QueueFault {
  if (!(error instanceof Accident)) throw error
  const { message, detail } = error.fault
  switch (error.code) {
    case 'read-only':
      return fault('store-read-only', message, detail)
    case 'journal-overloaded':
      return fault('broker-overloaded', message, detail)
    case 'journal-closed':
      return fault('broker-closed', message, detail)
    default:
      return fault('unknown-outcome', message, { ...detail, cause: error.code })
  }
}
