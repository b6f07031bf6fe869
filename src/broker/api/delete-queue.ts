/** Ends a queue, with everything that is in it. */
import { route, type Route } from '../../http/index.ts'
import type { QueueDesk } from './answering.ts'
import { placeQuery, queueAt, queueParams } from './input.ts'
import { refusals, refused } from './refusing.ts'

export function deleteQueue({ broker, home }: QueueDesk): Route {
  return route({
    method: 'DELETE',
    path: '/queues/{queue}',
    summary: 'Delete a queue and its messages',
    description: 'Its dead letters are in a queue of their own, which stays.',
    tag: 'queues',
    access: { permission: 'queue:admin' },
    params: queueParams,
    query: placeQuery,
    answers: {
      204: { description: 'it is gone; who waited at it is told' },
      ...refusals('no-such-queue', 'store-read-only'),
    },
    async handle(call) {
      const deleted = await broker.delete(queueAt(call, home))
      return deleted.ok ? { status: 204 } : refused(deleted)
    },
  })
}
