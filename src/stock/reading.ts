/**
 * What is where: one product at one place with everything inside it, and lists by place and by product.
 *
 * Totals are made over the tree of the moment. They are sums of what is there; what is pending is never
 * part of one. An untracked place has no quantity of its own.
 */
import type { Entities, ReadOptions } from '../entity/index.ts'
import { fault, type Fault } from '../std/index.ts'
import { mishapOf, READ_MISHAPS } from './accidents.ts'
import {
  INDEX,
  LEVEL,
  MOVE,
  moveIn,
  standingOf,
  type Levels,
  type MoveRecord,
  type PotStanding,
} from './levels.ts'
import {
  isTracked,
  type FindOptions,
  type LocationDirectory,
  type LocationTree,
} from './locations/directory.ts'
import { notFound } from './locations/register.ts'
import { decodedId, encodedId, isRequestId, potKey, potPlace } from './names.ts'
import { stockPot, type Pot } from './pot.ts'
import { NOTHING, numberOf, plus, type Quantity } from './quantity.ts'
import type {
  Level,
  LevelNode,
  LevelQuestion,
  Listed,
  MoveReport,
  PotLevel,
  StockOptions,
  StockPage,
  StockReadRefusal,
} from './stock.ts'
import { isoOf } from './time.ts'

/** Items of a list, unless it is said how many, and at most. */
export const STOCK_LIST_DEFAULT = 100
export const STOCK_LIST_MAX = 1_000

/** Histories that are read at the same time. */
const READS_AT_ONCE = 32

type Unread = Fault<StockReadRefusal>
type Standings = ReadonlyMap<string, PotStanding>

export class Reading {
  readonly #entities: Entities
  readonly #locations: LocationDirectory
  readonly #levels: Levels
  /** The position after the last write that was answered. */
  readonly #answered: () => number

  constructor({ entities, locations }: StockOptions, levels: Levels, answered: () => number) {
    this.#entities = entities
    this.#locations = locations
    this.#levels = levels
    this.#answered = answered
  }

  async level(question: LevelQuestion): Promise<Level | Unread> {
    const { locationId, productId, includeChildren, trace } = question
    return guarded(async () => {
      const tree = await this.#tree(locationId, includeChildren, tracing(trace))
      if (tree === undefined) return notFound(locationId)
      const standings = await this.#standings(question, keysOf(tree, productId))
      const own = standings.get(potKey({ productId, locationId }))
      const { quantity, pendingAdjustment, totalQuantity, childLocations } = nodeOf(
        tree,
        productId,
        standings,
      ).node
      const body = {
        locationId,
        productId,
        ...(quantity === undefined ? undefined : { quantity }),
        ...(pendingAdjustment === undefined ? undefined : { pendingAdjustment }),
        ...lastUpdatedOf(own),
        ...(includeChildren ? { totalQuantity } : undefined),
        ...(childLocations === undefined ? undefined : { childLocations }),
      }
      return { ok: true, body, version: own?.version ?? 0, position: this.#levels.position }
    })
  }

  async productsAt(locationId: string, page: StockPage = {}): Promise<Listed<PotLevel> | Unread> {
    return guarded(async () => {
      const place = await this.#locations.find(locationId)
      if (place === undefined) return notFound(locationId)
      if (!isTracked(place)) return { ok: true, items: [], position: this.#levels.position }
      const prefix = `${INDEX}${encodedId(locationId)}|`
      const listed = await this.#list(prefix, page, isEncodedId)
      if (!listed.ok) return listed
      const keys = listed.items.map(
        ({ key }) => `${LEVEL}${key.slice(prefix.length)}|${encodedId(locationId)}`,
      )
      const values = await this.#levels.getAll(keys)
      const items = keys.flatMap((key) => levelOf(key, standingOf(values.get(key))))
      return { ...listed, items }
    })
  }

  async locationsOf(productId: string, page: StockPage = {}): Promise<Listed<PotLevel> | Unread> {
    return guarded(async () => {
      const listed = await this.#list(`${LEVEL}${encodedId(productId)}|`, page, isEncodedId)
      if (!listed.ok) return listed
      const items = listed.items.flatMap(({ key, value }) => levelOf(key, standingOf(value)))
      return { ...listed, items }
    })
  }

  async move(
    moveId: string,
    seen: number | undefined,
  ): Promise<Readonly<{ ok: true; move: MoveReport }> | Unread> {
    return guarded(async () => {
      const value = await this.#levels.get(MOVE + moveId, this.#seeing(seen))
      const found = moveIn(value)
      return found === undefined ? noSuchMove(moveId) : { ok: true, move: moveReport(found) }
    })
  }

  async moves(page: StockPage = {}): Promise<Listed<MoveReport> | Unread> {
    return guarded(async () => {
      const listed = await this.#list(MOVE, page, isRequestId)
      if (!listed.ok) return listed
      const items = listed.items.flatMap(({ value }) => {
        const found = moveIn(value)
        return found === undefined ? [] : [moveReport(found)]
      })
      return { ...listed, items }
    })
  }

  async #tree(
    id: string,
    includeChildren: boolean,
    options: FindOptions | undefined,
  ): Promise<LocationTree | undefined> {
    if (includeChildren) return this.#locations.children(id, undefined, options)
    const place = await this.#locations.find(id, options)
    return place === undefined ? undefined : { id, roles: place.roles, children: [] }
  }

  /** What the pots were at the time that is asked for; those without any event are left out. */
  async #standings(
    { asOf, asAt, seen }: LevelQuestion,
    keys: readonly string[],
  ): Promise<Standings> {
    const values = await this.#levels.getAll(
      keys.map((key) => LEVEL + key),
      this.#seeing(seen),
    )
    const standings = new Map<string, PotStanding>()
    for (const key of keys) {
      const standing = standingOf(values.get(LEVEL + key))
      if (standing !== undefined) standings.set(key, standing)
    }
    if (asOf === undefined && asAt === undefined) return standings
    const moment = {
      ...(asOf === undefined ? undefined : { asOf }),
      ...(asAt === undefined ? undefined : { asAt }),
    }
    const known = [...standings.keys()]
    for (let n = 0; n < known.length; n += READS_AT_ONCE) {
      await Promise.all(
        known.slice(n, n + READS_AT_ONCE).map(async (key) => {
          const { state, version } = await this.#entities.read(stockPot, key, moment)
          standings.set(key, { ...state, version })
        }),
      )
    }
    return standings
  }

  #seeing(seen: number | undefined): ReadOptions {
    return { seen: seen ?? this.#answered() }
  }

  async #list(
    prefix: string,
    { after, limit = STOCK_LIST_DEFAULT, seen }: StockPage,
    isCursor: (text: string) => boolean,
  ) {
    if (after !== undefined && !isCursor(after)) return badCursor(after)
    const most = Math.min(Math.max(1, limit), STOCK_LIST_MAX)
    const found = await this.#levels.list(prefix, {
      ...this.#seeing(seen),
      ...(after === undefined ? undefined : { after: prefix + after }),
      limit: most + 1,
    })
    const items = found.slice(0, most)
    const isMore = found.length > most
    return {
      ok: true as const,
      items,
      ...(isMore ? { next: items.at(-1)!.key.slice(prefix.length) } : undefined),
      position: this.#levels.position,
    }
  }
}

