/**
 * The service as a run sees it: the stock on entities on a journal on a disk of the world, all of which
 * end when the power fails and are begun anew on what the disk has kept.
 *
 * What goes in and out is translated here, by hand, so that the judgement shares no arithmetic and no
 * decoding with what is judged.
 */
import { createEntities, type Entities } from '../../../src/entity/index.ts'
import {
  memoryJournal,
  type Batch,
  type Journal,
  type StoredEvent,
} from '../../../src/journal/index.ts'
import { Accident, fault, silentLog, type Fault } from '../../../src/std/index.ts'
import {
  createStock,
  TRACKED_ROLE,
  type By,
  type Location,
  type LocationDirectory,
  type Recorded,
  type Stock,
  type StockRefusal,
} from '../../../src/stock/index.ts'
import {
  faultyJournal,
  simulatedDisk,
  type SimulatedDisk,
  type World,
} from '../../../src/testkit/index.ts'
import type { Fact, Millionths, Request } from './books.ts'
import { snapshotting } from './snapshotting.ts'
import type { Outcome } from './verdict.ts'

export const LOCATIONS = ['a', 'b', 'c'] as const
export const PRODUCTS = ['p', 'q'] as const
const REASON = 'replenishment'

const PLACES: ReadonlyMap<string, Location> = new Map(
  LOCATIONS.map((id) => [id, { id, roles: [TRACKED_ROLE], children: [] }]),
)

/** Three tracked places side by side. */
export const directory: LocationDirectory = {
  find: (id) => PLACES.get(id),
  path: (id) => (PLACES.has(id) ? [PLACES.get(id)!] : undefined),
  children: (id) => (PLACES.has(id) ? { ...PLACES.get(id)!, children: [] } : undefined),
  health: () => true,
}

export class Subject {
  readonly tally: Record<string, number> = {}
  /** The folds of which there are snapshots. */
  readonly folds: Set<string> = new Set()
  /** A stream that cannot be read, if there is one. */
  unreadable: string | undefined
  readonly #world: World
  readonly #stepMs: number
  #disk: SimulatedDisk
  #isCalm = false
  #life = 0
  #journal: Journal | undefined
  #entities: Entities | undefined
  #stock: Stock | undefined

  /** Each thing the disk or the journal does takes so much, so that others can come in between. */
  constructor(earth: World, stepMs = 0) {
    this.#world = earth
    this.#stepMs = stepMs
    this.#disk = earth.disk()
  }

  get life(): number {
    return this.#life
  }

  get journal(): Journal {
    return this.#journal!
  }

  get entities(): Entities {
    return this.#entities!
  }

  get stock(): Stock {
    return this.#stock!
  }

  /** Whether what is asked of it can be done. */
  get isWell(): boolean {
    return this.#journal?.state === 'open'
  }

  async start(): Promise<void> {
    const { clock, system, random } = this.#world
    this.#life++
    const own = await this.#opened()
    const troubles = this.#isCalm ? [] : (this.#world.options.journalTroubles ?? [])
    const seed = random.below(2 ** 31)
    const troubled = faultyJournal(this.#stepping(own), { seed, clock, troubles })
    this.#journal = this.#partlyUnreadable(troubled)
    this.#entities = createEntities({
      system,
      journal: this.#journal,
      name: `entities-${this.#life}`,
      random: random.fork(),
      log: silentLog,
      activeMax: 3,
      idleMs: 300,
      sweepMs: 100,
    })
    this.#stock = createStock({
      entities: snapshotting(this.#entities, { every: 1 + random.below(5), keep: 2 }),
      locations: directory,
      log: silentLog,
    })
  }

  /** The power fails, and comes back. */
  async restart(): Promise<void> {
    this.#disk.crash()
    this.#end()
    await this.start()
  }

  /** The power fails for the last time, and all that is left goes to a disk that has no faults. */
  async moveToGoodDisk(): Promise<void> {
    this.#disk.crash()
    this.#end()
    const kept = await this.#read()
    this.#disk = simulatedDisk({ clock: this.#world.clock })
    const disk = this.#disk.mount()
    await disk.append(kept)
    await disk.sync()
    this.#isCalm = true
    await this.start()
  }

  passivate(product: string, location: string): void {
    void this.stock.passivate(`${product}|${location}`)
  }

  async send(requestId: string, request: Request, deadlineMs: number): Promise<Outcome> {
    const by: By = { actor: 'somebody', deadlineMs }
    const result = await asked(this.stock, requestId, request, by)
    if (result.ok) {
      const { body, version, position, replayed } = result
      return { type: 'recorded', body, version, position, replayed }
    }
    const { code, detail } = result
    return { type: 'refused', code, isDefinite: detail['mayHaveTakenEffect'] !== true }
  }

  #noteFolds({ snapshots = [] }: Batch): void {
    for (const { fold } of snapshots) this.folds.add(fold)
  }

  #partlyUnreadable(journal: Journal): Journal {
    return new Proxy(journal, {
      get: (target, name) => {
        const own: unknown = Reflect.get(target, name, target)
        if (typeof own !== 'function') return own
        return (...args: readonly unknown[]): unknown => {
          if (name === 'commit') this.#noteFolds(args[0] as Batch)
          if (name === 'readStream' && args[0] === this.unreadable) return Promise.reject(unread())
          return Reflect.apply(own, target, args)
        }
      },
    })
  }

  #stepping<T extends object>(of: T): T {
    if (this.#stepMs === 0) return of
    return new Proxy(of, {
      get: (target, name) => {
        const own: unknown = Reflect.get(target, name, target)
        if (typeof own !== 'function') return own
        if (name === 'stats' || name === 'subscribe') return own.bind(target) as unknown
        return async (...args: readonly unknown[]): Promise<unknown> => {
          await this.#step()
          const done: unknown = await Reflect.apply(own, target, args)
          await this.#step()
          return done
        }
      },
    })
  }

  #step(): Promise<void> {
    const { clock } = this.#world
    return new Promise((resolve) => clock.setTimer(clock.monotonic() + this.#stepMs, resolve))
  }

  #end(): void {
    for (const [what, times] of Object.entries(this.entities.metrics()))
      if (what !== 'active')
        this.tally[`runtime ${what}`] = (this.tally[`runtime ${what}`] ?? 0) + times
    void this.stock.close()
    void this.entities.drain({ drainMs: 1, totalMs: 2 })
    void this.journal.close()
  }

  #opened(): Promise<Journal> {
    const { clock } = this.#world
    return this.#tried(() => memoryJournal({ clock, disk: this.#stepping(this.#disk.mount()) }))
  }

  #read(): Promise<Uint8Array> {
    return this.#tried(() => this.#disk.mount().read())
  }

  /** A disk that fails is tried again, as an operator would. */
  async #tried<T>(what: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.#world.until(what())
      } catch (error) {
        if (!(error instanceof Accident) || error.code !== 'disk-broken') throw error
      }
    }
  }
}

