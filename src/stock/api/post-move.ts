/**
 * A move of a product from one location to another: both ends or none.
 *
 * There are two spellings of the path. The one without `products` is the older, and callers have it.
 */
import { fields, route, shape, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import { MOVE_REASONS } from '../pot.ts'
import type { Stock } from '../stock.ts'
import { NUMBER, recorded, recordedAnswer, TEXT, TIME, type Wall } from './answering.ts'
import { amount, byOf, id, mayDispatch, moveReason, outOfScope } from './input.ts'
import { requestId, time } from './input.ts'
import { LOCATION_NOT_TRACKED, refusals, refuse, refused, WRITING } from './refusing.ts'

const body = shape({
  requestId,
  destinationLocationId: id,
  quantity: amount,
  reason: moveReason,
  movedAt: time,
})

const answer = fields(
  {
    requestId: TEXT,
    moveId: TEXT,
    sourceLocationId: TEXT,
    destinationLocationId: TEXT,
    productId: TEXT,
    quantity: NUMBER,
    reason: { type: 'string', enum: MOVE_REASONS },
    movedAt: TIME,
  },
  {
    requestId: 'move-1',
    moveId: 'move-1',
    sourceLocationId: 'DC01',
    destinationLocationId: 'ST01',
    productId: 'apples',
    quantity: 40,
    reason: 'replenishment',
    movedAt: '2026-01-15T11:00:00.000Z',
  },
)

export function postMove(stock: Stock, clock: Wall): readonly Route[] {
  return [
    spelled('/locations/{sourceLocationId}/products/{productId}/movements', 'Move stock'),
    spelled('/locations/{sourceLocationId}/{productId}/movements', 'Move stock, older spelling'),
  ]

  function spelled(path: string, summary: string): Route {
    return route({
      method: 'POST',
      path,
      summary,
      tag: 'writes',
      access: {
        permission: 'stock:movement:write',
        places: ({ sourceLocationId = '' }) => [sourceLocationId],
      },
      params: shape({ sourceLocationId: id, productId: id }),
      body,
      answers: {
        201: recordedAnswer('the move, as it was recorded', answer),
        303: LOCATION_NOT_TRACKED,
        ...refusals(...WRITING, 'insufficient-stock', 'same-location'),
      },
      refuse,
      async handle(call) {
        const about = { url: call.url, now: clock.now() }
        const { destinationLocationId } = call.body
        if (!mayDispatch(call.principal, destinationLocationId))
          return refused(outOfScope(destinationLocationId), about)
        const by = byOf(call)
        if (isFault(by)) return refused(by, about)
        const result = await stock.move({ ...call.params, ...call.body }, by)
        return recorded(result, call, clock, 'movedAt')
      },
    })
  }
}
