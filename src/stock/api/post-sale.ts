/** A sale. What is sold and not there is remembered as pending, because the floor is right. */
import { fields, route, shape, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import type { Stock } from '../stock.ts'
import { NUMBER, recorded, recordedAnswer, TEXT, TIME, type Wall } from './answering.ts'
import { amount, byOf, id, requestId, time } from './input.ts'
import { LOCATION_NOT_TRACKED, refusals, refuse, refused, WRITING } from './refusing.ts'

const answer = fields(
  { requestId: TEXT, locationId: TEXT, productId: TEXT, quantitySold: NUMBER, soldAt: TIME },
  {
    requestId: 'sale-1',
    locationId: 'ST01',
    productId: 'apples',
    quantitySold: 2.5,
    soldAt: '2026-01-15T12:00:00.000Z',
  },
)

export function postSale(stock: Stock, clock: Wall): Route {
  return route({
    method: 'POST',
    path: '/locations/{locationId}/products/{productId}/sales',
    summary: 'Record a sale',
    tag: 'writes',
    access: {
      permission: 'stock:movement:write',
      places: ({ locationId = '' }) => [locationId],
    },
    params: shape({ locationId: id, productId: id }),
    body: shape({ requestId, quantity: amount, soldAt: time }),
    answers: {
      201: recordedAnswer('the sale, as it was recorded', answer),
      303: LOCATION_NOT_TRACKED,
      ...refusals(...WRITING, 'insufficient-stock'),
    },
    refuse,
    async handle(call) {
      const by = byOf(call)
      if (isFault(by)) return refused(by, { url: call.url, now: clock.now() })
      const { params, body } = call
      const sale = {
        requestId: body.requestId,
        locationId: params.locationId,
        productId: params.productId,
        quantity: body.quantity,
        soldAt: body.soldAt,
      }
      const result = await stock.sell(sale, by)
      return recorded(result, call, clock, 'soldAt')
    },
  })
}
