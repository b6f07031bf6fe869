/** Gives dead letters up. */
import { json, route, type Route } from '../../http/index.ts'
import { purgeDead } from '../dead-letters.ts'
import { purgedSchema, type QueueDesk } from './answering.ts'
import { placeQuery, queueAt, queueParams } from './input.ts'
import { refusals, refused } from './refusing.ts'

export function deleteDeadLetters({ broker, home }: QueueDesk): Route {
  return route({
    method: 'DELETE',
    path: '/queues/{queue}/dead-letters',
    summary: 'Delete all dead letters',
    tag: 'dead letters',
    access: { permission: 'queue:admin' },
    params: queueParams,
    query: placeQuery,
    answers: {
      200: { description: 'how many are gone', schema: purgedSchema },
      ...refusals(
        'no-such-queue',
        'no-dead-letters',
        'purge-in-progress',
        'queue-deleted',
        'unreadable',
        'store-read-only',
      ),
    },
    async handle(call) {
      const purged = await purgeDead(broker, queueAt(call, home))
      return purged.ok ? json(200, { purged: purged.purged }) : refused(purged)
    },
  })
}
