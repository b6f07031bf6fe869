/** Messages as they are sent, received, ended and taken back over HTTP. */
import {
  custom,
  listOf,
  oneOf,
  optional,
  shape,
  text,
  whole,
  type Shape,
} from '../../http/index.ts'
import type { MessageAttribute, NewMessage, Settlement } from '../broker.ts'
import {
  BROKER_BATCH_MAX,
  DEDUP_ID_CHARS_MAX,
  DELAY_MS_MAX,
  FAILURE_REASON_CHARS_MAX,
  GROUP_CHARS_MAX,
  MESSAGE_BYTES_MAX,
  RECEIVE_MAX,
  VISIBILITY_MS_MAX,
  WAIT_MS_MAX,
} from '../limits.ts'
import { entriesOf, mapped, ms, HANDLE_CHARS_MAX, word, WORD_CHARS_MAX } from './input.ts'

const ATTRIBUTES_MAX = 100

const attributes: Shape<Readonly<Record<string, MessageAttribute>>> = custom({
  schema: {
    type: 'object',
    maxProperties: ATTRIBUTES_MAX,
    additionalProperties: {
      type: 'object',
      properties: {
        type: { type: 'string' },
        text: { type: 'string' },
        base64: { type: 'string' },
      },
      required: ['type'],
    },
  },
  expected: `at most ${ATTRIBUTES_MAX} attributes, each with a type and either text or base64`,
  read(value) {
    const entries = entriesOf(value, ATTRIBUTES_MAX)
    const read = entries?.map(([name, one]) => [name, attributeOf(one)] as const)
    const known = read?.flatMap(([name, one]) => (one === undefined ? [] : [[name, one] as const]))
    return known === undefined || known.length !== read?.length
      ? undefined
      : Object.fromEntries(known)
  },
})

const oneMessage = shape(
  {
    body: optional(text({ max: MESSAGE_BYTES_MAX })),
    json: optional(
      custom<unknown>({ schema: {}, expected: 'a JSON value', read: (value) => value }),
    ),
    attributes: optional(attributes),
    priority: optional(whole(0, 255)),
    delayMs: optional(ms(DELAY_MS_MAX)),
    ttlMs: optional(whole(1, Number.MAX_SAFE_INTEGER)),
    group: optional(text({ min: 1, max: GROUP_CHARS_MAX })),
    dedupId: optional(text({ min: 1, max: DEDUP_ID_CHARS_MAX })),
  },
  { exact: true },
)

/** A text as `body`, or any other value as `json`; one of the two. */
const newMessage: Shape<NewMessage> = mapped(oneMessage, ({ body, json, ...rest }, wrong) => {
  if (body !== undefined && json === undefined) return { ...rest, body }
  if (json !== undefined && body === undefined) return { ...rest, body: JSON.stringify(json) }
  return wrong('body', 'a text as body or a value as json, one of the two')
})

/** What has ended how, its delivery still in writing. */
export type WrittenSettlement = DistributedOmit<Settlement, 'receipt'> &
  Readonly<{ receipt: string }>
type DistributedOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

const oneSettlement = shape(
  {
    type: oneOf(['delete', 'nack', 'release', 'extend', 'reject']),
    receipt: text({ min: 1, max: HANDLE_CHARS_MAX }),
    delayMs: optional(ms(DELAY_MS_MAX)),
    visibilityMs: optional(ms(VISIBILITY_MS_MAX)),
    reason: optional(text({ max: FAILURE_REASON_CHARS_MAX })),
  },
  { exact: true },
)

const settlement: Shape<WrittenSettlement> = mapped(
  oneSettlement,
  ({ type, receipt, delayMs, visibilityMs, reason }, wrong) => {
    const why = reason === undefined ? {} : { reason }
    switch (type) {
      case 'delete':
      case 'release':
        return { type, receipt }
      case 'nack':
        return { type, receipt, ...why, ...(delayMs !== undefined && { delayMs }) }
      case 'reject':
        return { type, receipt, ...why }
      case 'extend':
        if (visibilityMs !== undefined) return { type, receipt, visibilityMs }
        return wrong('visibilityMs', `a whole number from 0 to ${VISIBILITY_MS_MAX}`)
    }
  },
)

export type OneOrMany<T> = Readonly<{ isOne: boolean; items: readonly T[] }>

export const sending: Shape<OneOrMany<NewMessage>> = oneOrMany('messages', newMessage)
export const settling: Shape<OneOrMany<WrittenSettlement>> = oneOrMany('settlements', settlement)

export const receiving: Shape<
  Readonly<{ max: number; waitMs?: number; visibilityMs?: number; attemptId?: string }>
> = shape(
  {
    max: optional(whole(1, RECEIVE_MAX), 1),
    waitMs: optional(ms(WAIT_MS_MAX)),
    visibilityMs: optional(ms(VISIBILITY_MS_MAX)),
    attemptId: optional(text({ min: 1, max: DEDUP_ID_CHARS_MAX })),
  },
  { exact: true },
)

export const redriving: Shape<
  Readonly<{ to?: string; ids?: readonly string[]; search?: string; ratePerSecond?: number }>
> = shape(
  {
    to: optional(word),
    ids: optional(listOf(word, { min: 1, max: BROKER_BATCH_MAX })),
    search: optional(word),
    ratePerSecond: optional(whole(1, 1_000_000)),
  },
  { exact: true },
)

/** The item itself, or a list of them under its name. */
function oneOrMany<T>(name: string, item: Shape<T>): Shape<OneOrMany<T>> {
  const many = listOf(item, { min: 1, max: BROKER_BATCH_MAX })
  const batch = shape({ [name]: many }, { exact: true })
  return {
    isOptional: false,
    schema: { type: 'object', oneOf: [item.schema, batch.schema] },
    read(value, path, issues) {
      if (typeof value === 'object' && value !== null && name in value) {
        const items = batch.read(value, path, issues)?.[name]
        return items === undefined ? undefined : { isOne: false, items }
      }
      const one = item.read(value, path, issues)
      return one === undefined ? undefined : { isOne: true, items: [one] }
    },
  }
}

function attributeOf(value: unknown): MessageAttribute | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { type, text: said, base64 }: Partial<Record<string, unknown>> = { ...value }
  if (typeof type !== 'string' || type === '' || type.length > WORD_CHARS_MAX) return undefined
  if (typeof said === 'string' && base64 === undefined)
    return said.isWellFormed() ? { type, text: said } : undefined
  return typeof base64 === 'string' && said === undefined && isBase64(base64)
    ? { type, base64 }
    : undefined
}

function isBase64(value: string): boolean {
  return value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value)
}
