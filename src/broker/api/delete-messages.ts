/** Empties a queue. */
import { json, route, type Route } from '../../http/index.ts'
import { purgedSchema, type QueueDesk } from './answering.ts'
import { purgeQuery, queueAt, queueParams } from './input.ts'
import { refusals, refused } from './refusing.ts'

export function deleteMessages({ broker, home }: QueueDesk): Route {
  return route({
    method: 'DELETE',
    path: '/queues/{queue}/messages',
    summary: 'Delete all messages',
    description: 'Those that somebody works on stay, unless `includeLeased=true`.',
    tag: 'messages',
    access: { permission: 'queue:admin' },
    params: queueParams,
    query: purgeQuery,
    answers: {
      200: { description: 'how many are gone', schema: purgedSchema },
      ...refusals(
        'no-such-queue',
        'purge-in-progress',
        'queue-deleted',
        'unreadable',
        'store-read-only',
      ),
    },
    async handle(call) {
      const { includeLeased } = call.query
      const purged = await broker.purge(queueAt(call, home), { includeLeased })
      return purged.ok ? json(200, { purged: purged.purged }) : refused(purged)
    },
  })
}
