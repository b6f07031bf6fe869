/**
 * How a queue makes things durable: one batch of it is in flight at a time, and what is wanted meanwhile
 * gathers in the next. So a busy queue writes seldom and much, an idle one at once.
 *
 * What is wanted ends in the order in which it was wanted, each with `done` or with `failed`, and always within
 * a turn of the queue.
 */
import { BATCH_BYTES_MAX, BATCH_ITEMS_MAX, type RecordWrite } from '../journal/index.ts'
import type { QueueFault } from './broker.ts'
import type { Committing } from './committing.ts'

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
  readonly #committing: Committing
  readonly #begin: (commit: Promise<QueueFault | undefined>) => void
  #wishes: Wish[] = []
  #inFlight: readonly Wish[] | undefined
  /** What is wanted and not durable, in bytes. */
  bytes = 0

  /** `begin` brings the outcome of a commit back into a turn: to `ended`. */
  constructor(committing: Committing, begin: (commit: Promise<QueueFault | undefined>) => void) {
    this.#committing = committing
    this.#begin = begin
  }

  get isIdle(): boolean {
    return this.#inFlight === undefined && this.#wishes.length === 0
  }

  /** Whether a batch goes out with the next flush, so that more can go with it. */
  get isAboutToWrite(): boolean {
    return this.#inFlight === undefined && this.#wishes.length > 0
  }

  add(wish: Wish): void {
    this.#wishes.push(wish)
    this.bytes += wish.bytes
  }

  /** At the end of every turn. */
  flush(): void {
    while (this.#inFlight === undefined && this.#wishes.length > 0) {
      const count = this.#fitting()
      const wishes = count === this.#wishes.length ? this.#wishes : this.#wishes.slice(0, count)
      this.#wishes = count === this.#wishes.length ? [] : this.#wishes.slice(count)
      const records = recordsOf(wishes)
      this.#inFlight = wishes
      if (records.length > 0) this.#begin(this.#committing.commit(records))
      else this.ended(undefined)
    }
  }

  ended(refusal: QueueFault | undefined): void {
    const wishes = this.#inFlight ?? []
    this.#inFlight = undefined
    for (const wish of wishes) {
      this.bytes -= wish.bytes
      if (refusal === undefined) wish.done()
      else wish.failed(refusal)
    }
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

/** The messages first: whether the batch is there can be told by any of them, and by no note. */
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
