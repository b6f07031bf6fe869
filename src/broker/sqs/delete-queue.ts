/** SQS DeleteQueue. Its name is free at once. */
import { granted, queueAction, type Action } from './action.ts'

export const deleteQueue: Action = queueAction('DeleteQueue', {}, async ({ broker }, queue) => {
  granted(await broker.delete(queue))
  return undefined
})
