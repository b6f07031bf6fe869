/** What became of a request: the answer it was given, for as long as that is remembered. */
import { fields, json, route, shape, type Route } from '../../http/index.ts'
import type { Stock } from '../stock.ts'
import { TEXT, TIME, WHOLE, type Wall } from './answering.ts'
import { isInScope, outOfScope, requestId } from './input.ts'
import { READING, refusals, refuse, refused } from './refusing.ts'

const answer = fields(
  {
    requestId: TEXT,
    operation: TEXT,
    recordedAt: TIME,
    position: WHOLE,
    version: WHOLE,
    body: { type: 'object' },
  },
  {
    requestId: 'sale-1',
    operation: 'sale',
    recordedAt: '2026-01-15T12:00:01.250Z',
    position: 7,
    version: 2,
    body: {
      requestId: 'sale-1',
      locationId: 'DC01',
      productId: 'apples',
      quantitySold: 2.5,
      soldAt: '2026-01-15T12:00:00.000Z',
    },
  },
)

export function getRequest(stock: Stock, clock: Wall): Route {
  return route({
    method: 'GET',
    path: '/requests/{requestId}',
    summary: 'What became of a request',
    tag: 'reads',
    access: { permission: 'stock:movement:read' },
    params: shape({ requestId }),
    answers: {
      200: { description: 'the request was recorded, and this was its answer', schema: answer },
      ...refusals(...READING, 'no-such-request'),
    },
    refuse,
    async handle(call) {
      const about = { url: call.url, now: clock.now() }
      const found = await stock.request(call.params.requestId)
      if (!found.ok) return refused(found, about)
      const { ok: _, ...report } = found
      const at = placesOf(report.body)
      return at.some((locationId) => isInScope(call.principal, locationId))
        ? json(200, report)
        : refused(outOfScope(at[0] ?? ''), about)
    },
  })
}

const PLACES = ['locationId', 'location', 'sourceLocationId', 'destinationLocationId'] as const

/** Where the request had its effect, by the names that answers have for it. */
function placesOf(body: unknown): string[] {
  if (typeof body !== 'object' || body === null) return []
  const fieldsOf: Readonly<Record<string, unknown>> = { ...body }
  return PLACES.map((name) => fieldsOf[name]).filter((each) => typeof each === 'string')
}