/** What fails below is answered, not thrown. */
export async function guarded<Value>(
  work: () => Promise<Value>,
): Promise<Value | Fault<(typeof READ_MISHAPS)[number]>> {
  try {
    return await work()
  } catch (error) {
    return mishapOf(error, READ_MISHAPS)
  }
}

export function badCursor(after: string): Fault<'bad-cursor'> {
  return fault('bad-cursor', 'a page cannot begin there', {
    after: after.slice(0, 100),
    remedy: 'give the cursor that the page before has named, as it was',
  })
}

function noSuchMove(moveId: string): Fault<'no-such-move'> {
  return fault('no-such-move', 'there is no such move', {
    moveId,
    remedy: 'give the id that the move was answered with',
  })
}

function tracing(traceparent: string | undefined): FindOptions | undefined {
  return traceparent === undefined ? undefined : { traceparent }
}

function isEncodedId(text: string): boolean {
  return decodedId(text) !== undefined
}

function keysOf(tree: LocationTree, productId: string): readonly string[] {
  const keys = [potKey({ productId, locationId: tree.id })]
  for (const child of tree.children) keys.push(...keysOf(child, productId))
  return keys
}

function nodeOf(
  tree: LocationTree,
  productId: string,
  standings: Standings,
): Readonly<{ node: LevelNode; total: Quantity }> {
  const { id: locationId } = tree
  const inside = tree.children.map((child) => nodeOf(child, productId, standings))
  const pot: Pot | undefined = isTracked(tree)
    ? (standings.get(potKey({ productId, locationId })) ?? stockPot.initial(''))
    : undefined
  const total = inside.reduce((sum, child) => plus(sum, child.total), pot?.quantity ?? NOTHING)
  const node: LevelNode = {
    locationId,
    ...(pot === undefined ? undefined : { quantity: numberOf(pot.quantity) }),
    ...(pot === undefined ? undefined : pendingOf(pot)),
    totalQuantity: numberOf(total),
    ...(inside.length === 0 ? undefined : { childLocations: inside.map((child) => child.node) }),
  }
  return { node, total }
}

function pendingOf({ pending }: Pot): Readonly<{ pendingAdjustment?: number }> {
  return pending === NOTHING ? {} : { pendingAdjustment: numberOf(pending) }
}

function lastUpdatedOf(pot: Pot | undefined): Readonly<{ lastUpdated?: string }> {
  const lastUpdated = pot?.lastUpdated ?? null
  return lastUpdated === null ? {} : { lastUpdated: isoOf(lastUpdated) }
}

function levelOf(key: string, standing: PotStanding | undefined): readonly PotLevel[] {
  const place = potPlace(key.slice(LEVEL.length))
  if (place === undefined || standing === undefined || standing.lastUpdated === null) return []
  return [
    {
      ...place,
      quantity: numberOf(standing.quantity),
      ...pendingOf(standing),
      lastUpdated: isoOf(standing.lastUpdated),
      version: standing.version,
    },
  ]
}

function moveReport(record: MoveRecord): MoveReport {
  const { moveId, requestId, source, to, quantity, reason, position, actor } = record
  const { productId, locationId } = potPlace(source)!
  return {
    moveId,
    requestId,
    state: 'completed',
    productId,
    sourceLocationId: locationId,
    destinationLocationId: to,
    quantity: numberOf(quantity),
    reason,
    movedAt: isoOf(record.movedAt),
    recordedAt: isoOf(record.recordedAt),
    position,
    ...(actor === undefined ? undefined : { actor }),
  }
}
