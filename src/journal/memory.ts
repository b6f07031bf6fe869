/**
 * The journal in memory, for tests and examples.
 *
 * Commits that were called in one turn make a group. A group is judged as a whole against a draft,
 * then entered into the book, then answered, each in the order of its call: so nobody reads or is told
 * what is not kept.
 */
import {
  Accident,
  afterTurn,
  Deque,
  fault,
  systemClock,
  unreachable,
  type Clock,
} from '../std/index.ts'
import { Book, Draft } from './book.ts'
import {
  checkBatch,
  checkKeys,
  checkPage,
  checkPlace,
  checkReadName,
  checkReadText,
} from './checking.ts'
import {
  COMMITS_PENDING_MAX,
  LEDGER_RETENTION_MS_DEFAULT,
  PENDING_BYTES_MAX,
  READ_LIMIT_MAX,
  type Batch,
  type CommitResult,
  type Journal,
  type JournalState,
  type JournalStats,
  type Page,
  type Snapshot,
  type StoredAnswer,
  type StoredEvent,
  type StoredRecord,
  type StreamHead,
  type SubscribeOptions,
  type Subscription,
} from './journal.ts'
import { Subscriptions } from './subscription.ts'
import { judge } from './verdict.ts'

export type MemoryJournalOptions = Readonly<{
  clock?: Clock
  /** How long an answered request id is remembered. */
  ledgerRetentionMs?: number
}>

export async function memoryJournal(options: MemoryJournalOptions = {}): Promise<Journal> {
  return new MemoryJournal(options)
}

type Wish =
  | Readonly<{ type: 'batch'; batch: Batch; resolve: (result: CommitResult) => void }>
  | Readonly<{ type: 'fence'; name: string; resolve: (token: number) => void }>

type Pending = Wish & Readonly<{ bytes: number; sinceMs: number; reject: (why: Accident) => void }>

