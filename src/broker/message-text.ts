/**
 * A message as it is written down: the value of one record.
 *
 *   1|sentAt|level|dueAt|expiresAt|length of extras|extras as JSON|body
 *
 * A queue of a million is read back at every start, so what the queue must know stands first and is read without
 * looking at the rest. Times are wall time in ms; an empty one means at once, or never.
 *
 * To change the format: raise `FORMAT`, keep reading every earlier number, and add a record of the format before
 * to `message-text.test.ts`, which is never taken out again.
 */
import { assert } from '../std/index.ts'
import type { Failure, Message, MessageAttribute, NewMessage, QueueName } from './broker.ts'
import { messageIdOf } from './message-id.ts'

/** What most messages do not have. */
export type Extras = Readonly<{
  attributes?: Readonly<Record<string, MessageAttribute>>
  group?: string
  dedupId?: string
  trace?: string
  sender?: string
  /** What a message that was moved has kept: its number of before, and whose dead letter it is. */
  first?: number
  deadLetterOf?: number
  failures?: readonly Failure[]
}>

export type Head = Readonly<{ sentAt: number; level: number; dueAt: number; expiresAt: number }>

const FORMAT = '1'

export function textOf(head: Head, extras: Extras | undefined, body: string): string {
  const { sentAt, level, dueAt, expiresAt } = head
  const due = dueAt <= sentAt ? '' : dueAt
  const expires = expiresAt === Infinity ? '' : expiresAt
  const more = extras === undefined ? '' : JSON.stringify(extras)
  return `${FORMAT}|${sentAt}|${level}|${due}|${expires}|${more.length}|${more}|${body}`
}

export function headOf(text: string): Head {
  assert(text.startsWith('1|'), 'a message is written in a format that is known')
  const level = text.indexOf('|', 2)
  const due = text.indexOf('|', level + 1)
  const expires = text.indexOf('|', due + 1)
  const end = text.indexOf('|', expires + 1)
  const sentAt = numberIn(text, 2, level)
  return {
    sentAt,
    level: numberIn(text, level + 1, due),
    dueAt: due + 1 === expires ? sentAt : numberIn(text, due + 1, expires),
    expiresAt: expires + 1 === end ? Infinity : numberIn(text, expires + 1, end),
  }
}

export function extrasOf(text: string): Extras | undefined {
  const [from, to] = extrasSpan(text)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what `textOf` made of them
  return from === to ? undefined : (JSON.parse(text.slice(from, to)) as Extras)
}

/** Whether it is worth the while to look for them. */
export function hasExtras(text: string): boolean {
  const [from, to] = extrasSpan(text)
  return from < to
}

export function bodyOf(text: string): string {
  return text.slice(extrasSpan(text)[1] + 1)
}

/** The body and what Amazon counts of attributes: name, type and value. */
export function bytesOf({ body, attributes }: Pick<NewMessage, 'body' | 'attributes'>): number {
  let bytes = Buffer.byteLength(body)
  if (attributes === undefined) return bytes
  for (const [name, attribute] of Object.entries(attributes)) {
    const value =
      'text' in attribute
        ? Buffer.byteLength(attribute.text)
        : Buffer.byteLength(attribute.base64, 'base64')
    bytes += Buffer.byteLength(name) + Buffer.byteLength(attribute.type) + value
  }
  return bytes
}

/** The same of a message that is written down. */
export function sizeOf(text: string): number {
  const [from, to] = extrasSpan(text)
  // All before the body is one byte each.
  if (from === to) return Buffer.byteLength(text) - (to + 1)
  // Attributes are seldom, and to parse for nothing is dear.
  const attributes = text.includes('"attributes":') ? extrasOf(text)?.attributes : undefined
  return bytesOf({ body: bodyOf(text), ...(attributes !== undefined && { attributes }) })
}

/** What a reader is told of a message; what changes with every delivery is passed in. */
export function messageOf(
  text: string,
  seq: number,
  now: Readonly<{
    receives: number
    firstReceivedAt: number
    failures: readonly Failure[] | undefined
  }>,
  queueOf: (id: number) => QueueName | undefined,
): Message {
  const { sentAt, level } = headOf(text)
  const extras = extrasOf(text)
  const message = {
    messageId: messageIdOf(extras?.first ?? seq),
    seq,
    body: bodyOf(text),
    attributes: extras?.attributes ?? NO_ATTRIBUTES,
    priority: level,
    receives: now.receives,
    sentAt,
    ...(now.receives > 0 && { firstReceivedAt: now.firstReceivedAt }),
    failures: now.failures ?? extras?.failures ?? NO_FAILURES,
  }
  if (extras === undefined) return message
  const { group, dedupId, trace, sender } = extras
  const deadLetterOf = extras.deadLetterOf === undefined ? undefined : queueOf(extras.deadLetterOf)
  return {
    ...message,
    ...(group !== undefined && { group }),
    ...(dedupId !== undefined && { dedupId }),
    ...(trace !== undefined && { trace }),
    ...(sender !== undefined && { sender }),
    ...(deadLetterOf !== undefined && { deadLetterOf }),
  }
}

const NO_ATTRIBUTES: Readonly<Record<string, MessageAttribute>> = Object.freeze({})
export const NO_FAILURES: readonly Failure[] = []

function extrasSpan(text: string): readonly [from: number, to: number] {
  let at = 1
  for (let bar = 0; bar < 4; bar++) at = text.indexOf('|', at + 1)
  const end = text.indexOf('|', at + 1)
  return [end + 1, end + 1 + numberIn(text, at + 1, end)]
}

const ZERO = 48
const NINE = 57

/** Nearly all are digits and nothing else; these are read without making a text of them. */
function numberIn(text: string, from: number, to: number): number {
  let value = 0
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (code < ZERO || code > NINE) return Number(text.slice(from, to))
    value = value * 10 + (code - ZERO)
  }
  return value
}
