/** Where a product is: a level for every location that it ever was at. */
import { fields, list, route, shape, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import type { Stock } from '../stock.ts'
import { paged, READ_HEADERS, TEXT, type Wall } from './answering.ts'
import { potLevel, POT_LEVEL_EXAMPLE } from './entries.ts'
import { id, isInScope, page, pageOf, seenOf } from './input.ts'
import { READING, refusals, refuse, refused } from './refusing.ts'

const answer = fields(
  {
    productId: TEXT,
    locations: list(potLevel),
    'nextCursor?': TEXT,
  },
  {
    productId: 'apples',
    locations: [POT_LEVEL_EXAMPLE],
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
