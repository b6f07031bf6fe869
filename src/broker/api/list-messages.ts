/** Looks at messages without taking them. */
import { json, route, type Route } from '../../http/index.ts'
import { browsedJson, pageSchema, type QueueDesk } from './answering.ts'
import { browseQuery, queueAt, queueParams } from './input.ts'
import { refusals, refused } from './refusing.ts'

export function listMessages({ broker, home }: QueueDesk): Route {
  return route({
    method: 'GET',
    path: '/queues/{queue}/messages',
    summary: 'Look at messages without taking them',
    description:
      'Oldest first; `after` is the `next` of the page before. `search` finds what a body, an attribute or ' +
      'an id has in it. No delivery is counted.',
    tag: 'messages',
    access: { permission: 'queue:read' },
    params: queueParams,
    query: browseQuery,
    answers: {
      200: { description: 'a page; `next` is missing on the last', schema: pageSchema },
      ...refusals('no-such-queue', 'queue-deleted', 'unreadable'),
    },
    async handle(call) {
      const { account: _a, region: _r, ...options } = call.query
      const found = await broker.browse(queueAt(call, home), options)
      if (!found.ok) return refused(found)
      const { messages, next } = found
      return json(200, {
        messages: messages.map(browsedJson),
        ...(next !== undefined && { next }),
      })
    },
  })
}
