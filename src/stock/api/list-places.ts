/** Where a product is: a level for every location that it ever was at. */
import { route, shape, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import type { Stock } from '../stock.ts'
import { fields, list, NUMBER, paged, READ_HEADERS, TEXT, TIME, WHOLE } from './answering.ts'
import type { Wall } from './answering.ts'
import { id, isInScope, page, pageOf, seenOf } from './input.ts'
import { READING, refusals, refuse, refused } from './refusing.ts'

const answer = fields(
  {
    productId: TEXT,
    locations: list(
      fields({
        locationId: TEXT,
        productId: TEXT,
        quantity: NUMBER,
        'pendingAdjustment?': NUMBER,
        lastUpdated: TIME,
        version: WHOLE,
      }),
    ),
    'nextCursor?': TEXT,
  },
  {
    productId: 'apples',
    locations: [
      {
        locationId: 'DC01',
        productId: 'apples',
        quantity: 97.5,
        lastUpdated: '2026-01-15T12:00:00.000Z',
        version: 2,
      },
    ],
  },
)

export function listPlaces(stock: Stock, clock: Wall): Route {
  return route({
    method: 'GET',
    path: '/products/{productId}/locations',
    summary: 'Where a product is',
    description: 'A caller with places of their own is shown those; a page may be short for it.',
    tag: 'reads',
    access: { permission: 'stock:level:read' },
    params: shape({ productId: id }),
    query: page,
    answers: {
      200: { description: 'levels by location', schema: answer, headers: READ_HEADERS },
      ...refusals(...READING, 'bad-cursor'),
    },
    refuse,
    async handle(call) {
      const about = { url: call.url, now: clock.now() }
      const seen = seenOf(call)
      if (isFault(seen)) return refused(seen, about)
      const { productId } = call.params
      const listed = await stock.locationsOf(productId, { ...pageOf(call.query), ...seen })
      if (!listed.ok) return refused(listed, about)
      const items = listed.items.filter(({ locationId }) => isInScope(call.principal, locationId))
      return paged('locations', { ...listed, items }, { productId })
    },
  })
}
