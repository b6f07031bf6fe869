/**
 * A mailbox: the mail of one cell that is not on the express lane.
 *
 *   urgent   the next turn, whatever waits (entering a state, a retry)
 *   front    older than everything behind it: mail that surfaced while the cell
 *            could not run, and mail put back from the stash
 *   chunks   the rest, in order of arrival
 *
 * Chunks are linked arrays taken from a pool and given back when empty, so a
 * long backlog never copies itself into a larger array. `room` is exact: it is
 * the bound less everything that waits, express mail included.
 */
import { Deque } from '../../std/index.ts'
import type { Cell } from './cell.ts'
import type { Ready } from './ready-queue.ts'
import type { Waiter } from './capacity.ts'

const CHUNK_FIRST = 16
const CHUNK = 1_024
const POOL_MAX = 64 // chunks kept for reuse: half a megabyte

/** Stands for "nothing", since any value may be a message. */
export const NONE: unique symbol = Symbol('none')

class Chunk {
  readonly items: unknown[]
  next: Chunk | null = null

  constructor(length: number) {
    this.items = Array<unknown>(length).fill(undefined)
  }
}

const pool: Chunk[] = []

function chunk(): Chunk {
  return pool.pop() ?? new Chunk(CHUNK)
}

/** Mailboxes of cells that need none any more. */
const spare: Mailbox[] = []

export class Mailbox implements Ready {
  cell: Cell
  /** How many more messages may wait. Negative while promised mail exceeds the bound. */
  room: number
  lane: number
  /** Messages here, urgent not counted. */
  size: number
  urgent: unknown
  front: Deque<unknown> | null
  /** Who waits for room here, first come first served. */
  waiters: Deque<Waiter> | null
  queued: boolean
  before: Ready | null
  after: Ready | null
  #head: Chunk
  #tail: Chunk
  #headAt: number
  #tailAt: number

  private constructor(cell: Cell, room: number, lane: number) {
    this.cell = cell
    this.room = room
    this.lane = lane
    this.size = 0
    this.urgent = NONE
    this.front = null
    this.waiters = null
    this.queued = false
    this.before = null
    this.after = null
    this.#head = new Chunk(CHUNK_FIRST)
    this.#tail = this.#head
    this.#headAt = 0
    this.#tailAt = 0
  }

  static open(cell: Cell, room: number, lane: number): Mailbox {
    const mail = spare.pop()
    if (mail === undefined) return new Mailbox(cell, room, lane)
    mail.cell = cell
    mail.room = room
    mail.lane = lane
    return mail
  }

  /** An empty mailbox that its cell has let go of. */
  close(): void {
    this.trim()
    if (spare.length < POOL_MAX) spare.push(this)
  }

  get isEmpty(): boolean {
    return this.size === 0 && this.urgent === NONE
  }

  /** Whether nothing here is older than the cell's express mail. */
  get isBehindExpress(): boolean {
    return this.urgent === NONE && (this.front === null || this.front.length === 0)
  }

  push(message: unknown): void {
    let tail = this.#tail
    if (this.#tailAt === tail.items.length) {
      const next = chunk()
      tail.next = next
      this.#tail = next
      this.#tailAt = 0
      tail = next
    }
    tail.items[this.#tailAt++] = message
    this.size++
    this.room--
  }

  /** Mail from the express lane: older than what is here, and already counted in `room`. */
  surface(message: unknown): void {
    ;(this.front ??= new Deque()).pushBack(message)
    this.size++
  }

  /** Mail put back: it comes before everything but the urgent. */
  putBack(message: unknown): void {
    ;(this.front ??= new Deque()).pushFront(message)
    this.size++
    this.room--
  }

  /** The next piece of mail, or NONE. */
  take(): unknown {
    if (this.urgent !== NONE) {
      const urgent = this.urgent
      this.urgent = NONE
      return urgent
    }
    if (this.size === 0) return NONE
    this.size--
    this.room++
    if (this.front !== null && this.front.length > 0) return this.front.popFront()
    let head = this.#head
    if (this.#headAt === head.items.length) {
      const next = head.next as Chunk
      release(head)
      this.#head = next
      this.#headAt = 0
      head = next
    }
    const message = head.items[this.#headAt]
    head.items[this.#headAt++] = undefined
    return message
  }

  /** Everything has been taken: a large chunk goes back to the pool. */
  trim(): void {
    this.front = null
    this.#headAt = 0
    this.#tailAt = 0
    if (this.#head.items.length === CHUNK_FIRST) return
    release(this.#head)
    this.#head = new Chunk(CHUNK_FIRST)
    this.#tail = this.#head
  }
}

function release(done: Chunk): void {
  done.next = null
  if (done.items.length === CHUNK && pool.length < POOL_MAX) pool.push(done)
}
