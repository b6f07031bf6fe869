/** A count: what is there is what was counted, whatever the books said. */
import { fields, oneOf, route, shape, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import { COUNT_REASONS } from '../pot.ts'
import type { Stock } from '../stock.ts'
import { NUMBER, recorded, recordedAnswer, TEXT, TIME, type Wall } from './answering.ts'
import { byOf, counted, id, requestId, time } from './input.ts'
import { LOCATION_NOT_TRACKED, refusals, refuse, refused, WRITING } from './refusing.ts'

const answer = fields(
  {
    requestId: TEXT,
    location: TEXT,
    productId: TEXT,
    quantity: NUMBER,
    reason: { type: 'string', enum: COUNT_REASONS },
    countedAt: TIME,
  },
  {
    requestId: 'count-1',
    location: 'ST01',
    productId: 'apples',
    quantity: 36,
    reason: 'AdminOverride',
    countedAt: '2026-01-15T18:00:00.000Z',
  },
)

export function postCount(stock: Stock, clock: Wall): Route {
  return route({
    method: 'POST',
    path: '/locations/{locationId}/products/{productId}/counts',
    summary: 'Record a count',
    description: '`AdminOverride` leaves what is pending as it was; `StockTake` settles it.',
    tag: 'writes',
    access: { permission: 'stock:count:write', places: ({ locationId = '' }) => [locationId] },
    params: shape({ locationId: id, productId: id }),
    body: shape({ requestId, reason: oneOf(COUNT_REASONS), quantity: counted, countedAt: time }),
    answers: {
      201: recordedAnswer('the count, as it was recorded', answer),
      303: LOCATION_NOT_TRACKED,
      ...refusals(...WRITING),
    },
    refuse,
    async handle(call) {
      const by = byOf(call)
      if (isFault(by)) return refused(by, { url: call.url, now: clock.now() })
      const result = await stock.count({ ...call.params, ...call.body }, by)
      return recorded(result, call, clock, 'countedAt')
    },
  })
}
