/**
 * One queue from inside: what its actor keeps between two messages. What it does with them is in the files named
 * for it: sending, receiving, settling, counting, dying, passing-time, purging, redriving, loading.
 */
import type { Ref } from '../kernel/index.ts'
import { Deque } from '../std/index.ts'
import type { Failure, NewMessage, QueueFault, Sent } from './broker.ts'
import type { Leaver } from './dying.ts'
import { keyOf } from './message-id.ts'
import { extrasOf, NO_FAILURES } from './message-text.ts'
import type { Purge } from './purging.ts'
import { QueueState } from './queue-state.ts'
import type { Reading } from './receiving.ts'
import type { PastRedrive, Redrive } from './redriving.ts'
import {
  dedupsOf,
  messagesOf,
  notesOf,
  type Entry,
  type RunningCounts,
  type Shared,
} from './premises.ts'
import { Waiters } from './waiters.ts'
import type { Writing } from './writing.ts'

/** A send that waits for room. */
export type Blocked = Readonly<{
  messages: readonly NewMessage[]
  until: number
  replyTo: Ref<readonly (Sent | QueueFault)[]>
}>

/** What was sent under an id, for as long as the id is remembered. */
export type Known = {
  readonly key: string
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

/** What a queue sets going that ends in a turn of its own. */
export interface Outside {
  /** Ends in `handOutRead`. */
  readTexts(keys: readonly string[], reading: Reading): void
  /** Ends in `bury`. */
  findGraves(leavers: readonly Leaver[]): void
  /** Ends in `stepRedrive` with these texts. */
  readToMove(redrive: Redrive, slots: readonly number[]): void
  /** Another turn for what was not finished in this one. */
  goOn(): void
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
  /** Set once the queue is deleted or the broker closes: the answer to everything. */
  ended: QueueFault | undefined
  readonly waiters: Waiters = new Waiters()
  readonly blocked: Deque<Blocked> = new Deque()
  /** By key, in the order in which they are forgotten. */
  readonly known: Map<string, Known> = new Map()
  readonly attempts: Map<string, Attempt> = new Map()
  /** Messages whose count of deliveries is on record, and those whose record is behind, and since when. */
  readonly noted: Set<number> = new Set()
  readonly behind: Map<number, number> = new Map()
  isCounting = false
  readonly failures: Map<number, readonly Failure[]> = new Map()
  /** Who wants to know when a message that is between two states has come to one. */
  readonly #settled: Map<number, (() => void)[]> = new Map()
  /** On their way to the dead letters, in order; those in `burying` first. */
  readonly dying: Deque<Leaver> = new Deque()
  isBurying = false
  redrive: Redrive | undefined
  readonly pastRedrives: PastRedrive[] = []
  purge: Purge | undefined
  purgedAt: number = -Infinity
  /** Messages of this start that were loaded: another queue may yet say that they have arrived. */
  readonly foundEarly: Set<number> = new Set()
  readonly counts: RunningCounts = zeroCounts()

  constructor(shared: Shared, entry: Entry, writing: Writing, outside: Outside) {
    this.shared = shared
    this.outside = outside
    this.entry = entry
    this.writing = writing
    this.state = new QueueState(entry.config.fifo, entry.config.retentionMs)
    this.messages = messagesOf(entry.id)
    this.notes = notesOf(entry.id)
    this.dedups = dedupsOf(entry.id)
    shared.awake.set(entry.id, this)
  }

  get now(): number {
    return this.shared.steady.now()
  }

  /** Nothing is under way that has yet to end. */
  get isAtRest(): boolean {
    return this.writing.isIdle && !this.isBurying && this.dying.length === 0
  }

  keyOf(slot: number): string {
    return keyOf(this.state.slots.seq[slot]!)
  }

  count(what: keyof RunningCounts, times = 1): void {
    this.counts[what] += times
    this.shared.totals[what] += times
  }

  /** Keeps the text of a message in memory, if there is room. */
  keepText(slot: number, text: string): void {
    const { texts } = this.state.slots
    if (texts.get(slot) === undefined && this.shared.bodies.keep(text.length)) texts.set(slot, text)
  }

  /** A message that was between two states is gone. */
  release(slot: number): void {
    this.forget(slot)
    this.state.release(slot)
    this.#tellSettled(slot)
  }

  /** A message that was between two states is where it was. */
  stay(slot: number, dueAt: number): void {
    this.state.stay(slot, this.now, dueAt)
    this.#tellSettled(slot)
  }

  /** A message whose delivery was to end is held by whom it was held. */
  holdOn(slot: number): void {
    this.state.holdOn(slot)
    this.#tellSettled(slot)
  }

  whenSettled(slot: number, then: () => void): void {
    const waiting = this.#settled.get(slot)
    if (waiting === undefined) this.#settled.set(slot, [then])
    else waiting.push(then)
  }

  #tellSettled(slot: number): void {
    const waiting = this.#settled.get(slot)
    if (waiting === undefined) return
    this.#settled.delete(slot)
    for (const then of waiting) then()
  }

  /** Forgets all about a message that is gone. */
  forget(slot: number): void {
    const { texts } = this.state.slots
    const kept = texts.get(slot)
    if (kept !== undefined) {
      this.shared.bodies.giveUp(kept.length)
      texts.drop(slot)
    }
    this.noted.delete(slot)
    this.behind.delete(slot)
    this.failures.delete(slot)
  }

  /** How its deliveries failed, as far as that is remembered. */
  failuresOf(slot: number, text: string): readonly Failure[] {
    return this.failures.get(slot) ?? extrasOf(text)?.failures ?? NO_FAILURES
  }
}

export function zeroCounts(): RunningCounts {
  return {
    sent: 0,
    received: 0,
    deleted: 0,
    nacked: 0,
    expired: 0,
    deadLettered: 0,
    dropped: 0,
    duplicates: 0,
    purged: 0,
    moved: 0,
    leasesEnded: 0,
  }
}
