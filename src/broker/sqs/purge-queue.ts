/** SQS PurgeQueue: everything goes, what somebody holds as well. */
import { granted, isRefusal, queueAction, type Action } from './action.ts'
import { SqsError } from './errors.ts'

export const purgeQueue: Action = queueAction('PurgeQueue', {}, async ({ broker }, queue) => {
  const answer = await broker.purge(queue, { includeLeased: true })
  if (isRefusal(answer) && answer.code === 'purge-in-progress')
    throw new SqsError(
      'PurgeQueueInProgress',
      `Only one PurgeQueue operation on ${queue.name} is allowed every 60 seconds.`,
    )
  granted(answer)
  return undefined
})
