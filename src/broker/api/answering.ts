/** What the routes of the queues answer: queues, messages and tasks as JSON, and the schemas of those. */
import { fields, list, type JsonSchema } from '../../http/index.ts'
import type {
  Broker,
  Browsed,
  Delivery,
  MoveTask,
  QueueInfo,
  QueueStats,
  Receipt,
} from '../broker.ts'
import type { QueuePlace } from '../own-queues.ts'
import { UNLIMITED } from './config-input.ts'

/** Receipts as text that nobody can guess. */
export interface Receipts {
  write(receipt: Receipt): string
  /** Undefined for what was not written here. */
  read(text: string): Receipt | undefined
}

/** What all routes of the queues share. */
export type QueueDesk = Readonly<{ broker: Broker; receipts: Receipts; home: QueuePlace }>

const TEXT: JsonSchema = { type: 'string' }
const WHOLE: JsonSchema = { type: 'integer' }
const FLAG: JsonSchema = { type: 'boolean' }
/** Milliseconds since 1970. */
const TIME: JsonSchema = { type: 'integer', description: 'milliseconds since 1970' }

const statsSchema: JsonSchema = {
  type: 'object',
  additionalProperties: WHOLE,
  examples: [{ ready: 2, delayed: 0, leased: 1, bytes: 120, oldestAgeMs: 1_200, waiting: 0 }],
}

export const infoSchema: JsonSchema = fields({
  name: TEXT,
  account: TEXT,
  region: TEXT,
  config: { type: 'object' },
  tags: { type: 'object', additionalProperties: TEXT },
  paused: fields({ receive: FLAG, send: FLAG }),
  createdAt: TIME,
  modifiedAt: TIME,
  'stats?': statsSchema,
})

const message = {
  messageId: TEXT,
  seq: WHOLE,
  body: TEXT,
  attributes: { type: 'object' },
  priority: WHOLE,
  receives: WHOLE,
  sentAt: TIME,
  'firstReceivedAt?': TIME,
  'group?': TEXT,
  'dedupId?': TEXT,
  'trace?': TEXT,
  'sender?': TEXT,
  'deadLetterOf?': TEXT,
  failures: list(fields({ at: TIME, reason: TEXT, 'consumer?': TEXT })),
}

export const browsedSchema: JsonSchema = fields({
  ...message,
  state: { type: 'string', enum: ['ready', 'delayed', 'leased'] },
  'dueAt?': TIME,
})

export const deliverySchema: JsonSchema = fields({ ...message, receipt: TEXT, visibleAt: TIME })

export const pageSchema: JsonSchema = fields({ messages: list(browsedSchema), 'next?': WHOLE })

export const sentSchema: JsonSchema = fields({ messageId: TEXT, seq: WHOLE, duplicate: FLAG })

export const purgedSchema: JsonSchema = fields({ purged: WHOLE })

export const taskSchema: JsonSchema = fields({
  task: TEXT,
  state: { type: 'string', enum: ['running', 'completed', 'cancelling', 'cancelled', 'failed'] },
  source: TEXT,
  'target?': TEXT,
  'ratePerSecond?': WHOLE,
  startedAt: TIME,
  moved: WHOLE,
  toMove: WHOLE,
  'reason?': TEXT,
})

type Json = Readonly<Record<string, unknown>>

export function infoJson(info: QueueInfo, stats?: QueueStats): Json {
  const { name, config, tags, paused, createdAt, modifiedAt } = info
  const { attributes: _, ...settings } = config
  const shown = Object.entries(settings).map(([setting, value]) => [
    setting,
    value === Infinity ? UNLIMITED : value,
  ])
  return {
    ...name,
    config: Object.fromEntries(shown),
    tags,
    paused,
    createdAt,
    modifiedAt,
    ...(stats !== undefined && { stats }),
  }
}

export function browsedJson({ deadLetterOf, ...rest }: Browsed): Json {
  return { ...rest, ...(deadLetterOf !== undefined && { deadLetterOf: deadLetterOf.name }) }
}

export function deliveryJson(
  { receipt, deadLetterOf, ...rest }: Delivery,
  receipts: Receipts,
): Json {
  return {
    ...rest,
    ...(deadLetterOf !== undefined && { deadLetterOf: deadLetterOf.name }),
    receipt: receipts.write(receipt),
  }
}

export function taskJson({ handle, source, target, ...rest }: MoveTask): Json {
  return {
    task: handle,
    source: source.name,
    ...(target !== undefined && { target: target.name }),
    ...rest,
  }
}