class MemoryJournal implements Journal {
  readonly #clock: Clock
  readonly #retentionMs: number
  readonly #book = new Book()
  readonly #subscriptions = new Subscriptions((page) => this.readAll(page))
  readonly #pending = new Deque<Pending>()
  readonly #stats = {
    commits: 0,
    refusals: 0,
    events: 0,
    records: 0,
    groups: 0,
    groupSizeMax: 0,
    bytes: 0,
    ledgerHits: 0,
    ledgerMismatches: 0,
  }
  #state: JournalState = 'open'
  #pendingBytes = 0
  #isBusy = false
  #closing: Promise<void> | undefined
  #onIdle: (() => void) | undefined
  /** The latest time that was given to an answer. */
  #at = -Infinity

  constructor({ clock, ledgerRetentionMs }: MemoryJournalOptions) {
    this.#clock = clock ?? systemClock
    this.#retentionMs = ledgerRetentionMs ?? LEDGER_RETENTION_MS_DEFAULT
  }

  get state(): JournalState {
    return this.#state
  }

  async commit(batch: Batch): Promise<CommitResult> {
    this.#refuseUnlessOpen()
    const bytes = checkBatch(batch)
    return new Promise((resolve, reject) => {
      this.#wish({ type: 'batch', batch, resolve, ...this.#waiting(bytes, reject) })
    })
  }

  async takeFence(name: string): Promise<number> {
    this.#refuseUnlessOpen()
    const bytes = checkBatch({ fence: { name, token: 1 } })
    return new Promise((resolve, reject) => {
      this.#wish({ type: 'fence', name, resolve, ...this.#waiting(bytes, reject) })
    })
  }

  async readStream(stream: string, page?: Page<number>): Promise<readonly StoredEvent[]> {
    this.#refuseIfClosed()
    checkReadName('stream', stream)
    return this.#book.stream(stream, checkPlace(page), checkPage(page))
  }

  async readAll(page?: Page<number>): Promise<readonly StoredEvent[]> {
    this.#refuseIfClosed()
    return this.#book.all(checkPlace(page), checkPage(page))
  }

  async position(): Promise<number> {
    this.#refuseIfClosed()
    return this.#book.position
  }

  async version(stream: string): Promise<number> {
    this.#refuseIfClosed()
    checkReadName('stream', stream)
    return this.#book.version(stream)
  }

  async streams(prefix: string, page?: Page<string>): Promise<readonly StreamHead[]> {
    this.#refuseIfClosed()
    checkReadText('prefix', prefix)
    return this.#book.streams(prefix, afterOf(page), checkPage(page))
  }

  async readRecords(
    collection: string,
    prefix: string,
    page?: Page<string>,
  ): Promise<readonly StoredRecord[]> {
    this.#refuseIfClosed()
    checkReadName('collection', collection)
    checkReadText('prefix', prefix)
    return this.#book.records(collection, prefix, afterOf(page), checkPage(page))
  }

  async getRecords(collection: string, keys: readonly string[]): Promise<readonly StoredRecord[]> {
    this.#refuseIfClosed()
    checkReadName('collection', collection)
    checkKeys(keys)
    return keys
      .map((key) => this.#book.record(collection, key))
      .filter((record) => record !== undefined)
  }

  async lookup(key: string): Promise<StoredAnswer | undefined> {
    this.#refuseIfClosed()
    checkReadName('request id', key)
    this.#book.forget(this.#clock.now(), this.#retentionMs)
    return this.#book.answer(key)
  }

  async snapshots(stream: string, fold: string): Promise<readonly Snapshot[]> {
    this.#refuseIfClosed()
    checkReadName('stream', stream)
    checkReadName('fold', fold)
    return this.#book.snapshots(stream, fold).slice(0, READ_LIMIT_MAX)
  }

  subscribe(options: SubscribeOptions): Subscription {
    this.#refuseIfClosed()
    return this.#subscriptions.add(options)
  }

  stats(): JournalStats {
    const oldest = this.#pending.peekFront()
    return {
      ...this.#stats,
      state: this.#state,
      flushes: 0,
      pending: this.#pending.length,
      pendingBytes: this.#pendingBytes,
      lagMs: oldest === undefined ? 0 : this.#clock.monotonic() - oldest.sinceMs,
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    if (this.#isBusy) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    this.#state = 'closed'
    this.#subscriptions.close()
  }

  #refuseUnlessOpen(): void {
    if (this.#closing !== undefined) throw closed()
  }

  #refuseIfClosed(): void {
    if (this.#state === 'closed') throw closed()
  }

  #waiting(
    bytes: number,
    reject: (why: Accident) => void,
  ): Pick<Pending, 'bytes' | 'sinceMs' | 'reject'> {
    return { bytes, sinceMs: this.#clock.monotonic(), reject }
  }

  #wish(pending: Pending): void {
    const { length } = this.#pending
    if (length >= COMMITS_PENDING_MAX || this.#pendingBytes + pending.bytes > PENDING_BYTES_MAX) {
      pending.reject(overloaded(length, this.#pendingBytes))
      return
    }
    this.#pending.pushBack(pending)
    this.#pendingBytes += pending.bytes
    if (this.#isBusy) return
    this.#isBusy = true
    afterTurn(() => this.#work())
  }

  #work(): void {
    const group = [...this.#pending]
    const now = this.#clock.now()
    this.#at = Math.max(this.#at, now)
    this.#book.forget(now, this.#retentionMs)
    const draft = new Draft(this.#book)
    const answers = group.map((pending) => this.#judge(pending, draft))
    for (const answer of answers) answer()
    this.#stats.groups++
    this.#stats.groupSizeMax = Math.max(this.#stats.groupSizeMax, group.length)
    this.#pending.clear()
    this.#pendingBytes = 0
    this.#isBusy = false
    this.#onIdle?.()
    this.#subscriptions.wake()
  }

  #judge(pending: Pending, draft: Draft): () => void {
    switch (pending.type) {
      case 'fence': {
        const token = draft.takeFence(pending.name)
        return () => {
          this.#book.takeFence(pending.name)
          pending.resolve(token)
        }
      }
      case 'batch': {
        const { batch, bytes, resolve } = pending
        const verdict = judge(draft, batch)
        if (verdict !== 'granted')
          return () => {
            this.#stats.refusals++
            if (verdict.type === 'duplicate') this.#stats.ledgerHits++
            if (verdict.type === 'mismatch') this.#stats.ledgerMismatches++
            resolve(verdict)
          }
        const versions = draft.grant(batch)
        const { position } = draft
        return () => {
          this.#book.enter(batch, this.#at)
          this.#stats.commits++
          this.#stats.bytes += bytes
          this.#stats.records += batch.records?.length ?? 0
          for (const { events } of batch.streams ?? []) this.#stats.events += events.length
          resolve({ type: 'committed', position, versions })
        }
      }
      default:
        return unreachable(pending)
    }
  }
}

function afterOf(page: Page<string> | undefined): string | undefined {
  if (page?.after !== undefined) checkReadText('key that a page begins after', page.after)
  return page?.after
}

function closed(): Accident<'journal-closed'> {
  return new Accident(fault('journal-closed', 'the journal is closed', { remedy: 'open it again' }))
}

function overloaded(pending: number, bytes: number): Accident<'journal-overloaded'> {
  return new Accident(
    fault('journal-overloaded', 'too many commits wait to be durable', {
      pending,
      bytes,
      remedy: 'commit again when some of them have been answered',
    }),
  )
}
