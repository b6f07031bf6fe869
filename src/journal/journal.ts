/**
 * The journal: one port for everything that must not be forgotten.
 *
 *   events     history, append-only, one stream per entity; each has a position among all of them
 *   records    keyed state that may be overwritten and deleted
 *   ledger     request ids that have taken effect, each with the answer it was given
 *   snapshots  folded history, which may be thrown away and made again
 *   fences     tokens that grow; whoever holds an old one can no longer write
 *
 * All of it is written by one atomic batch, and only so. What must stay true of every engine:
 *
 * - A batch is there as a whole or not at all, and is on disk before its commit resolves.
 * - Batches take effect in the order in which `commit` was called on one journal.
 * - The versions of a stream are 1, 2, 3 …; positions are 1, 2, 3 … over all streams. A reader never
 *   sees a gap in either, not even for a moment.
 * - A refused batch leaves nothing behind. A commit that rejects with `unknown-outcome` may have
 *   taken effect, and its ledger key or the version of its stream tells which.
 * - What is damaged is never given out as good, and takes no neighbour with it.
 *
 * `journalConformance` in the testkit holds an engine to all this.
 */
import type { Fault } from '../std/index.ts'

/** Names of streams, collections, fences and request ids, and keys of records, in UTF-8 bytes. */
export const NAME_BYTES_MAX = 512
/** The data of one event, the value of one record, one answer or one snapshot, in UTF-8 bytes. */
export const PAYLOAD_BYTES_MAX = 4_194_304
/** Streams, events, records, ledger entries and snapshots of one batch together. */
export const BATCH_ITEMS_MAX = 10_000
/** One batch with everything in it. */
export const BATCH_BYTES_MAX = 16_777_216
/** What one read gives when it does not say how much it wants, and at most. */
export const READ_LIMIT_DEFAULT = 1_000
export const READ_LIMIT_MAX = 10_000
/** Payload a page of events or records has at least, if it ends before its limit and is not the last. */
export const PAGE_BYTES_MIN = 16_777_216
/** How long an answered request id is remembered unless the journal is told otherwise: 7 days. */
export const LEDGER_RETENTION_MS_DEFAULT = 604_800_000
/** Commits that may wait to be durable; one more is refused with `journal-overloaded`. */
export const COMMITS_PENDING_MAX = 65_536
/** The same in bytes. */
export const PENDING_BYTES_MAX = 67_108_864

/** An event to be appended. Texts are well-formed Unicode; what `data` means is the writer's business. */
export type NewEvent = Readonly<{
  type: string
  /** The version of the schema of `data`. */
  version: number
  /** When it was recorded, in whole milliseconds since the epoch. */
  at: number
  /** When it happened, where that is not when it was recorded. */
  effectiveAt?: number
  data: string
  requestId?: string
  actor?: string
  trace?: string
}>

export type StoredEvent = NewEvent &
  Readonly<{
    stream: string
    /** Its place in the stream, from 1. */
    seq: number
    /** Its place among all events, from 1. */
    position: number
    /** The position of the first event of its batch: what was written together has the same. */
    batch: number
  }>

/** The version a stream must have: a number, `'none'` for one that has no event, or `'any'`. */
export type Expected = number | 'any' | 'none'

export type StreamAppend = Readonly<{
  stream: string
  expected: Expected
  events: readonly NewEvent[]
}>

export type RecordWrite =
  | Readonly<{ collection: string; key: string; value: string }>
  | Readonly<{ collection: string; key: string; deleted: true }>

export type LedgerEntry = Readonly<{
  key: string
  /** Made by `fingerprintOf`, so that a mismatch can say in which fields. */
  fingerprint: string
  response: string
}>

/** State after the first `seq` events of a stream. */
export type Snapshot = Readonly<{
  stream: string
  seq: number
  /** The latest time of effect among these events, and the last event that has it. */
  topAt: number
  topSeq: number
  /** Which fold made it; a snapshot of another fold is as good as none. */
  fold: string
  state: string
}>

export type SnapshotWrite =
  | Snapshot
  | Readonly<{ stream: string; seq: number; fold: string; dropped: true }>

export type Fence = Readonly<{ name: string; token: number }>

/** Every part is optional, each stream is named once, each record key once, each ledger key once. */
export type Batch = Readonly<{
  streams?: readonly StreamAppend[]
  records?: readonly RecordWrite[]
  /** One entry for each request the batch answers: several where an entity pipelines its turns. */
  ledger?: readonly LedgerEntry[]
  snapshots?: readonly SnapshotWrite[]
  fence?: Fence
}>

