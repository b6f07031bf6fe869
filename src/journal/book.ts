/**
 * Everything a journal holds, in memory.
 *
 * The book says nothing about whether a batch may be entered: that is judged before, against a draft.
 * Entering is synchronous and whole, so whoever reads between two turns sees no half of a batch. The
 * times in the ledger never go back, whatever the clock does: so the oldest answers are the first.
 */
import type {
  Batch,
  LedgerEntry,
  NewEvent,
  RecordWrite,
  Snapshot,
  SnapshotWrite,
  StoredAnswer,
  StoredEvent,
  StoredRecord,
  StreamHead,
} from './journal.ts'
import { SortedMap } from './sorted-map.ts'
import { isForgotten, type View } from './verdict.ts'

export class Book implements View {
  readonly #all: StoredEvent[] = []
  readonly #streams = new SortedMap<StoredEvent[]>()
  readonly #collections = new Map<string, SortedMap<string>>()
  /** In the order in which they were given. */
  readonly #answers = new Map<string, StoredAnswer>()
  /** By stream and fold, the longest history first. */
  readonly #snapshots = new Map<string, Snapshot[]>()
  readonly #fences = new Map<string, number>()

  get position(): number {
    return this.#all.length
  }

  version(stream: string): number {
    return this.#streams.get(stream)?.length ?? 0
  }

  answer(key: string): StoredAnswer | undefined {
    return this.#answers.get(key)
  }

  token(fence: string): number {
    return this.#fences.get(fence) ?? 0
  }

  enter(batch: Batch, at: number): void {
    const first = this.position + 1
    for (const { stream, events } of batch.streams ?? []) this.#append(stream, events, first)
    for (const write of batch.records ?? []) this.#write(write)
    for (const entry of batch.ledger ?? []) this.#remember(entry, at)
    for (const write of batch.snapshots ?? []) this.#keep(write)
  }

  takeFence(name: string): void {
    this.#fences.set(name, this.token(name) + 1)
  }

  /** Forgets what was answered longer ago than answers are kept. */
  forget(now: number, retentionMs: number): void {
    for (const [key, { at }] of this.#answers) {
      if (!isForgotten(at, now, retentionMs)) return
      this.#answers.delete(key)
    }
  }

  all(after: number, limit: number): StoredEvent[] {
    return this.#all.slice(after, after + limit)
  }

  stream(name: string, after: number, limit: number): StoredEvent[] {
    return this.#streams.get(name)?.slice(after, after + limit) ?? []
  }

  streams(prefix: string, after: string | undefined, limit: number): StreamHead[] {
    return this.#streams
      .page(prefix, after, limit)
      .map(([stream, events]) => ({ stream, version: events.length }))
  }

  records(
    collection: string,
    prefix: string,
    after: string | undefined,
    limit: number,
  ): StoredRecord[] {
    const found = this.#collections.get(collection)?.page(prefix, after, limit) ?? []
    return found.map(([key, value]) => ({ key, value }))
  }

  record(collection: string, key: string): StoredRecord | undefined {
    const value = this.#collections.get(collection)?.get(key)
    return value === undefined ? undefined : { key, value }
  }

  snapshots(stream: string, fold: string): readonly Snapshot[] {
    return this.#snapshots.get(placeOf(stream, fold)) ?? []
  }

  #append(stream: string, events: readonly NewEvent[], batch: number): void {
    if (events.length === 0) return
    let history = this.#streams.get(stream)
    if (history === undefined) this.#streams.set(stream, (history = []))
    for (const event of events) {
      const stored = {
        ...only(event),
        stream,
        seq: history.length + 1,
        position: this.#all.length + 1,
        batch,
      }
      history.push(stored)
      this.#all.push(stored)
    }
  }

  #write(write: RecordWrite): void {
    let records = this.#collections.get(write.collection)
    if ('deleted' in write) {
      records?.delete(write.key)
      return
    }
    if (records === undefined) this.#collections.set(write.collection, (records = new SortedMap()))
    records.set(write.key, write.value)
  }

  #remember({ key, fingerprint, response }: LedgerEntry, at: number): void {
    this.#answers.delete(key) // the same id again, long after: it goes to the end
    this.#answers.set(key, { key, fingerprint, response, position: this.position, at })
  }

  #keep(write: SnapshotWrite): void {
    const place = placeOf(write.stream, write.fold)
    const others = (this.#snapshots.get(place) ?? []).filter(({ seq }) => seq !== write.seq)
    if (!('dropped' in write)) others.push(write)
    if (others.length === 0) this.#snapshots.delete(place)
    else
      this.#snapshots.set(
        place,
        others.toSorted((a, b) => b.seq - a.seq),
      )
  }
}

/** What was granted but is not in the book yet, in front of what is. */
export class Draft implements View {
  readonly #book: Book
  readonly #versions = new Map<string, number>()
  readonly #answers = new Map<string, Pick<StoredAnswer, 'fingerprint' | 'response' | 'position'>>()
  readonly #tokens = new Map<string, number>()
  #position: number

  constructor(book: Book) {
    this.#book = book
    this.#position = book.position
  }

  get position(): number {
    return this.#position
  }

  version(stream: string): number {
    return this.#versions.get(stream) ?? this.#book.version(stream)
  }

  answer(key: string): ReturnType<View['answer']> {
    return this.#answers.get(key) ?? this.#book.answer(key)
  }

  token(fence: string): number {
    return this.#tokens.get(fence) ?? this.#book.token(fence)
  }

  /** Gives the version of each stream of the batch. */
  grant({ streams = [], ledger = [] }: Batch): number[] {
    const versions = streams.map(({ stream, events }) => this.version(stream) + events.length)
    for (const [n, { stream, events }] of streams.entries()) {
      this.#versions.set(stream, versions[n]!)
      this.#position += events.length
    }
    for (const { key, fingerprint, response } of ledger)
      this.#answers.set(key, { fingerprint, response, position: this.#position })
    return versions
  }

  takeFence(name: string): number {
    const token = this.token(name) + 1
    this.#tokens.set(name, token)
    return token
  }
}

/** An event with the fields it may have, and no others. */
function only({
  type,
  version,
  at,
  effectiveAt,
  data,
  requestId,
  actor,
  trace,
}: NewEvent): NewEvent {
  return {
    type,
    version,
    at,
    ...(effectiveAt !== undefined && { effectiveAt }),
    data,
    ...(requestId !== undefined && { requestId }),
    ...(actor !== undefined && { actor }),
    ...(trace !== undefined && { trace }),
  }
}

function placeOf(stream: string, fold: string): string {
  return `${stream}\0${fold}` // no name has a NUL
}
