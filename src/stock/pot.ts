/**
 * A pot: how much of one product stands at one location.
 *
 * The fold runs in order of effect, so a fact may be told late and finds its place. What could not be
 * taken from stock is remembered as pending: the floor is right and the books are behind, so a sale of
 * what is not there is recorded and the quantity never goes below nothing. A move out is folded like a
 * sale, because a late fact may leave less than was moved.
 *
 * Refusals are answers and leave no trace; the same request may be granted later.
 */
import {
  accept,
  answer,
  entity,
  leg,
  type Decision,
  type EntityDefinition,
} from '../entity/index.ts'
import { fault, unreachable, type Fault } from '../std/index.ts'
import {
  countBody,
  deliveryBody,
  moveBody,
  saleBody,
  type CountBody,
  type DeliveryBody,
  type LevelSetBody,
  type MoveBody,
  type Operation,
  type SaleBody,
} from './bodies.ts'
import { isoOf } from './time.ts'
import { potKey } from './names.ts'
import { isLess, minus, NOTHING, numberOf, plus, type Quantity } from './quantity.ts'

export const MOVE_REASONS = ['replenishment'] as const
export const COUNT_REASONS = ['AdminOverride', 'StockTake'] as const

export type MoveReason = (typeof MOVE_REASONS)[number]
export type CountReason = (typeof COUNT_REASONS)[number]

export type Pot = Readonly<{
  quantity: Quantity
  /** What was asked for and not there: nothing or less, unless a level was set otherwise. */
  pending: Quantity
  /** When the last event in order of effect took effect; null before the first. */
  lastUpdated: number | null
}>

type Happening = Readonly<{ requestId: string; effectiveAt: number; quantity: Quantity }>

export type PotEvent =
  | (Happening & Readonly<{ type: 'delivered'; supplierId: string; supplierRef: string }>)
  | (Happening & Readonly<{ type: 'sold' }>)
  | (Happening & Readonly<{ type: 'moved-out'; moveId: string; to: string; reason: MoveReason }>)
  | (Happening & Readonly<{ type: 'moved-in'; moveId: string; from: string; reason: MoveReason }>)
  | (Happening &
      Readonly<{
        type: 'counted'
        reason: CountReason
        /** Counted minus expected; none for a late count, which history has to be asked about. */
        variance?: Quantity
      }>)
  | (Happening & Readonly<{ type: 'level-set'; pending: Quantity }>)

export type DeliveryLine = Readonly<{ productId: string; quantity: Quantity }>

/** Quantities are positive, those of counts and levels not negative. */
export type PotCommand =
  | Readonly<{
      type: 'deliver'
      requestId: string
      locationId: string
      supplierId: string
      supplierRef: string
      effectiveAt: number
      /** As they were given; those of one product are summed. The pot is that of the first by key. */
      products: readonly DeliveryLine[]
    }>
  | (Happening & Readonly<{ type: 'sell'; locationId: string; productId: string }>)
  | (Happening &
      Readonly<{ type: 'move'; productId: string; from: string; to: string; reason: MoveReason }>)
  | (Happening &
      Readonly<{ type: 'count'; locationId: string; productId: string; reason: CountReason }>)
  | (Happening & Readonly<{ type: 'set-level'; pending: Quantity }>)

export type PotRefusal = 'insufficient-stock' | 'same-location' | 'books-closed' | 'in-the-future'

/** What a request was granted is the body it is answered with, again and again. */
export type PotReply =
  | Readonly<{
      ok: true
      operation: Operation
      body: DeliveryBody | SaleBody | MoveBody | CountBody | LevelSetBody
    }>
  | Fault<PotRefusal>

export type PotRules = Readonly<{
  /** How far ahead of ours the clocks of others may be. */
  futureSkewMs: number
  /** Nothing may take effect before it any more. */
  booksClosedBefore?: number
  /** Whether a sale of more than there is is remembered or refused. */
  oversell: 'accept' | 'refuse'
}>

/** Effective times may be so far in the future, unless said otherwise. */
export const FUTURE_SKEW_MS_DEFAULT = 300_000
/** Products of one delivery. */
export const DELIVERY_PRODUCTS_MAX = 1_000

export type PotDefinition = EntityDefinition<Pot, PotCommand, PotEvent, PotReply>

/** The pot with the rules of the house. All of them have the same history; the rules are for deciding. */
export function stockPotWith(rules: PotRules): PotDefinition {
  const pot: PotDefinition = entity({
    type: 'stock-pot',
    version: 1,
    initial: () => EMPTY,
    decide: (state, command, at) =>
      untimely(rules, command.effectiveAt, at) ?? decide(pot, rules, state, command),
    evolve,
    effectiveAt: ({ effectiveAt }) => effectiveAt,
  })
  return pot
}

export const stockPot: PotDefinition = stockPotWith({
  futureSkewMs: FUTURE_SKEW_MS_DEFAULT,
  oversell: 'accept',
})

