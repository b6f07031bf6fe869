/** One queue: what it was told, and what is in it. */
import { json, route, type Route } from '../../http/index.ts'
import { infoJson, infoSchema, type QueueDesk } from './answering.ts'
import { placeQuery, queueAt, queueParams } from './input.ts'
import { refusals, refused } from './refusing.ts'

export function getQueue({ broker, home }: QueueDesk): Route {
  return route({
    method: 'GET',
    path: '/queues/{queue}',
    summary: 'One queue, with what is in it',
    tag: 'queues',
    access: { permission: 'queue:read' },
    params: queueParams,
    query: placeQuery,
    answers: {
      200: { description: 'its config, and how much is in it', schema: infoSchema },
      ...refusals('no-such-queue', 'queue-deleted', 'unreadable'),
    },
    async handle(call) {
      const name = queueAt(call, home)
      const info = broker.describe(name)
      if ('ok' in info) return refused(info)
      const stats = await broker.stats(name)
      return 'ok' in stats ? refused(stats) : json(200, infoJson(info, stats))
    },
  })
}