function unread(): Accident {
  return new Accident(fault('journal-overloaded', 'the stream cannot be read for a while'))
}

function asked(
  stock: Stock,
  requestId: string,
  request: Request,
  by: By,
): Promise<Recorded<object> | Fault<StockRefusal>> {
  const { at, location: locationId } = request
  if (request.type === 'delivery') {
    const products = request.lines.map(({ product, quantity }) => ({
      productId: product,
      quantity: decimal(quantity),
    }))
    const supplier = { supplierId: 's', supplierRef: requestId }
    return stock.deliver({ requestId, locationId, ...supplier, deliveredAt: at, products }, by)
  }
  const line = { requestId, productId: request.product, quantity: decimal(request.quantity) }
  switch (request.type) {
    case 'sale':
      return stock.sell({ ...line, locationId, soldAt: at }, by)
    case 'count':
      return stock.count({ ...line, locationId, reason: 'AdminOverride', countedAt: at }, by)
    case 'stock-take':
      return stock.count({ ...line, locationId, reason: 'StockTake', countedAt: at }, by)
    case 'move':
      return stock.move(
        {
          ...line,
          sourceLocationId: locationId,
          destinationLocationId: request.to,
          reason: REASON,
          movedAt: at,
        },
        by,
      )
  }
}

type Stored = Readonly<{
  quantity: string
  effectiveAt: number
  to?: string
  from?: string
  reason?: string
}>

/** What an event of a pot says; undefined if it is nobody's stock. */
export function factOf({ stream, type, data }: StoredEvent): Fact | undefined {
  const parts = /^stock-pot\/(.*)\|(.*)$/.exec(stream)
  if (parts === null) return undefined
  const [product, location] = [decodeURIComponent(parts[1]!), decodeURIComponent(parts[2]!)]
  const { quantity, effectiveAt: at, to, from, reason } = JSON.parse(data) as Stored
  const other = to ?? from
  return {
    product,
    quantity: millionths(quantity),
    location,
    says: saysOf(type, reason),
    at,
    ...(other !== undefined && { other }),
  }
}

function saysOf(type: string, reason: string | undefined): Fact['says'] {
  switch (type) {
    case 'delivered':
    case 'moved-in':
      return 'more'
    case 'sold':
    case 'moved-out':
      return 'less'
    case 'counted':
      return reason === 'StockTake' ? 'is-settled' : 'is'
    default:
      throw new Error(`an event of a pot is ${type}`)
  }
}

export function decimal(quantity: Millionths): string {
  const digits = String(quantity < 0n ? -quantity : quantity).padStart(7, '0')
  const text = `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, '')
  return quantity < 0n ? `-${text}` : text
}

export function millionths(text: string): Millionths {
  const [whole = '0', rest = ''] = text.replace('-', '').split('.')
  const amount = BigInt(whole) * 1_000_000n + BigInt(rest.padEnd(6, '0'))
  return text.startsWith('-') ? -amount : amount
}