/** What each pot of a delivery is told, by key: the first of them decides for all. */
export function deliveredTo(
  command: Extract<PotCommand, { type: 'deliver' }>,
): readonly Readonly<{ key: string; event: PotEvent }>[] {
  const { requestId, locationId, supplierId, supplierRef, effectiveAt, products } = command
  const sums = new Map<string, Quantity>()
  for (const { productId, quantity } of products) {
    const key = potKey({ productId, locationId })
    const sum = sums.get(key)
    sums.set(key, sum === undefined ? quantity : plus(sum, quantity))
  }
  return [...sums]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, quantity]) => ({
      key,
      event: { type: 'delivered', requestId, effectiveAt, quantity, supplierId, supplierRef },
    }))
}

type Decided = Decision<PotEvent, PotReply>

const EMPTY: Pot = { quantity: NOTHING, pending: NOTHING, lastUpdated: null }

function decide(pot: PotDefinition, rules: PotRules, state: Pot, command: PotCommand): Decided {
  const { requestId, effectiveAt } = command
  switch (command.type) {
    case 'deliver': {
      const [first, ...others] = deliveredTo(command)
      return accept(
        first === undefined ? [] : [first.event],
        { ok: true, operation: 'delivery', body: deliveryBody(command) },
        others.map(({ key, event }) => leg(pot, key, [event])),
      )
    }
    case 'sell': {
      const { quantity } = command
      if (rules.oversell === 'refuse' && isLess(state.quantity, quantity))
        return answer(insufficient(state, quantity))
      return accept([{ type: 'sold', requestId, effectiveAt, quantity }], {
        ok: true,
        operation: 'sale',
        body: saleBody(command),
      })
    }
    case 'move':
      return decideMove(pot, state, command)
    case 'count': {
      const { quantity, reason } = command
      const counted: PotEvent = { type: 'counted', requestId, effectiveAt, quantity, reason }
      const isLate = state.lastUpdated !== null && effectiveAt < state.lastUpdated
      // What stood there at that time is not in the state any more.
      const event = isLate ? counted : { ...counted, variance: minus(quantity, state.quantity) }
      return accept([event], { ok: true, operation: 'count', body: countBody(command) })
    }
    case 'set-level': {
      const { quantity, pending } = command
      const body = {
        requestId,
        quantity: numberOf(quantity),
        pendingAdjustment: numberOf(pending),
      }
      const event: PotEvent = { type: 'level-set', requestId, effectiveAt, quantity, pending }
      return accept([event], { ok: true, operation: 'level', body })
    }
    default:
      return unreachable(command)
  }
}

/** A credit has no precondition, so the source alone decides and writes both ends. */
function decideMove(
  pot: PotDefinition,
  state: Pot,
  command: Extract<PotCommand, { type: 'move' }>,
): Decided {
  const { requestId, effectiveAt, quantity, productId, from, to, reason } = command
  if (from === to)
    return answer(
      fault('same-location', 'a move leads to where it comes from', {
        locationId: from,
        remedy: 'name two different locations',
      }),
    )
  if (isLess(state.quantity, quantity)) return answer(insufficient(state, quantity))
  const both = { requestId, effectiveAt, quantity, moveId: requestId, reason }
  return accept(
    [{ type: 'moved-out', ...both, to }],
    { ok: true, operation: 'move', body: moveBody(command) },
    [leg(pot, potKey({ productId, locationId: to }), [{ type: 'moved-in', ...both, from }])],
  )
}

function evolve(state: Pot, event: PotEvent): Pot {
  const { quantity, effectiveAt: lastUpdated } = event
  switch (event.type) {
    case 'delivered':
    case 'moved-in':
      return { quantity: plus(state.quantity, quantity), pending: state.pending, lastUpdated }
    case 'sold':
    case 'moved-out': {
      const left = minus(state.quantity, quantity)
      if (!isLess(left, NOTHING)) return { quantity: left, pending: state.pending, lastUpdated }
      return { quantity: NOTHING, pending: plus(state.pending, left), lastUpdated }
    }
    case 'counted': {
      // Whoever takes stock settles what was in doubt; an override says the quantity only.
      const pending = event.reason === 'StockTake' ? NOTHING : state.pending
      return { quantity, pending, lastUpdated }
    }
    case 'level-set':
      return { quantity, pending: event.pending, lastUpdated }
    default:
      return unreachable(event)
  }
}

function untimely(
  { futureSkewMs, booksClosedBefore }: PotRules,
  effectiveAt: number,
  at: number,
): Decided | undefined {
  if (effectiveAt > at + futureSkewMs)
    return answer(
      fault('in-the-future', 'it is said to take effect in the future', {
        effectiveAt: isoOf(effectiveAt),
        latest: isoOf(at + futureSkewMs),
        remedy: 'record what has happened; compare your clock with ours',
      }),
    )
  if (booksClosedBefore !== undefined && effectiveAt < booksClosedBefore)
    return answer(
      fault('books-closed', 'the books are closed for that time', {
        effectiveAt: isoOf(effectiveAt),
        closedBefore: isoOf(booksClosedBefore),
        remedy: 'record it at a time for which the books are open, as a count perhaps',
      }),
    )
  return undefined
}

function insufficient(state: Pot, quantity: Quantity): Fault<'insufficient-stock'> {
  return fault('insufficient-stock', 'there is not enough stock', {
    quantity: numberOf(state.quantity),
    missing: numberOf(minus(quantity, state.quantity)),
    remedy: 'take less, or record first what was delivered or counted',
  })
}
