/** SQS ReceiveMessage. Waits if told to; whoever leaves meanwhile is given nothing. */
import { hash } from 'node:crypto'

import type { Delivery } from '../broker.ts'
import { describe, granted, isRefusal, queueAction, type Action, type SqsCall } from './action.ts'
import { invalid, SqsError } from './errors.ts'
import { integer, text, texts } from './input.ts'
import { SQS_VISIBILITY_S_MAX } from './limits.ts'
import { md5OfAttributes, wantedOf, wireAttributesOf } from './message-attributes.ts'
import { idOf, sequenceOf } from './new-message.ts'
import { arnOf } from './places.ts'

export const receiveMessage: Action = queueAction(
  'ReceiveMessage',
  {
    AttributeNames: texts('AttributeName'),
    MessageSystemAttributeNames: texts('MessageSystemAttributeName'),
    MessageAttributeNames: texts('MessageAttributeName'),
    MaxNumberOfMessages: integer,
    VisibilityTimeout: integer,
    WaitTimeSeconds: integer,
    ReceiveRequestAttemptId: text,
  },
  async (call, queue, input) => {
    const { broker, limits, request } = call
    const {
      MaxNumberOfMessages: max = 1,
      VisibilityTimeout: visible,
      WaitTimeSeconds: wait,
    } = input
    if (max < 1 || max > limits.receiveMessages)
      throw invalid(
        max,
        'MaxNumberOfMessages',
        `Must be between 1 and ${limits.receiveMessages}, if provided.`,
      )
    if (wait !== undefined && (wait < 0 || wait > limits.waitSeconds))
      throw invalid(
        wait,
        'WaitTimeSeconds',
        `Must be >= 0 and <= ${limits.waitSeconds}, if provided.`,
      )
    if (visible !== undefined && (visible < 0 || visible > SQS_VISIBILITY_S_MAX))
      throw invalid(
        visible,
        'VisibilityTimeout',
        `Must be >= 0 and <= ${SQS_VISIBILITY_S_MAX}, if provided.`,
      )
    const attemptId = idOf(input.ReceiveRequestAttemptId, 'ReceiveRequestAttemptId')
    const { config } = describe(call, queue)
    if (attemptId !== undefined && !config.fifo)
      throw invalid(
        attemptId,
        'ReceiveRequestAttemptId',
        'The request includes a parameter that is not valid for this queue type.',
      )
    const system = systemNames(input.AttributeNames, input.MessageSystemAttributeNames)
    const waitMs = wait === undefined ? config.waitMs : wait * 1_000
    const answer = await broker
      .receive(queue, {
        max,
        waitMs,
        ...(visible !== undefined && { visibilityMs: visible * 1_000 }),
        ...(waitMs > 0 && { signal: request.signal }),
        ...(attemptId !== undefined && { attemptId }),
      })
      .catch((error: unknown) => {
        if (waitMs > 0 && request.signal.aborted) return [] // it has left, or the server goes down
        throw error
      })
    // A FIFO queue that has handed out all it may is as good as empty.
    if (config.fifo && isRefusal(answer) && answer.code === 'too-many-in-flight') return {}
    const deliveries = granted(answer)
    if (deliveries.length === 0) return {}
    const names = input.MessageAttributeNames ?? []
    return {
      Messages: deliveries.map((one) =>
        messageOutput(call, one, { system, names, fifo: config.fifo }),
      ),
    }
  },
)

function messageOutput(
  { handles, caller }: SqsCall,
  delivery: Delivery,
  wanted: Readonly<{ system: ReadonlySet<string>; names: readonly string[]; fifo: boolean }>,
): Readonly<Record<string, unknown>> {
  const { messageId, receipt, body } = delivery
  const attributes = wantedOf(delivery.attributes, wanted.names)
  const system =
    wanted.system.size === 0
      ? []
      : Object.entries(SYSTEM).flatMap(([name, read]) => {
          const isWanted = wanted.system.has('All') || wanted.system.has(name)
          const value = isWanted
            ? read(delivery, { fifo: wanted.fifo, account: caller.account })
            : undefined
          return value === undefined ? [] : [[name, value] as const]
        })
  return {
    MessageId: messageId,
    ReceiptHandle: handles.write(receipt),
    MD5OfBody: hash('md5', body),
    Body: body,
    ...(system.length > 0 && { Attributes: Object.fromEntries(system) }),
    ...(attributes !== undefined && {
      MD5OfMessageAttributes: md5OfAttributes(attributes),
      MessageAttributes: wireAttributesOf(attributes),
    }),
  }
}

type Reader = (
  delivery: Delivery,
  of: Readonly<{ fifo: boolean; account: string }>,
) => string | undefined

/** What can be told of a message besides what was sent, by the names it can be asked for. */
const SYSTEM: Readonly<Record<string, Reader>> = {
  SenderId: ({ sender }, { account }) => sender ?? account,
  SentTimestamp: ({ sentAt }) => String(sentAt),
  ApproximateReceiveCount: ({ receives }) => String(receives),
  ApproximateFirstReceiveTimestamp: ({ firstReceivedAt }) => firstReceivedAt?.toString(),
  SequenceNumber: ({ seq }, { fifo }) => (fifo ? sequenceOf(seq) : undefined),
  MessageDeduplicationId: ({ dedupId }) => dedupId,
  MessageGroupId: ({ group }) => group,
  AWSTraceHeader: ({ trace }) => trace,
  DeadLetterQueueSourceArn: ({ deadLetterOf }) => deadLetterOf && arnOf(deadLetterOf),
}

function systemNames(...lists: readonly (readonly string[] | undefined)[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const name of lists.flatMap((list) => list ?? [])) {
    if (name !== 'All' && !Object.hasOwn(SYSTEM, name))
      throw new SqsError('InvalidAttributeName', `Unknown Attribute ${name.slice(0, 100)}.`)
    names.add(name)
  }
  return names
}
