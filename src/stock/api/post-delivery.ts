/** A delivery: one or more products arrive at a location, all of them or none. */
import { fields, list, listOf, route, shape, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import { DELIVERY_PRODUCTS_MAX } from '../pot.ts'
import type { Stock } from '../stock.ts'
import { NUMBER, recorded, recordedAnswer, TEXT, TIME, type Wall } from './answering.ts'
import { amount, byOf, id, requestId, time } from './input.ts'
import { LOCATION_NOT_TRACKED, refusals, refuse, refused, WRITING } from './refusing.ts'

const body = shape({
  requestId,
  supplierId: id,
  supplierRef: id,
  deliveredAt: time,
  products: listOf(shape({ productId: id, quantity: amount }), {
    min: 1,
    max: DELIVERY_PRODUCTS_MAX,
  }),
})

const answer = fields(
  {
    requestId: TEXT,
    locationId: TEXT,
    supplierId: TEXT,
    supplierRef: TEXT,
    deliveredAt: TIME,
    products: list(fields({ productId: TEXT, quantity: NUMBER })),
  },
  {
    requestId: 'delivery-1',
    locationId: 'DC01',
    supplierId: 'acme',
    supplierRef: 'note-17',
    deliveredAt: '2026-01-15T10:00:00.000Z',
    products: [{ productId: 'apples', quantity: 100 }],
  },
)

export function postDelivery(stock: Stock, clock: Wall): Route {
  return route({
    method: 'POST',
    path: '/locations/{locationId}/deliveries',
    summary: 'Record a delivery',
    tag: 'writes',
    access: {
      permission: 'stock:movement:write',
      places: ({ locationId = '' }) => [locationId],
    },
    params: shape({ locationId: id }),
    body,
    answers: {
      201: recordedAnswer('the delivery, as it was recorded', answer),
      303: LOCATION_NOT_TRACKED,
      ...refusals(...WRITING),
    },
    refuse,
    async handle(call) {
      const by = byOf(call)
      if (isFault(by)) return refused(by, { url: call.url, now: clock.now() })
      const result = await stock.deliver({ ...call.params, ...call.body }, by)
      return recorded(result, call, clock, 'deliveredAt')
    },
  })
}
