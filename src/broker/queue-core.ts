/**
 * One queue from inside: what its actor keeps between two messages. What it does with them is in the files named
 * for it: sending, receiving, settling, dying, passing-time, purging, redriving, loading.
 */
import type { Ref } from '../kernel/index.ts'
import { Deque, Heap, type HeapItem } from '../std/index.ts'
import type { Delivery, Failure, MoveTask, NewMessage, QueueFault, Sent } from './broker.ts'
import { keyOf } from './message-id.ts'
import { extrasOf } from './message-text.ts'
import { QueueState } from './queue-state.ts'
import type { Leaver } from './dying.ts'
import type { Reading } from './receiving.ts'
import type { Redrive } from './redriving.ts'
import { dedupsOf, messagesOf, notesOf, type Entry, type Shared } from './shared.ts'
import { FREE, NO_SLOT } from './slots.ts'
import type { Writing } from './writing.ts'

/** A receive that waits for something to be handed out. */
export class Waiter implements HeapItem {
  heapIndex = -1
  isGone = false
  readonly max: number
  readonly until: number
  readonly visibilityMs: number
  readonly signal: AbortSignal | undefined
  readonly attemptId: string | undefined
  readonly replyTo: Ref<readonly Delivery[] | QueueFault>

  constructor(
    request: Pick<Waiter, 'max' | 'until' | 'visibilityMs' | 'signal' | 'attemptId' | 'replyTo'>,
  ) {
    this.max = request.max
    this.until = request.until
    this.visibilityMs = request.visibilityMs
    this.signal = request.signal
    this.attemptId = request.attemptId
    this.replyTo = request.replyTo
  }
}

/** A send that waits for room. */
export type Blocked = Readonly<{
  messages: readonly NewMessage[]
  until: number
  replyTo: Ref<readonly (Sent | QueueFault)[]>
}>

/** What was sent under an id, for as long as the id is remembered. */
export type Known = {
  readonly sent: Sent
  readonly until: number
  /** Who waits for it to be durable; undefined once it is. */
  followers: ((outcome: QueueFault | undefined) => void)[] | undefined
}

/** A receive of a FIFO queue that may be asked for again. */
export type Attempt = Readonly<{
  slots: readonly number[]
  gens: readonly number[]
  until: number
}>

/** What has happened since the queue woke. */
export type QueueCounts = {
  sent: number
  received: number
  deleted: number
  nacked: number
  expired: number
  deadLettered: number
  dropped: number
  duplicates: number
}

/** What a queue sets going that ends in a turn of its own. */
export interface Outside {
  /** Ends in `handOutRead`, or in `handBack`. */
  readTexts(keys: readonly string[], reading: Reading): void
  /** Ends in `bury`. */
  findGrave(leaver: Leaver): void
  /** Ends in `stepRedrive` with these texts. */
  readToMove(redrive: Redrive, slots: readonly number[]): void
}

export class QueueCore {
  readonly shared: Shared
  readonly outside: Outside
  readonly state: QueueState
  readonly writing: Writing
  readonly messages: string
  readonly notes: string
  readonly dedups: string
  entry: Entry
  isLoaded = false
  /** Set once the queue is deleted or the broker closes: the answer to everything. */
  ended: QueueFault | undefined
  readonly waiters: Deque<Waiter> = new Deque()
  readonly waiting: Heap<Waiter> = new Heap((a, b) => a.until < b.until)
  readonly blocked: Deque<Blocked> = new Deque()
  readonly known: Map<string, Known> = new Map()
  readonly attempts: Map<string, Attempt> = new Map()
  /** Messages whose count of deliveries is on record, and those whose record is behind. */
  readonly noted: Set<number> = new Set()
  readonly behind: Map<number, number> = new Map()
  readonly failures: Map<number, readonly Failure[]> = new Map()
  /** When messages are too old that have a limit of their own. */
  readonly ownLimits: Map<number, number> = new Map()
  /** Whom a delivery in progress waits for: texts that are being read. */
  readings = 0
  redrive: Redrive | undefined
  readonly pastRedrives: MoveTask[] = []
  readonly counts: QueueCounts = {
    sent: 0,
    received: 0,
    deleted: 0,
    nacked: 0,
    expired: 0,
    deadLettered: 0,
    dropped: 0,
    duplicates: 0,
  }
  purgedAt: number = -Infinity
  /** The numbers of the messages that were loaded, by slot: how a receipt of an earlier start is understood. */
  loaded: Float64Array = new Float64Array(0)

  constructor(shared: Shared, entry: Entry, writing: Writing, outside: Outside) {
    this.shared = shared
    this.outside = outside
    this.entry = entry
    this.writing = writing
    this.state = new QueueState(entry.config.fifo)
    this.messages = messagesOf(entry.id)
    this.notes = notesOf(entry.id)
    this.dedups = dedupsOf(entry.id)
  }

  get now(): number {
    return this.shared.steady.now()
  }

  keyOf(slot: number): string {
    return keyOf(this.state.slots.seq[slot]!)
  }

  /** The slot that a message of an earlier start was loaded into, if it is still there. */
  slotOfLoaded(seq: number): number {
    const { loaded } = this
    let [low, high] = [0, loaded.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (loaded[middle]! < seq) low = middle + 1
      else high = middle
    }
    const { slots } = this.state
    const isThere = loaded[low] === seq && slots.seq[low] === seq && slots.state[low] !== FREE
    return isThere ? low : NO_SLOT
  }

  /** Keeps the text of a message in memory, if there is room. */
  keepText(slot: number, text: string): void {
    const { slots } = this.state
    if (slots.text[slot] === undefined && this.shared.bodies.keep(text.length))
      slots.text[slot] = text
  }

  dropText(slot: number): void {
    const { text } = this.state.slots
    const kept = text[slot]
    if (kept === undefined) return
    this.shared.bodies.giveUp(kept.length)
    text[slot] = undefined
  }

  /** Forgets all about a message that is gone. */
  forget(slot: number): void {
    this.dropText(slot)
    this.noted.delete(slot)
    this.behind.delete(slot)
    this.failures.delete(slot)
    this.ownLimits.delete(slot)
  }

  /** How its deliveries failed, as far as that is remembered. */
  failuresOf(slot: number, text: string): readonly Failure[] {
    return this.failures.get(slot) ?? extrasOf(text)?.failures ?? []
  }

  /** When a message is too old. */
  expiryOf(sentAt: number, own: number): number {
    return Math.min(own, sentAt + this.entry.config.retentionMs)
  }
}
