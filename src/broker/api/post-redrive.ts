/** Takes dead letters back to where they died, or elsewhere. */
import { json, optional, route, type Route } from '../../http/index.ts'
import { redriveDead } from '../dead-letters.ts'
import { ownQueue } from '../own-queues.ts'
import { taskJson, taskSchema, type QueueDesk } from './answering.ts'
import { placeQuery, queueAt, queueParams } from './input.ts'
import { redriving } from './message-input.ts'
import { refusals, refused } from './refusing.ts'

export function postRedrive({ broker, home }: QueueDesk): Route {
  return route({
    method: 'POST',
    path: '/queues/{queue}/dead-letters/redrives',
    summary: 'Redrive dead letters',
    description:
      'All of them, those with these `ids`, or those that have `search` in them; back to where they died or `to` ' +
      'another queue, at most `ratePerSecond`. What comes later stays.',
    tag: 'dead letters',
    access: { permission: 'queue:admin' },
    params: queueParams,
    query: placeQuery,
    body: optional(redriving, {}),
    answers: {
      202: { description: 'the task, which has begun', schema: taskSchema },
      ...refusals(
        'no-such-queue',
        'no-dead-letters',
        'task-running',
        'queue-deleted',
        'unreadable',
        'store-read-only',
      ),
    },
    async handle(call) {
      const name = queueAt(call, home)
      const { to, ...options } = call.body
      const target = to === undefined ? {} : { to: ownQueue(to, name) }
      const task = await redriveDead(broker, name, { ...options, ...target })
      return 'ok' in task ? refused(task) : json(202, taskJson(task))
    },
  })
}
