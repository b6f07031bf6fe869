/** SQS ChangeMessageVisibility. Counts from this moment on; 0 makes the message visible at once. */
import { describe, isRefusal, queueAction, type Action } from './action.ts'
import { integer, text } from './input.ts'
import { receiptOf, settleError, visibilityOf } from './settle-by-handle.ts'

export const changeMessageVisibility: Action = queueAction(
  'ChangeMessageVisibility',
  { ReceiptHandle: text, VisibilityTimeout: integer },
  async (call, queue, { ReceiptHandle, VisibilityTimeout }) => {
    describe(call, queue)
    const visibilityMs = visibilityOf(VisibilityTimeout)
    const receipt = receiptOf(call, ReceiptHandle)
    const [answer] = await call.broker.settle(queue, [{ type: 'extend', receipt, visibilityMs }])
    if (isRefusal(answer!)) throw settleError(answer, ReceiptHandle, VisibilityTimeout)
    return undefined
  },
)
