/** SQS GetQueueUrl. */
import { action, describe, required, type Action } from './action.ts'
import { text } from './input.ts'
import { urlOf } from './places.ts'

export const getQueueUrl: Action = action(
  'GetQueueUrl',
  { QueueName: text, QueueOwnerAWSAccountId: text },
  (call, { QueueName, QueueOwnerAWSAccountId: account = call.caller.account }) => {
    const { caller, origin } = call
    const queue = { account, region: caller.region, name: required(QueueName, 'QueueName') }
    caller.check('GetQueueUrl', queue)
    return { QueueUrl: urlOf(origin, describe(call, queue).name) }
  },
)
