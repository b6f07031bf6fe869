/** SQS DeleteMessageBatch. */
import { describe, isRefusal, queueAction, type Action } from './action.ts'
import { BatchResult, checkBatch } from './batch.ts'
import { entries, text } from './input.ts'
import { receiptOf, settleError } from './settle-by-handle.ts'

const ENTRY = 'DeleteMessageBatchRequestEntry'

export const deleteMessageBatch: Action = queueAction(
  'DeleteMessageBatch',
  { Entries: entries(ENTRY, { Id: text, ReceiptHandle: text }) },
  async (call, queue, { Entries }) => {
    describe(call, queue)
    const given = checkBatch(call, Entries, ENTRY)
    const result = new BatchResult()
    const items = given.flatMap((entry) => {
      const receipt = result.attempt(entry.Id, () => receiptOf(call, entry.ReceiptHandle))
      return receipt === undefined ? [] : [{ entry, receipt }]
    })
    const answers = await call.broker.settle(
      queue,
      items.map(({ receipt }) => ({ type: 'delete', receipt })),
    )
    for (const [index, answer] of answers.entries()) {
      const { Id, ReceiptHandle } = items[index]!.entry
      if (isRefusal(answer)) result.fail(Id, settleError(answer, ReceiptHandle))
      else result.succeed(Id)
    }
    return result.output()
  },
)
