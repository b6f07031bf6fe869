/** SQS SendMessage. The message is on disk before the caller holds its id. */
import { describe, granted, queueAction, type Action } from './action.ts'
import { checkedMessage, messageShape, sentOutput } from './new-message.ts'

export const sendMessage: Action = queueAction(
  'SendMessage',
  messageShape,
  async (call, queue, input) => {
    const info = describe(call, queue)
    const { message, sums } = checkedMessage(call, info, input)
    const [sent] = await call.broker.send(queue, [message])
    return sentOutput(granted(sent!), sums, info.config.fifo)
  },
)
