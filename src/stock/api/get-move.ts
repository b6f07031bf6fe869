/** A move, by its id. */
import { fields, json, route, shape, type JsonSchema, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import type { Stock } from '../stock.ts'
import { NUMBER, TEXT, TIME, WHOLE, type Wall } from './answering.ts'
import { isInScope, outOfScope, requestId, seenOf } from './input.ts'
import { READING, refusals, refuse, refused } from './refusing.ts'

export const MOVE_STATES = ['accepted', 'in-transit', 'completed', 'compensated'] as const

export const move: JsonSchema = fields(
  {
    moveId: TEXT,
    requestId: TEXT,
    state: { type: 'string', enum: MOVE_STATES },
    productId: TEXT,
    sourceLocationId: TEXT,
    destinationLocationId: TEXT,
    quantity: NUMBER,
    reason: TEXT,
    movedAt: TIME,
    recordedAt: TIME,
    position: WHOLE,
    'actor?': TEXT,
  },
  {
    moveId: 'move-1',
    requestId: 'move-1',
    state: 'completed',
    productId: 'apples',
    sourceLocationId: 'DC01',
    destinationLocationId: 'ST01',
    quantity: 40,
    reason: 'replenishment',
    movedAt: '2026-01-15T11:00:00.000Z',
    recordedAt: '2026-01-15T11:00:00.420Z',
    position: 5,
    actor: 'ada',
  },
)

export function getMove(stock: Stock, clock: Wall): Route {
  return route({
    method: 'GET',
    path: '/moves/{moveId}',
    summary: 'One move',
    tag: 'reads',
    access: { permission: 'stock:movement:read' },
    params: shape({ moveId: requestId }),
    answers: {
      200: { description: 'the move', schema: move },
      ...refusals(...READING, 'no-such-move'),
    },
    refuse,
    async handle(call) {
      const about = { url: call.url, now: clock.now() }
      const seen = seenOf(call)
      if (isFault(seen)) return refused(seen, about)
      const found = await stock.moveOf(call.params.moveId, seen.seen)
      if (!found.ok) return refused(found, about)
      const { sourceLocationId, destinationLocationId } = found.move
      return [sourceLocationId, destinationLocationId].some((at) => isInScope(call.principal, at))
        ? json(200, found.move)
        : refused(outOfScope(sourceLocationId), about)
    },
  })
}
