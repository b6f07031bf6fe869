/** Moves in the order they were recorded. */
import { fields, list, oneOf, optional, route, shape, whole, type Route } from '../../http/index.ts'
import { isFault } from '../../std/index.ts'
import { STOCK_LIST_DEFAULT, STOCK_LIST_MAX } from '../reading.ts'
import type { Stock } from '../stock.ts'
import { paged, READ_HEADERS, TEXT, type Wall } from './answering.ts'
import { move, MOVE_STATES } from './get-move.ts'
import { cursor, isInScope, pageOf, seenOf } from './input.ts'
import { READING, refusals, refuse, refused } from './refusing.ts'

export function listMoves(stock: Stock, clock: Wall): Route {
  return route({
    method: 'GET',
    path: '/moves',
    summary: 'Moves',
    description:
      'A move is whole when it is recorded, so every one is `completed`. A caller with places of their own is shown the moves that begin or end there.',
    tag: 'reads',
    access: { permission: 'stock:movement:read' },
    query: shape({
      state: optional(oneOf(MOVE_STATES)),
      cursor: optional(cursor),
      limit: optional(whole(1, STOCK_LIST_MAX), STOCK_LIST_DEFAULT),
    }),
    answers: {
      200: {
        description: 'moves as they were recorded, the first one first',
        schema: fields({ moves: list(move), 'nextCursor?': TEXT }, { moves: move['examples'] }),
        headers: READ_HEADERS,
      },
      ...refusals(...READING, 'bad-cursor'),
    },
    refuse,
    async handle(call) {
      const about = { url: call.url, now: clock.now() }
      const seen = seenOf(call)
      if (isFault(seen)) return refused(seen, about)
      const listed = await stock.moves({ ...pageOf(call.query), ...seen })
      if (!listed.ok) return refused(listed, about)
      const { state } = call.query
      const items = listed.items.filter(
        (each) =>
          (state === undefined || each.state === state) &&
          (isInScope(call.principal, each.sourceLocationId) ||
            isInScope(call.principal, each.destinationLocationId)),
      )
      return paged('moves', { ...listed, items })
    },
  })
}
