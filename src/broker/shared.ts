/** What the queues of one broker share. */
import type { Fence, Journal } from '../journal/index.ts'
import type { Ref } from '../kernel/index.ts'
import type { Log, Random, SteadyClock } from '../std/index.ts'
import type { QueueInfo } from './broker.ts'
import type { QueueMessage } from './queue.ts'

/** A queue as the catalog knows it. */
export type Entry = QueueInfo & Readonly<{ id: number; isDeleting: boolean }>

export type Shared = Readonly<{
  journal: Journal
  fence: Fence
  steady: SteadyClock
  random: Random
  log: Log
  /** The number of the next message, of whichever queue. */
  nextSeq: () => number
  bodies: Bodies
  /** The queue of that name; made if it is a queue for dead letters that is not there. */
  deadLetters: (of: Entry) => Promise<Entry | undefined>
  /** Where to tell a queue something. */
  queueOf: (id: number) => Ref<QueueMessage> | undefined
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
