/**
 * What the three threads of a journal say to each other.
 *
 *   main --entries--> writer --group--> filer
 *     ^--ack, state----'                  |
 *     '--answers--------------------------'
 *
 * The writer and the filer sleep on a shared word each and are woken by whoever has posted them
 * something: that is sooner than the event loop would hear of it.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Accident, Fault } from '../../std/index.ts'
import type { CommitResult } from '../journal.ts'

/** Entries as `FrameWriter.cut` gives them, and when they left. */
export type ToWriter =
  | Readonly<{ type: 'entries'; buffer: ArrayBuffer; count: number; now: number }>
  | Readonly<{ type: 'close' }>

/** Stands in an ack for what was refused. */
export const REFUSED = -1

/** What came of the oldest entries that were not answered yet, in their order. */
export type Ack = Readonly<{
  type: 'ack'
  /**
   * For each one that was granted: the position after it, how many streams it has, and the version of
   * each; for each that took a fence its token and 0; for each that was refused `REFUSED`.
   */
  granted: readonly number[]
  /** What the refused ones are told; a fault rejects. */
  refused: readonly (Exclude<CommitResult, Readonly<{ type: 'committed' }>> | Fault)[]
  /** Bytes of the group, 0 if nothing had to be written. */
  bytes: number
}>

export type FromWriter =
  | Ack
  | Readonly<{ type: 'ready' }>
  | Readonly<{ type: 'state'; state: 'open' | 'read-only' }>
  | Readonly<{ type: 'failed'; fault: Fault }>

/** All a writer begins with. */
export type Start = Readonly<{
  type: 'start'
  token: number
  position: number
  /** The last group there is. */
  number: number
  /** The latest time of an answer. */
  at: number
}>

export type ToFiler =
  | Readonly<{
      type: 'group'
      buffer: ArrayBuffer
      number: number
      at: number
      position: number
      count: number
      /** The group up to which the intake could give room for more; the writer will want it. */
      wanted: number
    }>
  | Readonly<{ type: 'read'; id: number; read: Read }>
  | Readonly<{ type: 'settle'; id: number }>
  | Readonly<{ type: 'close' }>

export type Read =
  | Readonly<{ type: 'position' }>
  | Readonly<{ type: 'version'; stream: string }>
  | Readonly<{ type: 'stream'; stream: string; after: number; limit: number }>
  | Readonly<{ type: 'all'; after: number; limit: number }>
  | Readonly<{ type: 'streams'; prefix: string; after: string | undefined; limit: number }>
  | Readonly<{
      type: 'records'
      collection: string
      prefix: string
      after: string | undefined
      limit: number
    }>
  | Readonly<{ type: 'get'; collection: string; keys: readonly string[] }>
  | Readonly<{ type: 'lookup'; key: string; now: number }>
  | Readonly<{ type: 'snapshots'; stream: string; fold: string }>

export type FromFiler =
  | Readonly<{ type: 'opened'; damage?: Fault }>
  | Readonly<{ type: 'refused'; fault: Fault }>
  | Readonly<{ type: 'answer'; id: number; value: unknown }>
  | Readonly<{ type: 'unanswered'; id: number; fault: Fault }>
  | Readonly<{ type: 'damaged'; fault: Fault }>
  | Readonly<{ type: 'failed'; fault: Fault }>
  | Readonly<{ type: 'closed' }>

/** How the filer is doing, as the writer sees it. */
export const STATUS = { well: 0, full: 1, damaged: 2, failed: 3 } as const
export type Status = (typeof STATUS)[keyof typeof STATUS]

const WRITER = 0
const FILER = 1
const STATUS_AT = 2
const RESTING_AT = 3

/** The words that all three share. */
export class Words {
  readonly buffer: SharedArrayBuffer
  readonly #words: Int32Array<SharedArrayBuffer>
  readonly #numbers: BigInt64Array<SharedArrayBuffer>

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(40)) {
    this.buffer = buffer
    this.#words = new Int32Array(buffer, 0, 4)
    this.#numbers = new BigInt64Array(buffer, 16, 3)
  }

  wakeWriter(): void {
    this.#wake(WRITER)
  }

  wakeFiler(): void {
    this.#wake(FILER)
  }

  /** Wakes the filer if it would not look by itself before long. */
  nudgeFiler(): void {
    if (Atomics.load(this.#words, RESTING_AT) === 1) this.#wake(FILER)
  }

  /** Whether the filer has nothing to do and must be told when it has. */
  set isFilerResting(is: boolean) {
    Atomics.store(this.#words, RESTING_AT, is ? 1 : 0)
  }

  get writerSeen(): number {
    return Atomics.load(this.#words, WRITER)
  }

  get filerSeen(): number {
    return Atomics.load(this.#words, FILER)
  }

  /** Sleeps until woken after `seen`, or for `ms`; false if nobody did. */
  writerSleep(seen: number, ms: number): boolean {
    return Atomics.wait(this.#words, WRITER, seen, ms) !== 'timed-out'
  }

  filerSleep(seen: number, ms: number): boolean {
    return Atomics.wait(this.#words, FILER, seen, ms) !== 'timed-out'
  }

  get status(): number {
    return Atomics.load(this.#words, STATUS_AT)
  }

  set status(status: Status) {
    Atomics.store(this.#words, STATUS_AT, status)
    this.wakeWriter()
  }

  /** The last group that is durable in the tables. */
  get filed(): number {
    return Number(Atomics.load(this.#numbers, 0))
  }

  set filed(number: number) {
    Atomics.store(this.#numbers, 0, BigInt(number))
    this.wakeWriter()
  }

  /** Flushes of the tables. */
  get flushes(): number {
    return Number(Atomics.load(this.#numbers, 1))
  }

  set flushes(count: number) {
    Atomics.store(this.#numbers, 1, BigInt(count))
  }

  /** The last group whose commits may have been answered: it is on its way to the filer. */
  get answered(): number {
    return Number(Atomics.load(this.#numbers, 2))
  }

  set answered(number: number) {
    Atomics.store(this.#numbers, 2, BigInt(number))
  }

  #wake(word: number): void {
    Atomics.add(this.#words, word, 1)
    Atomics.notify(this.#words, word)
  }
}

/** What is posted has gone before this returns; whoever it is for must still be woken. */
export function post(
  port: MessagePort,
  message: ToWriter | FromWriter | Start | ToFiler | FromFiler,
  transfer: ArrayBuffer[] = [],
): void {
  port.postMessage(message, transfer)
}

/** A thread that is done waits to be ended: one that ends by itself has failed. */
export function done(): never {
  const word = new Int32Array(new SharedArrayBuffer(4))
  for (;;) Atomics.wait(word, 0, 0)
}

/** Faults go from thread to thread as they are; of anything else what it says. */
export function faultOf(error: unknown, otherwise: (cause: unknown) => Accident): Fault {
  if (isAccident(error)) return error.fault
  const { detail, ...why } = otherwise(error).fault
  return { ...why, detail: { ...detail, cause: String(error) } }
}

function isAccident(error: unknown): error is Accident {
  return error instanceof Error && 'fault' in error
}
