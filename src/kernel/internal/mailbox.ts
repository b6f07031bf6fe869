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
import type { Special } from './special.ts'
import type { Waiter } from './capacity.ts'

const CHUNK_FIRST = 16
const CHUNK = 1_024
const CHUNKS_KEPT = 1_024 // for reuse, 8 MiB: a burst that is repeated allocates nothing
const MAILBOXES_KEPT = 64

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

/** Whose a spare mailbox is: it must not keep a cell that has ended, and everything behind it. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const NOBODY = Object.freeze({}) as Cell

/** Mailboxes of cells that need none any more. */
const spare: Mailbox[] = []

export class Mailbox implements Ready {
  declare cell: Cell
  declare bound: number
  /** How many more messages may wait. Negative while promised mail exceeds the bound. */
  declare room: number
  declare lane: number
  /** Whether there is nothing here but messages in chunks, ever since it was last empty. */
  declare plain: boolean
  declare urgent: unknown
  declare front: Deque<unknown> | null
  /** Who waits for room here, first come first served. */
  declare waiters: Deque<Waiter> | null
  declare queued: boolean
  declare before: Ready | null
  declare after: Ready | null
  #head: Chunk
  #tail: Chunk
  #headAt: number
  #tailAt: number

  private constructor(cell: Cell) {
    this.cell = cell
    this.bound = 0
    this.room = 0
    this.lane = 0
    this.plain = true
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

  /** For a cell that has `express` entries on the express lane. */
  static open(cell: Cell, express: number): Mailbox {
    const mail = spare.pop() ?? new Mailbox(cell)
    const { bound, lane } = cell.options
    mail.cell = cell
    mail.bound = bound
    mail.room = bound - express
    mail.lane = lane
    return mail
  }

  /** An empty mailbox that its cell has let go of. */
  close(): void {
    this.trim()
    if (spare.length >= MAILBOXES_KEPT) return
    this.cell = NOBODY
    spare.push(this)
  }

  /** Whether the cell has no mail at all, here or on the express lane. */
  get isEmpty(): boolean {
    return this.room === this.bound && this.urgent === NONE
  }

  /** Whether nothing here is older than the cell's express mail. */
  get isBehindExpress(): boolean {
    return this.urgent === NONE && (this.front === null || this.front.length === 0)
  }

  push(message: unknown): void {
    if (this.#tailAt === this.#tail.items.length) this.#lengthen()
    this.#tail.items[this.#tailAt++] = message
    this.room--
  }

  pushSpecial(special: Special): void {
    this.plain = false
    this.push(special)
  }

  /** The next turn, ahead of everything. */
  setUrgent(urgent: unknown): void {
    this.plain = false
    this.urgent = urgent
  }

  addWaiter(waiter: Waiter): void {
    this.plain = false
    ;(this.waiters ??= new Deque()).pushBack(waiter)
  }

  #lengthen(): void {
    const next = chunk()
    this.#tail.next = next
    this.#tail = next
    this.#tailAt = 0
  }

  /** Mail from the express lane: older than what is here, and already counted in `room`. */
  surface(message: unknown): void {
    this.plain = false
    ;(this.front ??= new Deque()).pushBack(message)
  }

  /** Mail put back: it comes before everything but the urgent. */
  putBack(message: unknown): void {
    this.plain = false
    ;(this.front ??= new Deque()).pushFront(message)
    this.room--
  }

  /** The next message of the chunk at hand. NONE where it is not as simple as that: see `take`. */
  takePlain(): unknown {
    const at = this.#headAt
    const { items } = this.#head
    if (!this.plain || at === items.length || at === this.#tailAt) return NONE
    const message = items[at]
    items[at] = undefined
    this.#headAt = at + 1
    this.room++
    return message
  }

  /** The next piece of mail, or NONE. */
  take(): unknown {
    if (this.urgent !== NONE || this.front !== null) {
      const first = this.#takeFirst()
      if (first !== NONE) return first
    }
    if (this.#headAt === this.#head.items.length) this.#shorten()
    const at = this.#headAt
    if (at === this.#tailAt && this.#head === this.#tail) return NONE
    const { items } = this.#head
    const message = items[at]
    items[at] = undefined
    this.#headAt = at + 1
    this.room++
    return message
  }

  #takeFirst(): unknown {
    const { urgent } = this
    if (urgent !== NONE) {
      this.urgent = NONE
      return urgent
    }
    if (this.front === null || this.front.length === 0) {
      this.front = null
      return NONE
    }
    this.room++
    return this.front.popFront()
  }

  #shorten(): void {
    const { next } = this.#head
    if (next === null) return
    release(this.#head)
    this.#head = next
    this.#headAt = 0
  }

  /** Everything has been taken: a large chunk goes back to the pool. */
  trim(): void {
    this.front = null
    this.plain = this.waiters === null
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
  if (done.items.length === CHUNK && pool.length < CHUNKS_KEPT) pool.push(done)
}
