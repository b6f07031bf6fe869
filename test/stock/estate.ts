/** A stock with the built-in registry of places, in a world of its own. */
import { createEntities, type Entities, type EntitiesOptions } from '../../src/entity/index.ts'
import { memoryJournal, type Journal } from '../../src/journal/index.ts'
import { silentLog } from '../../src/std/index.ts'
import {
  createStock,
  openRegistry,
  TRACKED_ROLE,
  type By,
  type LocationDirectory,
  type LocationRegistry,
  type Stock,
  type StockOptions,
} from '../../src/stock/index.ts'
import { virtualClock, world, type World } from '../../src/testkit/index.ts'

export const BY: By = {
  actor: 'ada',
  trace: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
}

/** When a world begins. */
export const NOON: number = virtualClock().now()
export const MINUTE = 60_000

export type Estate = AsyncDisposable &
  Readonly<{
    earth: World
    journal: Journal
    entities: Entities
    places: LocationRegistry
    stock: Stock
    /** What comes of it, with as much time as it takes. */
    until: <Value>(work: Promise<Value>) => Promise<Value>
    deliver: (to: string, quantity: string, more?: Particulars) => ReturnType<Stock['deliver']>
    sell: (from: string, quantity: string, more?: Particulars) => ReturnType<Stock['sell']>
    count: (at: string, quantity: string, more?: Particulars) => ReturnType<Stock['count']>
    move: (
      from: string,
      to: string,
      quantity: string,
      more?: Particulars,
    ) => ReturnType<Stock['move']>
  }>

export type Particulars = Readonly<{ id?: string; at?: number; product?: string; by?: Partial<By> }>

export type EstateOptions = Readonly<{
  entities?: Partial<EntitiesOptions>
  stock?: Partial<StockOptions>
  journal?: (journal: Journal) => Journal
  /** In place of the registry, where writes are to be tested. */
  locations?: LocationDirectory
}>

/**
 *   DC*             a star is a tracked place
 *   ├ WH1*
 *   │ ├ SU*
 *   │ └ zone        (untracked)
 *   └ WH2*
 *   yard            (untracked, as is its only place)
 *   └ gate
 */
const PLACES: readonly [id: string, parent: string | undefined, isTracked: boolean][] = [
  ['DC', undefined, true],
  ['WH1', 'DC', true],
  ['WH2', 'DC', true],
  ['SU', 'WH1', true],
  ['zone', 'WH1', false],
  ['yard', undefined, false],
  ['gate', 'yard', false],
]

export async function estate(options: EstateOptions = {}): Promise<Estate> {
  const earth = world({ stepsMax: 1_000_000 })
  const kept = await memoryJournal({ clock: earth.clock })
  const journal = options.journal?.(kept) ?? kept
  const entities = createEntities({
    system: earth.system,
    journal,
    log: silentLog,
    random: earth.random.fork(),
    ...options.entities,
  })
  const places = await earth.until(openRegistry(entities))
  for (const [id, parent, isTracked] of PLACES) {
    const roles = isTracked ? [TRACKED_ROLE] : []
    await earth.until(
      places.create({ id, roles, ...(parent === undefined ? undefined : { parent }) }, BY),
    )
  }
  const locations = options.locations ?? places
  const stock = createStock({ entities, locations, ...options.stock })
  let requests = 0
  const common = ({ id = `r-${++requests}`, product = 'p' }: Particulars) => ({
    requestId: id,
    productId: product,
  })
  const until = <Value>(work: Promise<Value>): Promise<Value> => earth.until(work)
  return {
    earth,
    journal,
    entities,
    places,
    stock,
    until,
    deliver: (locationId, quantity, more = {}) => {
      const { requestId, productId } = common(more)
      const products = [{ productId, quantity }]
      const delivery = { requestId, locationId, supplierId: 's', supplierRef: 'ref', products }
      return until(stock.deliver({ ...delivery, deliveredAt: more.at ?? NOON }, by(more)))
    },
    sell: (locationId, quantity, more = {}) => {
      const sale = { ...common(more), locationId, quantity, soldAt: more.at ?? NOON }
      return until(stock.sell(sale, by(more)))
    },
    count: (locationId, quantity, more = {}) => {
      const countedAt = more.at ?? NOON
      const count = { ...common(more), locationId, quantity, countedAt, reason: REASON }
      return until(stock.count(count, by(more)))
    },
    move: (sourceLocationId, destinationLocationId, quantity, more = {}) => {
      const ends = { sourceLocationId, destinationLocationId }
      const moved = { quantity, reason: 'replenishment', movedAt: more.at ?? NOON } as const
      return until(stock.move({ ...common(more), ...ends, ...moved }, by(more)))
    },
    [Symbol.asyncDispose]: () => earth[Symbol.asyncDispose]().then(() => undefined),
  }
}

const REASON = 'AdminOverride' as const

function by(more: Particulars): By {
  return { ...BY, ...more.by }
}

/** A journal whose commits end otherwise, from when a test says so. */
export function breakableJournal(): Readonly<{
  journal: (journal: Journal) => Journal
  /** `go` commits. */
  script: { commit?: (go: () => Promise<unknown>) => Promise<unknown> }
}> {
  const script: { commit?: (go: () => Promise<unknown>) => Promise<unknown> } = {}
  return {
    script,
    journal: (journal) =>
      new Proxy(journal, {
        get(target, name) {
          const method: unknown = Reflect.get(target, name, target)
          if (typeof method !== 'function') return method
          return (...args: unknown[]): unknown => {
            const go = (): unknown => Reflect.apply(method, target, args)
            // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what commit answers
            return name === 'commit' && script.commit ? script.commit(go as never) : go()
          }
        },
      }),
  }
}
