/** SQS SendMessageBatch. What is taken of it becomes durable together; each message has its own answer. */
import { describe, isRefusal, queueAction, type Action } from './action.ts'
import { BatchResult, checkBatch } from './batch.ts'
import { SqsError, sqsErrorOf } from './errors.ts'
import { entries, text } from './input.ts'
import { checkedMessage, messageShape, sentOutput } from './new-message.ts'

const ENTRY = 'SendMessageBatchRequestEntry'

export const sendMessageBatch: Action = queueAction(
  'SendMessageBatch',
  { Entries: entries(ENTRY, { Id: text, ...messageShape }) },
  async (call, queue, { Entries }) => {
    const info = describe(call, queue)
    const { fifo } = info.config
    const given = checkBatch(call, Entries, ENTRY)
    const result = new BatchResult()
    const taken = given.flatMap((entry) => {
      // Without a group or an id nothing can be put in order, so SQS takes none of them.
      const check = (): ReturnType<typeof checkedMessage> => checkedMessage(call, info, entry)
      const one = fifo && isOutOfOrder(entry) ? check() : result.attempt(entry.Id, check)
      return one === undefined ? [] : [{ id: entry.Id, ...one }]
    })
    const bytes = taken.reduce((sum, one) => sum + one.bytes, 0)
    if (bytes > call.limits.batchBytes)
      throw new SqsError(
        'BatchRequestTooLong',
        `Batch requests cannot be longer than ${call.limits.batchBytes} bytes. You have sent ${bytes} bytes.`,
      )
    const answers = await call.broker.send(
      queue,
      taken.map(({ message }) => message),
    )
    for (const [index, answer] of answers.entries()) {
      const { id, sums } = taken[index]!
      if (isRefusal(answer)) result.fail(id, sqsErrorOf(answer))
      else result.succeed(id, sentOutput(answer, sums, fifo))
    }
    return result.output()
  },
)

function isOutOfOrder(entry: {
  readonly MessageGroupId: string | undefined
  readonly MessageDeduplicationId: string | undefined
}): boolean {
  return entry.MessageGroupId === undefined || entry.MessageDeduplicationId === undefined
}
