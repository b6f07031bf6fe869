/** SQS DeleteMessage. That it is gone is on disk before the caller is told. */
import { describe, isRefusal, queueAction, type Action } from './action.ts'
import { text } from './input.ts'
import { receiptOf, settleError } from './settle-by-handle.ts'

export const deleteMessage: Action = queueAction(
  'DeleteMessage',
  { ReceiptHandle: text },
  async (call, queue, { ReceiptHandle }) => {
    describe(call, queue)
    const receipt = receiptOf(call, ReceiptHandle)
    const [answer] = await call.broker.settle(queue, [{ type: 'delete', receipt }])
    if (isRefusal(answer!)) throw settleError(answer, ReceiptHandle)
    return undefined
  },
)
