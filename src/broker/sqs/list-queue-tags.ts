/** SQS ListQueueTags. */
import { describe, queueAction, type Action } from './action.ts'

export const listQueueTags: Action = queueAction('ListQueueTags', {}, (call, queue) => {
  const { tags } = describe(call, queue)
  return Object.keys(tags).length === 0 ? {} : { Tags: tags }
})
