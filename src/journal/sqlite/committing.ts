/**
 * Commits on their way to the writer and back: they leave together, as bytes, when the running code
 * has returned, and are answered in the order in which they left.
 */
import { Accident, afterTurn, assert, Deque, isFault, type Clock } from '../../std/index.ts'
import { overloaded } from '../accidents.ts'
import { checkBatch } from '../checking.ts'
import {
  COMMITS_PENDING_MAX,
  PENDING_BYTES_MAX,
  type Batch,
  type CommitResult,
  type JournalStats,
} from '../journal.ts'
import { FrameWriter } from './frame.ts'
import { REFUSED, type Ack, type ToWriter } from './wire.ts'

type Waiting = Readonly<{
  reject: (why: Accident) => void
  bytes: number
  sinceMs: number
}>

type Pending = Waiting &
  (
    | Readonly<{
        type: 'batch'
        resolve: (result: CommitResult) => void
        events: number
        records: number
      }>
    | Readonly<{ type: 'fence'; resolve: (token: number) => void }>
  )

/** So many commits or bytes leave at once, even while the running code goes on. */
const SEND_COMMITS = 112
const SEND_BYTES = 262_144

const NO_VERSIONS: readonly number[] = Object.freeze([])

export class Committing {
  readonly #post: (message: ToWriter, transfer: ArrayBuffer[]) => void
  readonly #clock: Clock
  readonly #outgoing = new FrameWriter()
  readonly #pending = new Deque<Pending>()
  readonly #counts = {
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
  readonly #onTurn = (): void => {
    this.#isLeaving = false
    this.send()
  }
  #pendingBytes = 0
  #isLeaving = false
  /** When the oldest commit that has not left was called. */
  #sinceMs = 0

  constructor(send: (message: ToWriter, transfer: ArrayBuffer[]) => void, clock: Clock) {
    this.#post = send
    this.#clock = clock
  }

  get pending(): number {
    return this.#pending.length
  }

  /** Throws `bad-batch` and `journal-overloaded`. */
  commit(batch: Batch): Promise<CommitResult> {
    const chars = checkBatch(batch)
    this.#refuseBeyond(chars)
    return new Promise((resolve, reject) => {
      const { records = [], streams = [] } = batch
      let events = 0
      for (const append of streams) events += append.events.length
      const sinceMs = this.#since()
      const bytes = this.#outgoing.batch(batch, chars)
      const { length } = records
      this.#add({ type: 'batch', resolve, reject, bytes, sinceMs, events, records: length })
    })
  }

  takeFence(name: string): Promise<number> {
    this.#refuseBeyond(checkBatch({ fence: { name, token: 1 } }))
    return new Promise((resolve, reject) => {
      const sinceMs = this.#since()
      const bytes = this.#outgoing.take(name)
      this.#add({ type: 'fence', resolve, reject, bytes, sinceMs })
    })
  }

  /** Posts what has not left yet. */
  send(): void {
    const { count } = this.#outgoing
    if (count === 0) return
    const buffer = this.#outgoing.cut()
    const now = Math.floor(this.#clock.now()) // the tables hold whole milliseconds
    this.#post({ type: 'entries', buffer, count, now }, [buffer])
  }

  /** Answers the oldest. */
  onAck({ granted, refused, bytes }: Ack): void {
    let [at, refusals] = [0, 0]
    const { length } = this.#pending
    while (at < granted.length) {
      const pending = this.#pending.popFront()!
      this.#pendingBytes -= pending.bytes
      const first = granted[at++]!
      if (first === REFUSED) {
        this.#refuse(pending, refused[refusals++]!)
        continue
      }
      const count = granted[at++]!
      if (pending.type === 'fence') {
        pending.resolve(first)
        continue
      }
      const versions = count === 0 ? NO_VERSIONS : granted.slice(at, at + count)
      at += count
      this.#counts.commits += 1
      this.#counts.events += pending.events
      this.#counts.records += pending.records
      pending.resolve({ type: 'committed', position: first, versions })
    }
    if (bytes === 0) return
    const size = length - this.#pending.length - refusals
    this.#counts.bytes += bytes
    this.#counts.groups += 1
    this.#counts.groupSizeMax = Math.max(this.#counts.groupSizeMax, size)
  }

  refuseAll(why: () => Accident): void {
    this.#outgoing.cut()
    for (const { reject } of this.#pending) reject(why())
    this.#pending.clear()
    this.#pendingBytes = 0
  }

  stats(): Omit<JournalStats, 'state' | 'flushes'> {
    const oldest = this.#pending.peekFront()
    return {
      ...this.#counts,
      pending: this.#pending.length,
      pendingBytes: this.#pendingBytes,
      lagMs: oldest === undefined ? 0 : this.#clock.monotonic() - oldest.sinceMs,
    }
  }

  #refuseBeyond(bytes: number): void {
    const { length } = this.#pending
    if (length >= COMMITS_PENDING_MAX || this.#pendingBytes + bytes > PENDING_BYTES_MAX)
      throw overloaded(length, this.#pendingBytes)
  }

  /** One look at the clock does for all that leave together. */
  #since(): number {
    if (this.#outgoing.count === 0) this.#sinceMs = this.#clock.monotonic()
    return this.#sinceMs
  }

  #add(pending: Pending): void {
    this.#pending.pushBack(pending)
    this.#pendingBytes += pending.bytes
    if (this.#outgoing.count >= SEND_COMMITS || this.#outgoing.bytes >= SEND_BYTES) this.send()
    else if (!this.#isLeaving) {
      this.#isLeaving = true
      afterTurn(this.#onTurn)
    }
  }

  #refuse(pending: Pending, why: Ack['refused'][number]): void {
    if (isFault(why)) return pending.reject(new Accident(why))
    assert(pending.type === 'batch', 'only a batch is given a verdict')
    this.#counts.refusals += 1
    if (why.type === 'duplicate') this.#counts.ledgerHits += 1
    if (why.type === 'mismatch') this.#counts.ledgerMismatches += 1
    pending.resolve(why)
  }
}
