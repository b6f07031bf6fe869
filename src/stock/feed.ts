/**
 * The change feed: every event of every pot, in order, from any position on.
 *
 * A reader takes one change after the other, and the next page is read when it has taken all. A fact
 * that came late changed levels that had been reported, and says so with the event itself: whoever goes
 * on after a position has missed neither.
 */
import type { Change, Entities } from '../entity/index.ts'
import { potPlace } from './names.ts'
import { particulars, standing } from './past.ts'
import { stockPot, type PotEvent } from './pot.ts'
import { numberOf } from './quantity.ts'
import type { StockChange } from './stock.ts'
import { isoOf } from './time.ts'

/** Pots of which a feed knows how far they are; of others it looks it up. */
const TOPS_MAX = 10_000

type Fact = Change<PotEvent>
type Next = IteratorResult<StockChange, undefined>

const DONE: Next = { done: true, value: undefined }

export class Feed implements AsyncIterableIterator<StockChange, undefined> {
  readonly #entities: Entities
  readonly #subscription: ReturnType<Entities['changes']>
  readonly #onEnd: () => void
  /** The latest time of effect of each pot. */
  readonly #tops = new Map<string, number>()
  #page: readonly Fact[] = []
  #taken = 0
  /** Lets the subscription go on. */
  #turnPage: () => void = () => undefined
  #arrived = Promise.withResolvers<void>()
  #isOver = false
  #failure: unknown

  constructor(entities: Entities, after: number, onEnd: (feed: Feed) => void) {
    this.#entities = entities
    this.#onEnd = () => onEnd(this)
    this.#subscription = entities.changes(stockPot, { after, handle: (page) => this.#take(page) })
    this.#subscription.ended.then(
      () => this.#end(undefined),
      (error: unknown) => this.#end(error),
    )
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<Next> {
    while (this.#taken === this.#page.length) {
      if (this.#failure !== undefined) throw this.#failure
      if (this.#isOver) return DONE
      this.#turnPage()
      await this.#arrived.promise
    }
    const fact = this.#page[this.#taken]!
    const value = await this.#told(fact)
    this.#taken += 1
    return this.#isOver ? DONE : { done: false, value }
  }

  /** Also ends a `next` that waits. */
  async return(): Promise<Next> {
    this.#end(undefined)
    await this.#subscription.close()
    return DONE
  }

  #take(page: readonly Fact[]): Promise<void> {
    if (this.#isOver) return Promise.resolve()
    this.#page = page
    this.#taken = 0
    this.#arrived.resolve()
    this.#arrived = Promise.withResolvers()
    return new Promise((resolve) => {
      this.#turnPage = resolve
    })
  }

  #end(failure: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#failure = failure
    this.#page = []
    this.#taken = 0
    this.#turnPage()
    this.#arrived.resolve()
    this.#onEnd()
  }

  async #told({ key: { id }, event, stored }: Fact): Promise<StockChange> {
    const { supplierId: _id, supplierRef: _ref, ...more } = particulars(event)
    const place = potPlace(id)!
    const { effectiveAt } = event
    const { seq, position, batch, at, actor } = stored
    const top = await this.#topBefore(id, seq)
    this.#tops.delete(id)
    this.#tops.set(id, Math.max(top, effectiveAt))
    if (this.#tops.size > TOPS_MAX) this.#tops.delete(this.#tops.keys().next().value!)
    return {
      position,
      batch,
      type: event.type,
      ...place,
      version: seq,
      effectiveAt: isoOf(effectiveAt),
      recordedAt: isoOf(at),
      requestId: event.requestId,
      amount: numberOf(event.quantity),
      ...(actor === undefined ? undefined : { actor }),
      ...more,
      ...(effectiveAt < top
        ? { discrepancy: await this.#discrepancy(id, seq, effectiveAt) }
        : undefined),
    }
  }

  async #topBefore(id: string, seq: number): Promise<number> {
    const known = this.#tops.get(id)
    if (known !== undefined || seq === 1) return known ?? -Infinity
    const { state } = await this.#entities.read(stockPot, id, { version: seq - 1 })
    return state.lastUpdated ?? -Infinity
  }

  async #discrepancy(
    id: string,
    seq: number,
    effectiveAt: number,
  ): Promise<NonNullable<StockChange['discrepancy']>> {
    const [before, after] = await Promise.all(
      [seq - 1, seq].map((version) => this.#entities.read(stockPot, id, { version })),
    )
    return {
      since: isoOf(effectiveAt),
      before: standing(seq - 1, before!.state),
      after: standing(seq, after!.state),
    }
  }
}
