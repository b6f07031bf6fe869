/** Why a level changed between two versions of its pot. */
import {
  custom,
  fields,
  json,
  list,
  route,
  shape,
  type Route,
  type Shape,
} from '../../http/index.ts'
import { traceparentOf } from '../../std/index.ts'
import type { Stock } from '../stock.ts'
import { NUMBER, TEXT, WHOLE, type Wall } from './answering.ts'
import { entry, ENTRY_EXAMPLE, standing } from './entries.ts'
import { id } from './input.ts'
import { READING, refusals, refuse, refused } from './refusing.ts'

/** `between=2,5`: what came after version 2, up to version 5. */
const between: Shape<Readonly<{ from: number; to: number }>> = custom({
  schema: { type: 'string', pattern: String.raw`^\d{1,15},\d{1,15}$`, examples: ['0,2'] },
  expected: 'two versions with a comma between them, the earlier one first',
  read(value) {
    if (typeof value !== 'string') return undefined
    const [, first = '', second = ''] = /^(\d{1,15}),(\d{1,15})$/.exec(value) ?? []
    const [from, to] = [Number(first), Number(second)]
    return second !== '' && from <= to ? { from, to } : undefined
  },
})

const answer = fields(
  {
    locationId: TEXT,
    productId: TEXT,
    before: standing,
    after: standing,
    events: list(
      fields({ ...entry, quantityChange: NUMBER, pendingChange: NUMBER, overtook: WHOLE }),
    ),
    lateFacts: list(WHOLE),
    variance: NUMBER,
  },
  {
    locationId: 'DC01',
    productId: 'apples',
    before: { version: 1, quantity: 100, pendingAdjustment: 0 },
    after: { version: 2, quantity: 97.5, pendingAdjustment: 0 },
    events: [{ ...ENTRY_EXAMPLE, quantityChange: -2.5, pendingChange: 0, overtook: 0 }],
    lateFacts: [],
    variance: 0,
  },
)

export function getExplanation(stock: Stock, clock: Wall): Route {
  return route({
    method: 'GET',
    path: '/locations/{locationId}/products/{productId}/explain',
    summary: 'Why the number changed',
    tag: 'reads',
    access: { permission: 'stock:movement:read', places: ({ locationId = '' }) => [locationId] },
    params: shape({ locationId: id, productId: id }),
    query: shape({ between }),
    answers: {
      200: {
        description: 'both levels, every event in between, and which of them came late',
        schema: answer,
      },
      ...refusals(
        ...READING,
        'location-not-found',
        'no-such-version',
        'history-too-long',
        'upstream-unavailable',
      ),
    },
    refuse,
    async handle(call) {
      const explained = await stock.explain({
        ...call.params,
        ...call.query.between,
        trace: traceparentOf(call.trace),
      })
      if (!explained.ok) return refused(explained, { url: call.url, now: clock.now() })
      const { ok: _, ...body } = explained
      return json(200, body)
    },
  })
}
