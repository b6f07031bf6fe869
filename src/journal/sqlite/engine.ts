/**
 * The embedded journal: a directory, and two threads that work on it.
 *
 *   open --no room--> read-only --there is room--> open
 *     |--the tables are damaged--> damaged         reads go on, commits are refused
 *     '--a write or a flush fails--> failed        nothing is answered any more
 *
 * Nothing here waits for the disk: batches are checked, turned into bytes and handed to the writer,
 * reads are handed to the filer.
 */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { Accident, PRODUCT, systemClock, type Clock, type Fault } from '../../std/index.ts'
import { closed, failed, unknownOutcome } from '../accidents.ts'
import { checkKeys, checkPage, checkPlace, checkReadName, checkReadText } from '../checking.ts'
import {
  LEDGER_RETENTION_MS_DEFAULT,
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
} from '../journal.ts'
import { Subscriptions } from '../subscription.ts'
import { Asking } from './asking.ts'
import { Committing } from './committing.ts'
import { runErrand } from './errand.ts'
import type { VerifyReport } from './report.ts'
import { TABLES_FILE } from './schema.ts'
import { Threads } from './threads.ts'
import type { FromFiler, FromWriter } from './wire.ts'

export type SqliteJournalOptions = Readonly<{
  /** Where everything is kept; it is made if it is not there. One process has it at a time. */
  directory: string
  clock?: Clock
  /** How long an answered request id is remembered. */
  ledgerRetentionMs?: number
  /**
   * Told when nobody knows any more what is on disk. Without it the process says so on stderr and exits
   * with `FAILED_EXIT_CODE`, so that whoever starts it again finds out.
   */
  onFailed?: (why: Accident) => void
}>

export interface SqliteJournal extends Journal {
  /** Looks for damage, beside everything else that goes on. */
  verify(): Promise<VerifyReport>
  /** Copies what was committed so far to a directory that is not there yet, as a journal of its own. */
  backup(directory: string): Promise<void>
}

export const FAILED_EXIT_CODE = 70

const STDERR = 2

/**
 * Opens the journal with all that was committed to its directory. Rejects with `journal-in-use`,
 * `journal-newer`, `read-only` where there is no room to open it, and `damaged` where its tables
 * cannot be read at all.
 */
export function sqliteJournal(options: SqliteJournalOptions): Promise<SqliteJournal> {
  return new Promise((resolve, reject) => {
    const journal: Engine = new Engine(options, (why) => {
      if (why === undefined) resolve(journal)
      else reject(why)
    })
  })
}

class Engine implements SqliteJournal {
  readonly #directory: string
  readonly #clock: Clock
  readonly #onFailed: (why: Accident) => void
  readonly #threads: Threads
  readonly #committing: Committing
  readonly #asking: Asking
  readonly #subscriptions = new Subscriptions((page) => this.readAll(page))
  /** Called once, when it is open or cannot be opened. */
  #onOpen: ((why?: Accident) => void) | undefined
  #onClosed: (() => void) | undefined
  #closing: Promise<void> | undefined
  #state: JournalState = 'open'
  #damage: Fault | undefined
  /** The tables were found damaged before the writer began. */
  #isWriterIdle = false

