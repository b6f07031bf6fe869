/** What is at a location: a level for every product that ever was there. */
import { fields, list, route, shape, type Route } from '../../http/index.ts'
import { isFault, traceparentOf } from '../../std/index.ts'
import type { Stock } from '../stock.ts'
import { paged, READ_HEADERS, TEXT, type Wall } from './answering.ts'
import { potLevel, POT_LEVEL_EXAMPLE } from './entries.ts'
import { id, page, pageOf, seenOf } from './input.ts'
import { READING, refusals, refuse, refused } from './refusing.ts'

const answer = fields(
  {
    locationId: TEXT,
    products: list(potLevel),
    'nextCursor?': TEXT,
  },
  {
    locationId: 'DC01',
    products: [POT_LEVEL_EXAMPLE],
  },
)

export function listProducts(stock: Stock, clock: Wall): Route {
  return route({
    method: 'GET',
    path: '/locations/{locationId}/products',
    summary: 'What is at a location',
    tag: 'reads',
    access: { permission: 'stock:level:read', places: ({ locationId = '' }) => [locationId] },
    params: shape({ locationId: id }),
    query: page,
    answers: {
      200: { description: 'levels by product', schema: answer, headers: READ_HEADERS },
      ...refusals(...READING, 'location-not-found', 'bad-cursor', 'upstream-unavailable'),
    },
    refuse,
    async handle(call) {
      const about = { url: call.url, now: clock.now() }
      const seen = seenOf(call)
      if (isFault(seen)) return refused(seen, about)
      const { locationId } = call.params
      const trace = traceparentOf(call.trace)
      const listed = await stock.productsAt(locationId, { ...pageOf(call.query), ...seen, trace })
      return listed.ok ? paged('products', listed, { locationId }) : refused(listed, about)
    },
  })
}
