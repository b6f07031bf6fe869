/** Stops a redrive; what was moved stays moved. */
import { json, route, type Route } from '../../http/index.ts'
import { fault } from '../../std/index.ts'
import { deadLetterTasks } from '../dead-letters.ts'
import { taskJson, taskSchema, type QueueDesk } from './answering.ts'
import { placeQuery, queueAt, taskParams } from './input.ts'
import { refusals, refused } from './refusing.ts'

export function deleteRedrive({ broker, home }: QueueDesk): Route {
  return route({
    method: 'DELETE',
    path: '/queues/{queue}/dead-letters/redrives/{task}',
    summary: 'Cancel a redrive',
    tag: 'dead letters',
    access: { permission: 'queue:admin' },
    params: taskParams,
    query: placeQuery,
    answers: {
      200: { description: 'the task, which moves no more', schema: taskSchema },
      ...refusals(
        'no-such-queue',
        'no-dead-letters',
        'no-such-task',
        'queue-deleted',
        'unreadable',
      ),
    },
    async handle(call) {
      const { task } = call.params
      // Whoever may cancel here may not cancel elsewhere with a task of another queue.
      const tasks = await deadLetterTasks(broker, queueAt(call, home))
      if ('ok' in tasks) return refused(tasks)
      if (!tasks.some(({ handle }) => handle === task))
        return refused(fault('no-such-task', 'there is no such task of this queue'))
      const cancelled = await broker.cancelMoveTask(task)
      return 'ok' in cancelled ? refused(cancelled) : json(200, taskJson(cancelled))
    },
  })
}