  constructor(options: SqliteJournalOptions, onOpen: (why?: Accident) => void) {
    const retentionMs = options.ledgerRetentionMs ?? LEDGER_RETENTION_MS_DEFAULT
    this.#directory = options.directory
    this.#clock = options.clock ?? systemClock
    this.#onFailed = options.onFailed ?? leave
    this.#onOpen = onOpen
    const threads = new Threads(options.directory, retentionMs, {
      onWriter: (message) => this.#onWriter(message),
      onFiler: (message) => this.#onFiler(message),
      onLost: (cause) => this.#fail(unknownOutcome(cause)),
    })
    this.#threads = threads
    this.#asking = new Asking((message) => {
      threads.hold(true)
      threads.toFiler(message)
    })
    this.#committing = new Committing((message, transfer) => {
      threads.toWriter(message, transfer)
    }, this.#clock)
  }

  get state(): JournalState {
    return this.#state
  }

  commit(batch: Batch): Promise<CommitResult> {
    try {
      this.#refuseUnlessWritable()
      const result = this.#committing.commit(batch)
      this.#threads.hold(true)
      return result
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async takeFence(name: string): Promise<number> {
    this.#refuseUnlessWritable()
    const token = this.#committing.takeFence(name)
    this.#threads.hold(true)
    return token
  }

  async readStream(stream: string, page?: Page<number>): Promise<readonly StoredEvent[]> {
    this.#refuseUnlessReadable()
    checkReadName('stream', stream)
    const [after, limit] = [checkPlace(page), checkPage(page)]
    return this.#asking.ask({ type: 'stream', stream, after, limit })
  }

  async readAll(page?: Page<number>): Promise<readonly StoredEvent[]> {
    this.#refuseUnlessReadable()
    const [after, limit] = [checkPlace(page), checkPage(page)]
    return this.#asking.ask({ type: 'all', after, limit })
  }

  async position(): Promise<number> {
    this.#refuseUnlessReadable()
    return this.#asking.ask({ type: 'position' })
  }

  async version(stream: string): Promise<number> {
    this.#refuseUnlessReadable()
    checkReadName('stream', stream)
    return this.#asking.ask({ type: 'version', stream })
  }

  async streams(prefix: string, page?: Page<string>): Promise<readonly StreamHead[]> {
    this.#refuseUnlessReadable()
    checkReadText('prefix', prefix)
    const [after, limit] = [afterOf(page), checkPage(page)]
    return this.#asking.ask({ type: 'streams', prefix, after, limit })
  }

  async readRecords(
    collection: string,
    prefix: string,
    page?: Page<string>,
  ): Promise<readonly StoredRecord[]> {
    this.#refuseUnlessReadable()
    checkReadName('collection', collection)
    checkReadText('prefix', prefix)
    const [after, limit] = [afterOf(page), checkPage(page)]
    return this.#asking.ask({ type: 'records', collection, prefix, after, limit })
  }

  async getRecords(collection: string, keys: readonly string[]): Promise<readonly StoredRecord[]> {
    this.#refuseUnlessReadable()
    checkReadName('collection', collection)
    checkKeys(keys)
    return this.#asking.ask({ type: 'get', collection, keys })
  }

  async lookup(key: string): Promise<StoredAnswer | undefined> {
    this.#refuseUnlessReadable()
    checkReadName('request id', key)
    return this.#asking.ask({ type: 'lookup', key, now: this.#clock.now() })
  }

  async snapshots(stream: string, fold: string): Promise<readonly Snapshot[]> {
    this.#refuseUnlessReadable()
    checkReadName('stream', stream)
    checkReadName('fold', fold)
    return this.#asking.ask({ type: 'snapshots', stream, fold })
  }

  subscribe(options: SubscribeOptions): Subscription {
    this.#refuseUnlessReadable()
    return this.#subscriptions.add(options)
  }

  async verify(): Promise<VerifyReport> {
    this.#refuseUnlessReadable()
    await this.#asking.ask({ type: 'settle' }).catch(() => undefined) // what is there is looked at
    return runErrand({ type: 'verify', file: join(this.#directory, TABLES_FILE) })
  }

  async backup(directory: string): Promise<void> {
    this.#refuseUnlessReadable()
    await this.#asking.ask({ type: 'settle' })
    const file = join(this.#directory, TABLES_FILE)
    await runErrand({ type: 'backup', file, target: directory })
  }

  stats(): JournalStats {
    const stats = this.#committing.stats()
    return { ...stats, state: this.#state, flushes: stats.groups + this.#threads.flushes }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    if (this.#state !== 'failed') {
      this.#threads.hold(true)
      this.#committing.send()
      const isClosed = new Promise<void>((resolve) => (this.#onClosed = resolve))
      this.#threads.close(this.#isWriterIdle)
      await isClosed
      this.#threads.hear()
    }
    this.#state = 'closed'
    this.#subscriptions.close()
    this.#committing.refuseAll(() => unknownOutcome(closed()))
    this.#asking.refuseAll(closed)
    await this.#threads.end()
  }

  #onWriter(message: FromWriter): void {
    switch (message.type) {
      case 'ready':
        this.#open()
        break
      case 'ack':
        this.#committing.onAck(message)
        this.#subscriptions.wake()
        this.#holdWhileAsked()
        break
      case 'state':
        if (this.#state === 'open' || this.#state === 'read-only') this.#state = message.state
        break
      case 'failed':
        this.#fail(new Accident(message.fault))
        break
    }
  }

  #onFiler(message: FromFiler): void {
    switch (message.type) {
      case 'opened':
        if (message.damage !== undefined) {
          this.#isWriterIdle = true
          this.#beDamaged(message.damage)
          this.#open()
        }
        break
      case 'refused':
        this.#onOpen?.(new Accident(message.fault))
        this.#onOpen = undefined
        void this.#threads.end()
        break
      case 'answer':
        this.#asking.answer(message.id, message.value)
        this.#holdWhileAsked()
        break
      case 'unanswered':
        this.#asking.refuse(message.id, message.fault)
        this.#holdWhileAsked()
        break
      case 'damaged':
        this.#beDamaged(message.fault)
        break
      case 'failed':
        this.#fail(new Accident(message.fault))
        break
      case 'closed':
        this.#onClosed?.()
        break
    }
  }

  #open(): void {
    this.#onOpen?.()
    this.#onOpen = undefined
    this.#holdWhileAsked()
  }

  #holdWhileAsked(): void {
    if (this.#committing.pending === 0 && this.#asking.pending === 0 && !this.#closing)
      this.#threads.hold(false)
  }

  #beDamaged(why: Fault): void {
    this.#state = 'damaged'
    this.#damage = why
  }

  /** Nobody knows what is on disk, so nobody is told anything any more. */
  #fail(why: Accident): void {
    if (this.#onOpen !== undefined) {
      const onOpen = this.#onOpen
      this.#onOpen = undefined
      void this.#threads.end().then(() => onOpen(why))
      return
    }
    if (this.#state === 'failed' || this.#state === 'closed') return
    this.#state = 'failed'
    this.#committing.refuseAll(() => unknownOutcome(why))
    this.#asking.refuseAll(failed)
    this.#subscriptions.wake()
    this.#onClosed?.()
    this.#threads.hold(false)
    this.#onFailed(why)
  }

  #refuseUnlessWritable(): void {
    if (this.#closing !== undefined) throw closed()
    this.#refuseUnlessReadable()
    if (this.#damage !== undefined) throw new Accident(this.#damage)
  }

  #refuseUnlessReadable(): void {
    if (this.#state === 'closed') throw closed()
    if (this.#state === 'failed') throw failed()
  }
}

function afterOf(page: Page<string> | undefined): string | undefined {
  if (page?.after !== undefined) checkReadText('key that a page begins after', page.after)
  return page?.after
}

/** Whoever starts the process again finds out what is on disk; this one cannot. */
function leave(why: Accident): never {
  const { cause = why.cause } = why.detail
  writeSync(STDERR, `${PRODUCT}: the journal has failed: ${why.message} (${inspect(cause)})\n`)
  process.exit(FAILED_EXIT_CODE)
}
