/** One message, by its id. */
import { json, route, type Route } from '../../http/index.ts'
import { fault } from '../../std/index.ts'
import { browsedJson, browsedSchema, type QueueDesk } from './answering.ts'
import { messageParams, placeQuery, queueAt } from './input.ts'
import { refusals, refused } from './refusing.ts'

export function getMessage({ broker, home }: QueueDesk): Route {
  return route({
    method: 'GET',
    path: '/queues/{queue}/messages/{messageId}',
    summary: 'One message, without taking it',
    tag: 'messages',
    access: { permission: 'queue:read' },
    params: messageParams,
    query: placeQuery,
    answers: {
      200: { description: 'the message, and in which state it is', schema: browsedSchema },
      ...refusals('no-such-queue', 'no-such-message', 'queue-deleted', 'unreadable'),
    },
    async handle(call) {
      const { queue, messageId } = call.params
      const found = await broker.get(queueAt(call, home), messageId)
      if (found === undefined)
        return refused(fault('no-such-message', `no such message is in ${queue}`, { messageId }))
      return 'ok' in found ? refused(found) : json(200, browsedJson(found))
    },
  })
}
