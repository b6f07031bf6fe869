/**
 * The journal in memory: for tests, for examples, and over a disk of anybody's for simulation.
 *
 *   open --no room--> read-only --a probe finds room--> open
 *     '--a write or a sync fails--> failed
 *
 * Commits that were called while a group was being written make the next group. A group is judged as a
 * whole against a draft, written as one frame, entered into the book, and answered, in this order and
 * each commit in the order of its call: so nobody reads or is told what is not kept.
 *
 * A journal that failed is not read any more either: what it holds in memory may be less than what is
 * on disk, and a commit of unknown outcome would be looked up in vain. Opening it again tells.
 */
import {
  type Accident,
  afterTurn,
  Deque,
  systemClock,
  unreachable,
  type Clock,
  type Timer,
} from '../std/index.ts'
import { closed, failed, overloaded, readOnly, unknownOutcome } from './accidents.ts'
import { Book, Draft } from './book.ts'
import {
  checkBatch,
  checkKeys,
  checkPage,
  checkPlace,
  checkReadName,
  checkReadText,
} from './checking.ts'
import { DiskLog, type Written } from './disk-log.ts'
import type { Disk } from './disk.ts'
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

/** How often a journal without room looks whether there is some. */
export const DISK_PROBE_MS = 1_000

export type MemoryJournalOptions = Readonly<{
  clock?: Clock
  /** How long an answered request id is remembered. */
  ledgerRetentionMs?: number
  /** Where to keep everything. Without one it is gone with the process. */
  disk?: Disk
}>

/** Opens the journal with all that is on its disk; rejects with `damaged` where that cannot be read. */
export async function memoryJournal(options: MemoryJournalOptions = {}): Promise<Journal> {
  if (options.disk === undefined) return new MemoryJournal(options, undefined, [])
  const { log, texts } = await DiskLog.open(options.disk)
  return new MemoryJournal(options, log, texts)
}

/** What is written as one frame. */
type Group = Readonly<{ at: number; entries: readonly Entry[] }>
type Entry = Readonly<{ batch: Batch } | { fence: string }>

type Judged = Group & Readonly<{ answers: readonly (() => void)[] }>

type Waiting = Readonly<{ bytes: number; sinceMs: number; reject: (why: Accident) => void }>
type Pending = Waiting &
  (
    | Readonly<{ type: 'batch'; batch: Batch; resolve: (result: CommitResult) => void }>
    | Readonly<{ type: 'fence'; name: string; resolve: (token: number) => void }>
  )

const KEPT: Written = { type: 'kept' }

