/**
 * The change feed: every event of every pot in the order they were recorded, from any position on,
 * for as long as the caller stays.
 *
 * Lines of JSON, or server-sent events for those who accept them; those go on after `Last-Event-ID`
 * by themselves. The caller has seen everything up to the position of the last event it got.
 */
import {
  feed,
  fields,
  optional,
  route,
  shape,
  whole,
  type FeedItem,
  type Route,
} from '../../http/index.ts'
import type { Principal } from '../../http/index.ts'
import type { Stock, StockChange } from '../stock.ts'
import { noSuchPosition } from '../reading.ts'
import type { Wall } from './answering.ts'
import { change, CHANGE_EXAMPLE } from './entries.ts'
import { isInScope, position } from './input.ts'
import { ALWAYS, refusals, refuse, refused } from './refusing.ts'

export function getEvents(stock: Stock, clock: Wall): Route {
  return route({
    method: 'GET',
    path: '/events',
    summary: 'The change feed',
    description:
      'NDJSON, or server-sent events with `Accept: text/event-stream`. It does not end unless `limit` is given. A caller with places of their own is shown what happens there.',
    tag: 'feed',
    access: { permission: 'stock:movement:read' },
    query: shape({
      after: optional(position, 0),
      limit: optional(whole(1, Number.MAX_SAFE_INTEGER)),
    }),
    answers: {
      200: {
        description: 'events after the position, one on a line',
        schema: fields(change, CHANGE_EXAMPLE),
        contentType: 'application/x-ndjson',
      },
      ...refusals(...ALWAYS, 'no-such-position'),
    },
    refuse,
    async handle(call) {
      const last = call.headers['last-event-id']
      const isResumed = last !== undefined && /^\d{1,15}$/.test(last)
      const after = isResumed ? Number(last) : call.query.after
      // What is recorded before a position that is yet to come would be passed over in silence.
      const end = after === 0 ? 0 : await stock.position()
      if (after > end) {
        const field = isResumed ? 'Last-Event-ID' : 'after'
        return refused(noSuchPosition(after, end), { url: call.url, now: clock.now(), field })
      }
      return feed(
        call.headers['accept'],
        itemsOf(stock.changes(after), call.principal, call.query.limit ?? Infinity),
      )
    },
  })
}

async function* itemsOf(
  changes: AsyncIterable<StockChange>,
  principal: Principal,
  limit: number,
): AsyncGenerator<FeedItem> {
  let sent = 0
  for await (const each of changes) {
    if (!isInScope(principal, each.locationId)) continue
    yield { id: String(each.position), event: each.type, data: each }
    sent += 1
    if (sent >= limit) return
  }
}
