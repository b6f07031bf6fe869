/**
 * What a request is answered once it is granted: what was asked for, as it was understood.
 *
 * These are stored beside the request id and given again when it is repeated, so a body is all texts and
 * numbers, times are ISO-8601 in UTC, and an old one may be given out by a later program.
 */
import { isoOf } from './time.ts'
import type { CountReason, MoveReason, PotCommand } from './pot.ts'
import { numberOf } from './quantity.ts'

export type DeliveryBody = Readonly<{
  requestId: string
  locationId: string
  supplierId: string
  supplierRef: string
  deliveredAt: string
  products: readonly Readonly<{ productId: string; quantity: number }>[]
}>

export type SaleBody = Readonly<{
  requestId: string
  locationId: string
  productId: string
  quantitySold: number
  soldAt: string
}>

export type MoveBody = Readonly<{
  requestId: string
  moveId: string
  sourceLocationId: string
  destinationLocationId: string
  productId: string
  quantity: number
  reason: MoveReason
  movedAt: string
}>

export type CountBody = Readonly<{
  requestId: string
  location: string
  productId: string
  quantity: number
  reason: CountReason
  countedAt: string
}>

/** Of an import, which no endpoint leads to. */
export type LevelSetBody = Readonly<{
  requestId: string
  quantity: number
  pendingAdjustment: number
}>

export type Operation = 'delivery' | 'sale' | 'move' | 'count' | 'level'

type Of<Type extends PotCommand['type']> = Extract<PotCommand, { type: Type }>

export function deliveryBody(command: Of<'deliver'>): DeliveryBody {
  const { requestId, locationId, supplierId, supplierRef, effectiveAt, products } = command
  return {
    requestId,
    locationId,
    supplierId,
    supplierRef,
    deliveredAt: isoOf(effectiveAt),
    products: products.map(({ productId, quantity }) => ({
      productId,
      quantity: numberOf(quantity),
    })),
  }
}

export function saleBody(command: Of<'sell'>): SaleBody {
  const { requestId, locationId, productId, quantity, effectiveAt } = command
  const quantitySold = numberOf(quantity)
  return { requestId, locationId, productId, quantitySold, soldAt: isoOf(effectiveAt) }
}

export function moveBody(command: Of<'move'>): MoveBody {
  const { requestId, from, to, productId, quantity, reason, effectiveAt } = command
  return {
    requestId,
    moveId: requestId,
    sourceLocationId: from,
    destinationLocationId: to,
    productId,
    quantity: numberOf(quantity),
    reason,
    movedAt: isoOf(effectiveAt),
  }
}

export function countBody(command: Of<'count'>): CountBody {
  const { requestId, locationId, productId, quantity, reason, effectiveAt } = command
  return {
    requestId,
    location: locationId,
    productId,
    quantity: numberOf(quantity),
    reason,
    countedAt: isoOf(effectiveAt),
  }
}
