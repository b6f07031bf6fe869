/**
 * Any journal, with troubles on a seed: for tests of what stands on a journal.
 *
 * It keeps the journal's promises. Batches still take effect in the order of the calls, and what is
 * said of an unknown outcome can be looked up at once. Each seed draws its own few of the troubles
 * that are wanted.
 */
import type {
  Batch,
  CommitResult,
  Journal,
  JournalState,
  JournalStats,
  Page,
  Snapshot,
  StoredAnswer,
  StoredEvent,
  StoredRecord,
  StreamHead,
  SubscribeOptions,
  Subscription,
} from '../journal/index.ts'
import { Accident, fault, random, type Clock, type Random } from '../std/index.ts'

export type JournalTrouble =
  /** Answers to commits and reads take their time. */
  | 'slow'
  /** A commit is answered with `unknown-outcome`, whether it has taken effect or not. */
  | 'unknown-outcomes'
  /** A commit is refused with `journal-overloaded`. */
  | 'overloads'

export const JOURNAL_TROUBLES: readonly JournalTrouble[] = ['slow', 'unknown-outcomes', 'overloads']

export type FaultyJournalOptions = Readonly<{
  seed: number
  /** Whose time a slow journal takes. */
  clock: Clock
  /** Those it may have; all unless said otherwise. */
  troubles?: readonly JournalTrouble[]
}>

/** How often a trouble strikes that was drawn: once in so many times. */
const ONE_IN = 8

export function faultyJournal(journal: Journal, options: FaultyJournalOptions): Journal {
  return new Troubled(journal, options)
}

class Troubled implements Journal {
  readonly #journal: Journal
  readonly #clock: Clock
  readonly #draws: Random
  readonly #troubles: ReadonlySet<JournalTrouble>
  readonly #delayMsMax: number
  /** When the last answer to a commit is due: none overtakes another. */
  #dueMs = 0
  /** Settles when the last commit was answered. */
  #answered: Promise<unknown> = Promise.resolve()

  constructor(
    journal: Journal,
    { seed, clock, troubles = JOURNAL_TROUBLES }: FaultyJournalOptions,
  ) {
    this.#journal = journal
    this.#clock = clock
    this.#draws = random(seed)
    const drawn = JOURNAL_TROUBLES.filter(() => this.#draws.below(2) === 0)
    this.#troubles = new Set(drawn.filter((trouble) => troubles.includes(trouble)))
    this.#delayMsMax = this.#draws.pick([1, 20, 2_000])
  }

  get state(): JournalState {
    return this.#journal.state
  }

  commit(batch: Batch): Promise<CommitResult> {
    return this.#trouble(() => this.#journal.commit(batch))
  }

  takeFence(name: string): Promise<number> {
    return this.#trouble(() => this.#journal.takeFence(name))
  }

  readStream(stream: string, page?: Page<number>): Promise<readonly StoredEvent[]> {
    return this.#later(() => this.#journal.readStream(stream, page))
  }

  readAll(page?: Page<number>): Promise<readonly StoredEvent[]> {
    return this.#later(() => this.#journal.readAll(page))
  }

  position(): Promise<number> {
    return this.#later(() => this.#journal.position())
  }

  version(stream: string): Promise<number> {
    return this.#later(() => this.#journal.version(stream))
  }

  streams(prefix: string, page?: Page<string>): Promise<readonly StreamHead[]> {
    return this.#later(() => this.#journal.streams(prefix, page))
  }

  readRecords(
    collection: string,
    prefix: string,
    page?: Page<string>,
  ): Promise<readonly StoredRecord[]> {
    return this.#later(() => this.#journal.readRecords(collection, prefix, page))
  }

  getRecords(collection: string, keys: readonly string[]): Promise<readonly StoredRecord[]> {
    return this.#later(() => this.#journal.getRecords(collection, keys))
  }

  lookup(key: string): Promise<StoredAnswer | undefined> {
    return this.#later(() => this.#journal.lookup(key))
  }

  snapshots(stream: string, fold: string): Promise<readonly Snapshot[]> {
    return this.#later(() => this.#journal.snapshots(stream, fold))
  }

  subscribe(options: SubscribeOptions): Subscription {
    return this.#journal.subscribe(options)
  }

  stats(): JournalStats {
    return this.#journal.stats()
  }

  async close(): Promise<void> {
    await this.#journal.close()
    await this.#answered
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #trouble<T>(call: () => Promise<T>): Promise<T> {
    const isRefused = this.#strikes('overloads')
    const isUnknown = this.#strikes('unknown-outcomes')
    const isCalled = !isRefused && (!isUnknown || this.#draws.below(2) === 0)
    const called = isCalled ? call() : Promise.reject(isRefused ? overloaded() : unknownOutcome())
    const answer = this.#inOrder(isUnknown ? called.then(rejectUnknown) : called)
    this.#answered = answer.catch(() => undefined)
    return answer
  }

  async #inOrder<T>(called: Promise<T>): Promise<T> {
    this.#dueMs = Math.max(this.#dueMs, this.#drawnDueMs())
    const [answer] = await Promise.allSettled([called, this.#until(this.#dueMs), this.#answered])
    if (answer.status === 'rejected') throw answer.reason
    return answer.value
  }

  async #later<T>(read: () => Promise<T>): Promise<T> {
    await this.#until(this.#drawnDueMs())
    return read()
  }

  #drawnDueMs(): number {
    if (!this.#troubles.has('slow')) return 0
    return this.#clock.monotonic() + this.#draws.below(this.#delayMsMax + 1)
  }

  #until(dueMs: number): Promise<void> {
    if (dueMs <= this.#clock.monotonic()) return Promise.resolve()
    return new Promise((resolve) => this.#clock.setTimer(dueMs, resolve))
  }

  #strikes(trouble: JournalTrouble): boolean {
    return this.#troubles.has(trouble) && this.#draws.below(ONE_IN) === 0
  }
}

function rejectUnknown(): never {
  throw unknownOutcome()
}

function unknownOutcome(): Accident<'unknown-outcome'> {
  return new Accident(
    fault('unknown-outcome', 'the batch may have taken effect or not', {
      remedy: 'look up its ledger key, or the version of its stream',
    }),
  )
}

function overloaded(): Accident<'journal-overloaded'> {
  return new Accident(
    fault('journal-overloaded', 'the troubled journal has enough to do', {
      remedy: 'commit again later',
    }),
  )
}
