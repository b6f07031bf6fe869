/** A message as SendMessage and SendMessageBatch take it, checked and made one of the broker's. */
import { hash } from 'node:crypto'

import type { NewMessage, QueueInfo, Sent } from '../broker.ts'
import { bytesOf } from '../message-text.ts'
import { required, type SqsCall } from './action.ts'
import { invalid, missing, SqsError } from './errors.ts'
import { integer, text, type InputOf, type Kind } from './input.ts'
import {
  attributesOf,
  checkCharacters,
  md5OfAttributes,
  messageAttributes,
  priorityOf,
  systemAttributes,
  traceOf,
  type WireAttributes,
} from './message-attributes.ts'

export const messageShape: Readonly<{
  MessageBody: Kind<string>
  DelaySeconds: Kind<number>
  MessageAttributes: Kind<WireAttributes>
  MessageSystemAttributes: Kind<WireAttributes>
  MessageDeduplicationId: Kind<string>
  MessageGroupId: Kind<string>
}> = {
  MessageBody: text,
  DelaySeconds: integer,
  MessageAttributes: messageAttributes,
  MessageSystemAttributes: systemAttributes,
  MessageDeduplicationId: text,
  MessageGroupId: text,
}

export type WireMessage = InputOf<typeof messageShape>

/** A queue says by this tag which attribute is its messages' priority; an empty one means none. */
export const PRIORITY_TAG = 'broker:priority-attribute'

/** What is said of a message once it was taken. */
export type MessageSums = Readonly<{
  MD5OfMessageBody: string
  MD5OfMessageAttributes?: string
  MD5OfMessageSystemAttributes?: string
}>

export type CheckedMessage = Readonly<{ message: NewMessage; bytes: number; sums: MessageSums }>

const ID = /^[\x21-\x7e]{1,128}$/

export function checkedMessage(
  call: SqsCall,
  { config, tags }: QueueInfo,
  given: WireMessage,
): CheckedMessage {
  const body = required(given.MessageBody, 'MessageBody')
  checkCharacters(body)
  const attributes = attributesOf(given.MessageAttributes, call.limits)
  const trace = traceOf(given.MessageSystemAttributes)
  const priority = config.fifo
    ? 0
    : priorityOf(attributes, tags[PRIORITY_TAG] ?? call.priorityAttribute)
  const delayMs = delayOf(given.DelaySeconds, config.fifo, call)
  const group = idOf(given.MessageGroupId, 'MessageGroupId')
  const dedupId = idOf(given.MessageDeduplicationId, 'MessageDeduplicationId')
  if (config.fifo && group === undefined) throw missing('MessageGroupId')
  if (!config.fifo && dedupId !== undefined)
    throw invalid(
      dedupId,
      'MessageDeduplicationId',
      'The request includes a parameter that is not valid for this queue type.',
    )
  if (config.fifo && dedupId === undefined && !config.contentDedup)
    throw new SqsError(
      'InvalidParameterValue',
      'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
    )
  const dedup = config.fifo ? (dedupId ?? hash('sha256', body)) : undefined
  const { accessKeyId } = call.caller
  const message: NewMessage = {
    body,
    ...(attributes !== undefined && { attributes }),
    ...(priority !== 0 && { priority }),
    ...(delayMs !== undefined && { delayMs }),
    ...(group !== undefined && { group }),
    ...(dedup !== undefined && { dedupId: dedup }),
    ...(trace !== undefined && 'text' in trace && { trace: trace.text }),
    ...(accessKeyId !== undefined && { sender: accessKeyId }),
  }
  const bytes = bytesOf(message)
  if (bytes > config.messageBytesMax)
    throw new SqsError(
      'InvalidParameterValue',
      `One or more parameters are invalid. Reason: Message must be shorter than ${config.messageBytesMax} bytes.`,
    )
  const sums: MessageSums = {
    MD5OfMessageBody: hash('md5', body),
    ...(attributes !== undefined && { MD5OfMessageAttributes: md5OfAttributes(attributes) }),
    ...(trace !== undefined && {
      MD5OfMessageSystemAttributes: md5OfAttributes({ AWSTraceHeader: trace }),
    }),
  }
  return { message, bytes, sums }
}

export function sentOutput(
  { messageId, seq }: Sent,
  sums: MessageSums,
  fifo: boolean,
): Readonly<Record<string, unknown>> {
  return { ...sums, MessageId: messageId, ...(fifo && { SequenceNumber: sequenceOf(seq) }) }
}

const SEQUENCE_DIGITS = 20

export function sequenceOf(seq: number): string {
  return String(seq).padStart(SEQUENCE_DIGITS, '0')
}

function delayOf(
  seconds: number | undefined,
  fifo: boolean,
  { limits }: SqsCall,
): number | undefined {
  if (seconds === undefined) return undefined
  if (seconds < 0 || seconds > limits.delaySeconds)
    throw invalid(
      seconds,
      'DelaySeconds',
      `DelaySeconds must be >= 0 and <= ${limits.delaySeconds}.`,
    )
  if (!fifo) return seconds * 1_000
  if (seconds === 0) return undefined // a FIFO queue has a delay of its own
  throw invalid(
    seconds,
    'DelaySeconds',
    'The request include parameter that is not valid for this queue type.',
  )
}

export function idOf(value: string | undefined, parameter: string): string | undefined {
  if (value === undefined || ID.test(value)) return value
  throw invalid(
    value,
    parameter,
    `${parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
  )
}
