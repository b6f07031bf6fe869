/** The history of a pot: every event, with what the pot came to after it. */
import { fields, list, oneOf, optional, route, shape, whole, type Route } from '../../http/index.ts'
import { traceparentOf } from '../../std/index.ts'
import { STOCK_LIST_DEFAULT, STOCK_LIST_MAX } from '../reading.ts'
import type { Stock } from '../stock.ts'
import { paged, READ_HEADERS, TEXT, type Wall } from './answering.ts'
import { entry, ENTRY_EXAMPLE } from './entries.ts'
import { cursor, id, time } from './input.ts'
import { READING, refusals, refuse, refused } from './refusing.ts'

const ORDERS = ['effective', 'recorded'] as const

const answer = fields(
  {
    locationId: TEXT,
    productId: TEXT,
    order: { type: 'string', enum: ORDERS },
    events: list(fields(entry)),
    'nextCursor?': TEXT,
  },
  { locationId: 'DC01', productId: 'apples', order: 'effective', events: [ENTRY_EXAMPLE] },
)

export function getHistory(stock: Stock, clock: Wall): Route {
  return route({
    method: 'GET',
    path: '/locations/{locationId}/products/{productId}/history',
    summary: 'What happened, and what it came to',
    tag: 'reads',
    access: { permission: 'stock:movement:read', places: ({ locationId = '' }) => [locationId] },
    params: shape({ locationId: id, productId: id }),
    query: shape({
      from: optional(time),
      to: optional(time),
      order: optional(oneOf(ORDERS), 'effective'),
      cursor: optional(cursor),
      limit: optional(whole(1, STOCK_LIST_MAX), STOCK_LIST_DEFAULT),
    }),
    answers: {
      200: {
        description: 'events in order of effect or of recording, with the running level',
        schema: answer,
        headers: READ_HEADERS,
      },
      ...refusals(
        ...READING,
        'location-not-found',
        'bad-cursor',
        'history-too-long',
        'upstream-unavailable',
      ),
    },
    refuse,
    async handle(call) {
      const { cursor: after, ...query } = call.query
      const listed = await stock.history({
        ...call.params,
        ...query,
        ...(after !== undefined && { after }),
        trace: traceparentOf(call.trace),
      })
      if (!listed.ok) return refused(listed, { url: call.url, now: clock.now() })
      return paged('events', listed, { ...call.params, order: query.order })
    },
  })
}