/**
 * What came of a batch, judged in this order: fence, ledger, versions. Accidents reject instead:
 * `bad-batch`, `journal-overloaded`, `read-only`, `damaged`, `unknown-outcome`, `journal-closed`.
 */
export type CommitResult =
  | Readonly<{
      type: 'committed'
      /** The position of the last event there is, this batch included. */
      position: number
      /** The version of each stream of the batch, in its order. */
      versions: readonly number[]
    }>
  | Readonly<{ type: 'conflict'; stream: string; expected: Expected; actual: number }>
  | Readonly<{ type: 'duplicate'; key: string; response: string; position: number }>
  | Readonly<{ type: 'mismatch'; key: string; fields: readonly string[] }>
  | Readonly<{ type: 'fenced'; name: string; token: number; current: number }>

export type StoredAnswer = Readonly<{
  key: string
  fingerprint: string
  response: string
  /** The position after the batch that gave it. */
  position: number
  at: number
}>

export type StoredRecord = Readonly<{ key: string; value: string }>
export type StreamHead = Readonly<{ stream: string; version: number }>

/**
 * `after` is exclusive; `limit` is at most `READ_LIMIT_MAX`. A page of events or records that holds
 * `PAGE_BYTES_MIN` may have fewer than asked for, but is empty only at the end.
 */
export type Page<After> = Readonly<{ after?: After; limit?: number }>

export type JournalState = 'open' | 'read-only' | 'damaged' | 'failed' | 'closed'

export type JournalStats = Readonly<{
  state: JournalState
  /** Batches that took effect, and batches that were answered otherwise. */
  commits: number
  refusals: number
  events: number
  records: number
  /** Batches that became durable together count as one group; a group takes one flush. */
  groups: number
  flushes: number
  groupSizeMax: number
  bytes: number
  /** Commits that are not answered yet, and for how long the oldest has been waiting. */
  pending: number
  pendingBytes: number
  lagMs: number
  ledgerHits: number
  ledgerMismatches: number
}>

export type SubscribeOptions = Readonly<{
  /** Events after this position, each once and in order; 0 for all. */
  after: number
  /** The next page is not read before the answer of this one has settled. */
  handle: (events: readonly StoredEvent[]) => void | PromiseLike<void>
  /** Events a page has at most. */
  limit?: number
}>

export interface Subscription extends AsyncDisposable {
  /** The last event that was handled: subscribe after it to go on from here. */
  readonly position: number
  /** Settles when it was closed; rejects with what the handler threw or the journal could not read. */
  readonly ended: Promise<void>
  /** No further page is handed out; settles when the one in hand is done. */
  close(): Promise<void>
}

export interface Journal extends AsyncDisposable {
  readonly state: JournalState
  commit(batch: Batch): Promise<CommitResult>
  readStream(stream: string, page?: Page<number>): Promise<readonly StoredEvent[]>
  /** Events of all streams by position. */
  readAll(page?: Page<number>): Promise<readonly StoredEvent[]>
  /** The position of the last event, 0 if there is none. */
  position(): Promise<number>
  /** The version of a stream, 0 if it has no event. */
  version(stream: string): Promise<number>
  /** Streams whose name begins with `prefix`, by name. Names and keys are ordered by their UTF-8 bytes. */
  streams(prefix: string, page?: Page<string>): Promise<readonly StreamHead[]>
  /** Records whose key begins with `prefix`, by key. */
  readRecords(
    collection: string,
    prefix: string,
    page?: Page<string>,
  ): Promise<readonly StoredRecord[]>
  /** The records that are there among `keys`, in that order. */
  getRecords(collection: string, keys: readonly string[]): Promise<readonly StoredRecord[]>
  /** What a request id was answered, as long as it is remembered. */
  lookup(key: string): Promise<StoredAnswer | undefined>
  /** All snapshots of a stream made by `fold`, the longest history first. */
  snapshots(stream: string, fold: string): Promise<readonly Snapshot[]>
  subscribe(options: SubscribeOptions): Subscription
  /** Takes the fence of that name: whoever took it before is refused from here on. Durable. */
  takeFence(name: string): Promise<number>
  stats(): JournalStats
  /** Commits that were accepted become durable first. Afterwards everything is refused. */
  close(): Promise<void>
}

/** Why a journal could not do what was asked of it; carried by an `Accident`. */
export type JournalFault = Fault<
  | 'bad-batch'
  | 'bad-read'
  | 'journal-overloaded'
  | 'read-only'
  | 'damaged'
  | 'unknown-outcome'
  | 'journal-closed'
  | 'journal-in-use'
  | 'journal-newer'
>