class MemoryJournal implements Journal {
  readonly #clock: Clock
  readonly #retentionMs: number
  readonly #log: DiskLog | undefined
  readonly #book = new Book()
  readonly #subscriptions = new Subscriptions((page) => this.readAll(page))
  /** What is not answered yet, the group that is being written first. */
  readonly #pending = new Deque<Pending>()
  readonly #counts = {
    commits: 0,
    refusals: 0,
    events: 0,
    records: 0,
    groups: 0,
    groupSizeMax: 0,
    ledgerHits: 0,
    ledgerMismatches: 0,
  }
  #state: JournalState = 'open'
  #pendingBytes = 0
  #isBusy = false
  #closing: Promise<void> | undefined
  #onIdle: (() => void) | undefined
  #probe: Timer | undefined
  /** The latest time that was given to an answer. */
  #at = -Infinity

  constructor(options: MemoryJournalOptions, log: DiskLog | undefined, texts: readonly string[]) {
    this.#clock = options.clock ?? systemClock
    this.#retentionMs = options.ledgerRetentionMs ?? LEDGER_RETENTION_MS_DEFAULT
    this.#log = log
    for (const text of texts) {
      const { at, entries }: Group = JSON.parse(text)
      for (const entry of entries) this.#enter(entry, at)
      this.#at = at
    }
  }

  get state(): JournalState {
    return this.#state
  }

  async commit(batch: Batch): Promise<CommitResult> {
    this.#refuseUnlessWritable()
    const bytes = checkBatch(batch)
    return new Promise((resolve, reject) => {
      this.#queue({ type: 'batch', batch, resolve, ...this.#waiting(bytes, reject) })
    })
  }

  async takeFence(name: string): Promise<number> {
    this.#refuseUnlessWritable()
    const bytes = checkBatch({ fence: { name, token: 1 } })
    return new Promise((resolve, reject) => {
      this.#queue({ type: 'fence', name, resolve, ...this.#waiting(bytes, reject) })
    })
  }

  async readStream(stream: string, page?: Page<number>): Promise<readonly StoredEvent[]> {
    this.#refuseUnlessReadable()
    checkReadName('stream', stream)
    return this.#book.stream(stream, checkPlace(page), checkPage(page))
  }

  async readAll(page?: Page<number>): Promise<readonly StoredEvent[]> {
    this.#refuseUnlessReadable()
    return this.#book.all(checkPlace(page), checkPage(page))
  }

  async position(): Promise<number> {
    this.#refuseUnlessReadable()
    return this.#book.position
  }

  async version(stream: string): Promise<number> {
    this.#refuseUnlessReadable()
    checkReadName('stream', stream)
    return this.#book.version(stream)
  }

  async streams(prefix: string, page?: Page<string>): Promise<readonly StreamHead[]> {
    this.#refuseUnlessReadable()
    checkReadText('prefix', prefix)
    return this.#book.streams(prefix, afterOf(page), checkPage(page))
  }

  async readRecords(
    collection: string,
    prefix: string,
    page?: Page<string>,
  ): Promise<readonly StoredRecord[]> {
    this.#refuseUnlessReadable()
    checkReadName('collection', collection)
    checkReadText('prefix', prefix)
    return this.#book.records(collection, prefix, afterOf(page), checkPage(page))
  }

  async getRecords(collection: string, keys: readonly string[]): Promise<readonly StoredRecord[]> {
    this.#refuseUnlessReadable()
    checkReadName('collection', collection)
    checkKeys(keys)
    return keys
      .map((key) => this.#book.record(collection, key))
      .filter((record) => record !== undefined)
  }

  async lookup(key: string): Promise<StoredAnswer | undefined> {
    this.#refuseUnlessReadable()
    checkReadName('request id', key)
    this.#book.forget(this.#clock.now(), this.#retentionMs)
    return this.#book.answer(key)
  }

  async snapshots(stream: string, fold: string): Promise<readonly Snapshot[]> {
    this.#refuseUnlessReadable()
    checkReadName('stream', stream)
    checkReadName('fold', fold)
    return this.#book.snapshots(stream, fold).slice(0, READ_LIMIT_MAX)
  }

  subscribe(options: SubscribeOptions): Subscription {
    this.#refuseUnlessReadable()
    return this.#subscriptions.add(options)
  }

  stats(): JournalStats {
    const oldest = this.#pending.peekFront()
    return {
      ...this.#counts,
      state: this.#state,
      flushes: this.#log?.flushes ?? 0,
      bytes: this.#log?.bytes ?? 0,
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
    this.#probe?.cancel()
    this.#state = 'closed'
    this.#subscriptions.close()
  }

  #refuseUnlessWritable(): void {
    if (this.#closing !== undefined) throw closed()
    this.#refuseUnlessReadable()
    if (this.#state === 'read-only') throw readOnly()
  }

  #refuseUnlessReadable(): void {
    if (this.#state === 'closed') throw closed()
    if (this.#state === 'failed') throw failed()
  }

  #waiting(bytes: number, reject: (why: Accident) => void): Waiting {
    return { bytes, sinceMs: this.#clock.monotonic(), reject }
  }

  #queue(pending: Pending): void {
    const { length } = this.#pending
    if (length >= COMMITS_PENDING_MAX || this.#pendingBytes + pending.bytes > PENDING_BYTES_MAX) {
      pending.reject(overloaded(length, this.#pendingBytes))
      return
    }
    this.#pending.pushBack(pending)
    this.#pendingBytes += pending.bytes
    if (this.#isBusy) return
    this.#isBusy = true
    afterTurn(() => void this.#work())
  }

  async #work(): Promise<void> {
    while (this.#pending.length > 0) {
      const judged = this.#judgeAll()
      const log = judged.entries.length > 0 ? this.#log : undefined
      const written = log === undefined ? KEPT : await log.write(textOf(judged))
      if (written.type === 'kept') this.#answer(judged)
      else this.#giveUp(written)
      this.#subscriptions.wake()
    }
    this.#rest()
  }

  #rest(): void {
    this.#isBusy = false
    this.#onIdle?.()
  }

  /** Gives up what waits, and goes on as far as it can. */
  #giveUp(written: Exclude<Written, { type: 'kept' }>): void {
    switch (written.type) {
      case 'full':
        this.#state = 'read-only'
        this.#refuseAll(readOnly)
        this.#probe = this.#clock.setTimer(
          this.#clock.monotonic() + DISK_PROBE_MS,
          () => void this.#look(),
        )
        break
      case 'lost':
        this.#state = 'failed'
        this.#refuseAll(() => unknownOutcome(written.cause))
        break
      default:
        unreachable(written)
    }
  }

  async #look(): Promise<void> {
    this.#isBusy = true
    const found = await this.#log!.probe()
    if (found.type === 'kept') this.#state = 'open'
    else this.#giveUp(found)
    this.#subscriptions.wake()
    this.#rest()
  }

  #judgeAll(): Judged {
    const now = this.#clock.now()
    this.#at = Math.max(this.#at, now)
    this.#book.forget(now, this.#retentionMs)
    const draft = new Draft(this.#book)
    const [entries, answers]: [Entry[], (() => void)[]] = [[], []]
    for (const pending of this.#pending) {
      const [answer, entry] = this.#judge(pending, draft)
      answers.push(answer)
      if (entry !== undefined) entries.push(entry)
    }
    return { at: this.#at, entries, answers }
  }

  /** How it is answered, and what of it is to be kept. */
  #judge(pending: Pending, draft: Draft): [() => void, Entry?] {
    if (pending.type === 'fence') {
      const token = draft.takeFence(pending.name)
      return [() => pending.resolve(token), { fence: pending.name }]
    }
    const { batch, resolve } = pending
    const verdict = judge(draft, batch)
    if (verdict === 'granted') {
      const versions = draft.grant(batch)
      const { position } = draft
      return [() => resolve({ type: 'committed', position, versions }), { batch }]
    }
    return [
      () => {
        this.#counts.refusals++
        if (verdict.type === 'duplicate') this.#counts.ledgerHits++
        if (verdict.type === 'mismatch') this.#counts.ledgerMismatches++
        resolve(verdict)
      },
    ]
  }

  #answer({ at, entries, answers }: Judged): void {
    if (entries.length > 0) {
      this.#counts.groups++
      this.#counts.groupSizeMax = Math.max(this.#counts.groupSizeMax, entries.length)
    }
    for (const entry of entries) {
      this.#enter(entry, at)
      if ('batch' in entry) this.#count(entry.batch)
    }
    for (const answer of answers) {
      this.#pendingBytes -= this.#pending.popFront()!.bytes
      answer()
    }
  }

  #enter(entry: Entry, at: number): void {
    if ('batch' in entry) this.#book.enter(entry.batch, at)
    else this.#book.takeFence(entry.fence)
  }

  #count({ streams = [], records = [] }: Batch): void {
    this.#counts.commits++
    this.#counts.records += records.length
    for (const { events } of streams) this.#counts.events += events.length
  }

  #refuseAll(why: () => Accident): void {
    for (const { reject } of this.#pending) reject(why())
    this.#pending.clear()
    this.#pendingBytes = 0
  }
}

function afterOf(page: Page<string> | undefined): string | undefined {
  if (page?.after !== undefined) checkReadText('key that a page begins after', page.after)
  return page?.after
}

function textOf({ at, entries }: Group): string {
  return JSON.stringify({ at, entries } satisfies Group)
}
