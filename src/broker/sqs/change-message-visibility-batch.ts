/** SQS ChangeMessageVisibilityBatch. */
import { describe, isRefusal, queueAction, type Action } from './action.ts'
import { BatchResult, checkBatch } from './batch.ts'
import { entries, integer, text } from './input.ts'
import { receiptOf, settleError, visibilityOf } from './settle-by-handle.ts'

const ENTRY = 'ChangeMessageVisibilityBatchRequestEntry'

export const changeMessageVisibilityBatch: Action = queueAction(
  'ChangeMessageVisibilityBatch',
  { Entries: entries(ENTRY, { Id: text, ReceiptHandle: text, VisibilityTimeout: integer }) },
  async (call, queue, { Entries }) => {
    describe(call, queue)
    const given = checkBatch(call, Entries, ENTRY)
    const result = new BatchResult()
    const items = given.flatMap((entry) => {
      const change = result.attempt(entry.Id, () => ({
        visibilityMs: visibilityOf(entry.VisibilityTimeout),
        receipt: receiptOf(call, entry.ReceiptHandle),
      }))
      return change === undefined ? [] : [{ entry, change }]
    })
    const answers = await call.broker.settle(
      queue,
      items.map(({ change }) => ({ type: 'extend', ...change })),
    )
    for (const [index, answer] of answers.entries()) {
      const { Id, ReceiptHandle, VisibilityTimeout } = items[index]!.entry
      if (isRefusal(answer)) result.fail(Id, settleError(answer, ReceiptHandle, VisibilityTimeout))
      else result.succeed(Id)
    }
    return result.output()
  },
)
