/** What the queues of one broker share. */
import type { Journal } from '../journal/index.ts'
import type { Log, Random, SteadyClock } from '../std/index.ts'
import type { QueueCounts, QueueInfo } from './broker.ts'
import type { Committing } from './committing.ts'
import type { QueueCore } from './queue-core.ts'
import type { QueueMessage } from './queue.ts'

/** A queue as the catalog knows it. */
export type Entry = QueueInfo & Readonly<{ id: number; isDeleting: boolean }>

/** Counts that go on. */
export type RunningCounts = { -readonly [What in keyof QueueCounts]: number }

export type Shared = Readonly<{
  journal: Journal
  committing: Committing
  /** Of this start: in every number and every receipt. */
  token: number
  steady: SteadyClock
  random: Random
  log: Log
  /** The number of the next message, of whichever queue. */
  nextSeq: () => number
  bodies: Bodies
  totals: RunningCounts
  /** The queues whose messages are in memory, by id: for figures, and nobody changes them here. */
  awake: Map<number, QueueCore>
  /** Where the dead letters of a queue go, if it is there. */
  graveOf: (queue: Entry) => Entry | undefined
  /** The same, made if it is not there. Undefined if it cannot be. */
  makeGrave: (queue: Entry) => Promise<Entry | undefined>
  /** Tells a queue something. One that sleeps is woken instead, and finds on record what it was to be told. */
  tell: (id: number, message: QueueMessage) => void
  entryOf: (id: number) => Entry | undefined
}>

/** How many bytes of texts are in memory, over all queues. */
export class Bodies {
  readonly #max: number
  used = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Whether a text of this length is to be kept; then it counts until it is given up. */
  keep(chars: number): boolean {
    if (this.used + chars > this.#max) return false
    this.used += chars
    return true
  }

  giveUp(chars: number): void {
    this.used -= chars
  }
}

export function messagesOf(id: number): string {
  return `broker-m-${id.toString(36)}`
}

/** Counts of deliveries and failures, of messages that have lived long enough for it. */
export function notesOf(id: number): string {
  return `broker-r-${id.toString(36)}`
}

export function dedupsOf(id: number): string {
  return `broker-d-${id.toString(36)}`
}
