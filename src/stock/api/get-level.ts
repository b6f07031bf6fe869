/** A level: how much of a product is at a location and below it, now or as of a time. */
import {
  fields,
  flag,
  json,
  list,
  optional,
  route,
  shape,
  type JsonSchema,
  type Route,
} from '../../http/index.ts'
import { isFault, traceparentOf } from '../../std/index.ts'
import type { Stock } from '../stock.ts'
import { consistency, etag, NUMBER, READ_HEADERS, TEXT, TIME } from './answering.ts'
import type { Wall } from './answering.ts'
import { id, seenOf, time } from './input.ts'
import { READING, refusals, refuse, refused } from './refusing.ts'

const child: JsonSchema = fields({
  locationId: TEXT,
  'quantity?': NUMBER,
  'pendingAdjustment?': NUMBER,
  totalQuantity: NUMBER,
  'childLocations?': list({ type: 'object' }),
})

const answer = fields(
  {
    locationId: TEXT,
    productId: TEXT,
    'quantity?': NUMBER,
    'pendingAdjustment?': NUMBER,
    'lastUpdated?': TIME,
    'totalQuantity?': NUMBER,
    'childLocations?': list(child),
  },
  {
    locationId: 'DC01',
    productId: 'apples',
    quantity: 150.5,
    pendingAdjustment: -5,
    lastUpdated: '2026-01-15T12:00:00.000Z',
    totalQuantity: 230.5,
    childLocations: [
      {
        locationId: 'WH01',
        quantity: 50,
        totalQuantity: 80,
        childLocations: [{ locationId: 'SU01', quantity: 30, totalQuantity: 30 }],
      },
    ],
  },
)

export function getLevel(stock: Stock, clock: Wall): Route {
  return route({
    method: 'GET',
    path: '/locations/{locationId}/products/{productId}',
    summary: 'How much is there',
    description:
      '`asOf` is what had taken effect by then, with all that is known today; `asAt` is what was believed then. Both together are what was believed then about that time.',
    tag: 'reads',
    access: { permission: 'stock:level:read', places: ({ locationId = '' }) => [locationId] },
    params: shape({ locationId: id, productId: id }),
    query: shape({
      includeChildren: optional(flag(), true),
      asOf: optional(time),
      asAt: optional(time),
    }),
    answers: {
      200: {
        description: 'the level; an untracked location has no quantity of its own',
        schema: answer,
        headers: { ETag: 'the version of the pot, in quotes, for If-Match', ...READ_HEADERS },
      },
      ...refusals(...READING, 'location-not-found', 'history-too-long', 'upstream-unavailable'),
    },
    refuse,
    async handle(call) {
      const about = { url: call.url, now: clock.now() }
      const seen = seenOf(call)
      if (isFault(seen)) return refused(seen, about)
      const trace = traceparentOf(call.trace)
      const level = await stock.level({ ...call.params, ...call.query, ...seen, trace })
      if (!level.ok) return refused(level, about)
      return json(200, level.body, {
        etag: etag(level.version),
        ...consistency(level.position),
      })
    },
  })
}
