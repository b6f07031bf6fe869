/** How far the redrives of a queue's dead letters have come. */
import { fields, json, list, route, type Route } from '../../http/index.ts'
import { deadLetterTasks } from '../dead-letters.ts'
import { taskJson, taskSchema, type QueueDesk } from './answering.ts'
import { placeQuery, queueAt, queueParams } from './input.ts'
import { refusals, refused } from './refusing.ts'

export function listRedrives({ broker, home }: QueueDesk): Route {
  return route({
    method: 'GET',
    path: '/queues/{queue}/dead-letters/redrives',
    summary: 'How far redrives have come',
    tag: 'dead letters',
    access: { permission: 'queue:read' },
    params: queueParams,
    query: placeQuery,
    answers: {
      200: { description: 'the latest first', schema: fields({ redrives: list(taskSchema) }) },
      ...refusals('no-such-queue', 'no-dead-letters', 'queue-deleted', 'unreadable'),
    },
    async handle(call) {
      const tasks = await deadLetterTasks(broker, queueAt(call, home))
      return 'ok' in tasks ? refused(tasks) : json(200, { redrives: tasks.map(taskJson) })
    },
  })
}
