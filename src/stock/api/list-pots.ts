/** Pots in memory or in trouble, for those who run the system. */
import { fields, list, route, type JsonSchema, type Route } from '../../http/index.ts'
import type { Stock } from '../stock.ts'
import { NUMBER, paged, READ_HEADERS, TEXT, WHOLE } from './answering.ts'
import { isInScope, page, pageOf } from './input.ts'
import { ALWAYS, refusals, refuse } from './refusing.ts'

export const pot: JsonSchema = fields(
  {
    key: TEXT,
    locationId: TEXT,
    productId: TEXT,
    phase: {
      type: 'string',
      enum: ['activating', 'running', 'retiring', 'failed', 'quarantined', 'resting'],
    },
    version: WHOLE,
    pending: WHOLE,
    replayedEvents: WHOLE,
    activationMs: NUMBER,
    'fault?': fields({ code: TEXT, message: TEXT }),
    'retryAtMs?': NUMBER,
  },
  {
    key: 'apples|DC01',
    locationId: 'DC01',
    productId: 'apples',
    phase: 'running',
    version: 2,
    pending: 0,
    replayedEvents: 0,
    activationMs: 0.4,
  },
)

export function listPots(stock: Stock): Route {
  return route({
    method: 'GET',
    path: '/pots',
    summary: 'Pots in memory',
    tag: 'operation',
    access: { permission: 'stock:pot:read' },
    query: page,
    answers: {
      200: {
        description: 'pots that are awake or in trouble, by key',
        schema: fields({ pots: list(pot), 'nextCursor?': TEXT }, { pots: pot['examples'] }),
        headers: READ_HEADERS,
      },
      ...refusals(...ALWAYS),
    },
    refuse,
    handle(call) {
      const listed = stock.pots(pageOf(call.query))
      const items = listed.items.filter(({ locationId }) => isInScope(call.principal, locationId))
      return paged('pots', { ...listed, items })
    },
  })
}
