/** A stock in a world of its own, with a journal that does what a test says. */
import assert from 'node:assert/strict'

import {
  createEntities,
  type Entities,
  type EntitiesOptions,
  type SnapshotPolicy,
} from '../../src/entity/index.ts'
import { memoryJournal, type Journal, type StoredEvent } from '../../src/journal/index.ts'
import { silentLog, type Fault } from '../../src/std/index.ts'
import {
  createStock,
  type DeliveryLine,
  type LevelQuestion,
  type Recorded,
  type Stock,
  type StockRefusal,
} from '../../src/stock/index.ts'
import { virtualClock, world, type World, type WorldOptions } from '../../src/testkit/index.ts'
import { snapshotting } from './model/snapshotting.ts'
import { directory } from './model/subject.ts'

/** What a test may do in place of the journal; `go` is what the journal does. */
export type Script = {
  [Method in 'commit' | 'readStream' | 'snapshots' | 'lookup' | 'readAll']?: (
    go: () => ReturnType<Journal[Method]>,
    ...args: Parameters<Journal[Method]>
  ) => ReturnType<Journal[Method]>
}

export type Said = Recorded<object> | Fault<StockRefusal>

export type Asking = Readonly<{ id: string; at?: number; product?: string }>

export type Scene = Readonly<{
  earth: World
  journal: Journal
  script: Script
  entities: Entities
  stock: Stock
  /** Everything begun anew over the same journal. */
  restarted: (options?: SceneOptions) => Promise<Scene>
  deliver: (to: string, quantity: number, more: Asking) => Promise<Said>
  deliverLines: (to: string, products: readonly DeliveryLine[], more: Asking) => Promise<Said>
  sell: (from: string, quantity: number, more: Asking) => Promise<Said>
  count: (place: string, quantity: number, more: Asking) => Promise<Said>
  move: (from: string, to: string, quantity: number, more: Asking) => Promise<Said>
  /** What is there, and what is pending if anything is, by the view and by a fold from nothing. */
  level: (place: string, product?: string) => Promise<readonly number[]>
  /** Puts the pot away, so that the next who asks wakes it. */
  rest: (place: string, product?: string) => Promise<void>
  events: () => Promise<readonly StoredEvent[]>
}>

/** When everything happens unless a test says otherwise: when a world begins. */
export const NOON: number = virtualClock().now()
/** By then everything has happened. */
const LATER = NOON + 86_400_000

export type SceneOptions = Partial<EntitiesOptions> & Readonly<{ snapshots?: SnapshotPolicy }>

export async function scene(
  options: SceneOptions = {},
  worldOptions: WorldOptions = {},
): Promise<Scene & AsyncDisposable> {
  const earth = world({ stepsMax: 1_000_000, ...worldOptions })
  const script: Script = {}
  const journal = scripted(await memoryJournal({ clock: earth.clock }), script)
  const own = sceneOn(earth, journal, script, options, 1)
  return {
    ...own,
    [Symbol.asyncDispose]: () => earth[Symbol.asyncDispose]().then(() => undefined),
  }
}

function sceneOn(
  earth: World,
  journal: Journal,
  script: Script,
  { snapshots = {}, ...options }: SceneOptions,
  life: number,
): Scene {
  const entities = createEntities({
    system: earth.system,
    journal,
    log: silentLog,
    random: earth.random.fork(),
    name: `entities-${life}`,
    ...options,
  })
  const stock = createStock({
    entities: snapshotting(entities, snapshots),
    locations: directory,
    log: silentLog,
  })
  const by = { actor: 'somebody', deadlineMs: 10_000 }
  const deliverLines: Scene['deliverLines'] = (locationId, products, { id, at = NOON }) =>
    stock.deliver(
      {
        requestId: id,
        locationId,
        supplierId: 's',
        supplierRef: 'ref',
        deliveredAt: at,
        products,
      },
      by,
    )
  const levelOf = async (question: Partial<LevelQuestion>, place: string, product: string) => {
    const which = { locationId: place, productId: product, includeChildren: false }
    const level = await earth.until(stock.level({ ...which, ...question }))
    assert.ok(level.ok, JSON.stringify(level))
    const { quantity = 0, pendingAdjustment } = level.body
    return pendingAdjustment === undefined ? [quantity] : [quantity, pendingAdjustment]
  }
  return {
    earth,
    journal,
    script,
    entities,
    stock,
    restarted: async (more) => {
      await earth.until(stock.close())
      await earth.until(entities.drain())
      return sceneOn(earth, journal, script, { snapshots, ...options, ...more }, life + 1)
    },
    deliverLines,
    deliver: (to, quantity, more) =>
      deliverLines(to, [{ productId: more.product ?? 'p', quantity: String(quantity) }], more),
    sell: (locationId, quantity, more) =>
      stock.sell({ ...line(quantity, more), locationId, soldAt: more.at ?? NOON }, by),
    count: (locationId, quantity, more) =>
      stock.count(
        {
          ...line(quantity, more),
          locationId,
          reason: 'AdminOverride',
          countedAt: more.at ?? NOON,
        },
        by,
      ),
    move: (from, to, quantity, more) =>
      stock.move(
        {
          ...line(quantity, more),
          sourceLocationId: from,
          destinationLocationId: to,
          reason: 'replenishment',
          movedAt: more.at ?? NOON,
        },
        by,
      ),
    level: async (place, product = 'p') => {
      const seen = await journal.position()
      const shown = await levelOf({ seen }, place, product)
      const folded = await levelOf({ asOf: LATER }, place, product)
      assert.deepEqual(shown, folded, 'the view shows what a fold from nothing comes to')
      return shown
    },
    rest: async (place, product = 'p') => {
      await earth.until(stock.passivate(`${product}|${place}`))
    },
    events: () => journal.readAll(),
  }
}

function line(
  quantity: number,
  { id, product = 'p' }: Asking,
): Readonly<{ requestId: string; productId: string; quantity: string }> {
  return { requestId: id, productId: product, quantity: String(quantity) }
}

function scripted(journal: Journal, script: Script): Journal {
  return new Proxy(journal, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target)
      if (typeof method !== 'function') return method
      return (...args: unknown[]) => {
        const go = (): unknown => Reflect.apply(method, target, args)
        const instead: unknown = Reflect.get(script, name)
        return typeof instead === 'function' ? Reflect.apply(instead, script, [go, ...args]) : go()
      }
    },
  })
}
