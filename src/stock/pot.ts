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
import type { EntityDefinition } from '../entity/index.ts'
import type { Fault } from '../std/index.ts'
import type { Quantity } from './quantity.ts'

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
export type PotReply = Readonly<{ ok: true; body: object }> | Fault<PotRefusal>

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
