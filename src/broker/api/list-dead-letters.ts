/** Looks at the dead letters of a queue, with why they died. */
import { json, route, type Route } from '../../http/index.ts'
import { browseDead } from '../dead-letters.ts'
import { browsedJson, pageSchema, type QueueDesk } from './answering.ts'
import { browseQuery, queueAt, queueParams } from './input.ts'
import { refusals, refused } from './refusing.ts'

export function listDeadLetters({ broker, home }: QueueDesk): Route {
  return route({
    method: 'GET',
    path: '/queues/{queue}/dead-letters',
    summary: 'Look at dead letters',
    description: 'As messages are looked at; `failures` says why each of them is here.',
    tag: 'dead letters',
    access: { permission: 'queue:read' },
    params: queueParams,
    query: browseQuery,
    answers: {
      200: { description: 'a page; `next` is missing on the last', schema: pageSchema },
      ...refusals('no-such-queue', 'no-dead-letters', 'queue-deleted', 'unreadable'),
    },
    async handle(call) {
      const { account: _a, region: _r, ...options } = call.query
      const found = await browseDead(broker, queueAt(call, home), options)
      if (!found.ok) return refused(found)
      const { messages, next } = found
      return json(200, {
        messages: messages.map(browsedJson),
        ...(next !== undefined && { next }),
      })
    },
  })
}
