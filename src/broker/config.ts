/**
 * What a queue can be told about itself.
 *
 * Times are milliseconds. `Infinity` means without end, and is written down as null. A config is checked as a
 * whole, and everything that is wrong with it is said at once.
 */
import { fault, type Fault } from '../std/index.ts'
import {
  DEDUP_MS_FIFO,
  DEDUP_MS_MAX,
  DELAY_MS_MAX,
  IN_FLIGHT_MAX_FIFO,
  IN_FLIGHT_MAX_STANDARD,
  MESSAGE_BYTES_MAX,
  VISIBILITY_MS_MAX,
  WAIT_MS_MAX,
} from './limits.ts'

/** What happens to a send when there is no room. */
export type OverflowPolicy = 'reject' | 'drop-oldest' | 'dead-letter-oldest' | 'block'

export type QueueConfig = Readonly<{
  /** Order within each group, and nothing twice within the window; cannot be changed later. */
  fifo: boolean
  /** How long a message is hidden from others once it was received. */
  visibilityMs: number
  /** After so many deliveries a message goes to the dead letters. */
  maxReceives: number
  /** How old a message may become before `onExpire` happens to it. */
  retentionMs: number
  onExpire: 'drop' | 'dead-letter'
  /** How long a message is put off that does not say so itself. */
  delayMs: number
  /** How long a receive waits that does not say so itself. */
  waitMs: number
  /** The pause before a message that failed is seen again: base × factor^(failures − 1), at most max. */
  backoff: Readonly<{ baseMs: number; factor: number; maxMs: number; jitter: number }>
  /** How long waiting is worth one level of priority; 0 for strict priority. */
  agingMs: number
  maxLength: number
  maxBytes: number
  overflow: OverflowPolicy
  /** How long a send waits for room, with `block`. */
  blockMs: number
  /** Where dead letters go: the name of a queue of the same account and region. Without it nothing dies. */
  deadLetterQueue?: string | undefined
  /** How long a deduplication id is remembered; 0 for not at all. */
  dedupWindowMs: number
  /** Whether an id means the same message in all groups, or in each another one. */
  dedupScope: 'queue' | 'group'
  /** The content of a message is its deduplication id where it has none. */
  contentDedup: boolean
  messageBytesMax: number
  inFlightMax: number
  /** What a wire keeps with the queue and the broker has no use for. */
  attributes: Readonly<Record<string, string>>
}>

const DEFAULTS: QueueConfig = {
  fifo: false,
  visibilityMs: 30_000,
  maxReceives: 5,
  retentionMs: Infinity,
  onExpire: 'drop',
  delayMs: 0,
  waitMs: 0,
  backoff: { baseMs: 0, factor: 2, maxMs: 60_000, jitter: 0.2 },
  agingMs: 0,
  maxLength: Infinity,
  maxBytes: Infinity,
  overflow: 'reject',
  blockMs: 5_000,
  dedupWindowMs: 0,
  dedupScope: 'queue',
  contentDedup: false,
  messageBytesMax: MESSAGE_BYTES_MAX,
  inFlightMax: IN_FLIGHT_MAX_STANDARD,
  attributes: {},
}

type Range = Readonly<{ min: number; max: number; isWhole?: boolean; orInfinity?: boolean }>

const RANGES: Readonly<Partial<Record<keyof QueueConfig, Range>>> = {
  visibilityMs: { min: 0, max: VISIBILITY_MS_MAX },
  maxReceives: { min: 1, max: 2 ** 31 - 1, isWhole: true, orInfinity: true },
  retentionMs: { min: 1, max: Number.MAX_SAFE_INTEGER, orInfinity: true },
  delayMs: { min: 0, max: DELAY_MS_MAX },
  waitMs: { min: 0, max: WAIT_MS_MAX },
  agingMs: { min: 0, max: Number.MAX_SAFE_INTEGER },
  maxLength: { min: 1, max: Number.MAX_SAFE_INTEGER, isWhole: true, orInfinity: true },
  maxBytes: { min: 1, max: Number.MAX_SAFE_INTEGER, isWhole: true, orInfinity: true },
  blockMs: { min: 0, max: WAIT_MS_MAX },
  dedupWindowMs: { min: 0, max: DEDUP_MS_MAX },
  messageBytesMax: { min: 1, max: MESSAGE_BYTES_MAX, isWhole: true },
  inFlightMax: { min: 1, max: IN_FLIGHT_MAX_STANDARD, isWhole: true },
}

const BACKOFF_RANGES: Readonly<Record<keyof QueueConfig['backoff'], Range>> = {
  baseMs: { min: 0, max: DELAY_MS_MAX },
  factor: { min: 1, max: 1_000 },
  maxMs: { min: 0, max: DELAY_MS_MAX },
  jitter: { min: 0, max: 1 },
}

const CHOICES: Readonly<Partial<Record<keyof QueueConfig, readonly string[]>>> = {
  onExpire: ['drop', 'dead-letter'],
  overflow: ['reject', 'drop-oldest', 'dead-letter-oldest', 'block'],
  dedupScope: ['queue', 'group'],
}

/** What a new queue has, with what it was told. `maxRetries` is the same as `maxReceives`. */
export function configOf(
  given: Partial<QueueConfig> & Readonly<{ maxRetries?: number }>,
): QueueConfig | Fault<'bad-queue-config'> {
  const { maxRetries, ...told } = given
  const fifo = told.fifo === true
  return checked({
    ...DEFAULTS,
    ...(fifo && { dedupWindowMs: DEDUP_MS_FIFO, inFlightMax: IN_FLIGHT_MAX_FIFO }),
    ...(maxRetries !== undefined && { maxReceives: maxRetries }),
    ...told,
    backoff: { ...DEFAULTS.backoff, ...told.backoff },
  })
}

/** A queue that is there, told something else. */
export function changedConfig(
  before: QueueConfig,
  patch: Partial<QueueConfig>,
): QueueConfig | Fault<'bad-queue-config'> {
  const after = { ...before, ...patch, backoff: { ...before.backoff, ...patch.backoff } }
  if (after.fifo === before.fifo) return checked(after)
  return fault('bad-queue-config', 'whether a queue is FIFO cannot be changed', {
    fields: ['fifo'],
    remedy: 'create another queue',
  })
}

/** The fields in which two configs differ. */
export function differences(a: QueueConfig, b: QueueConfig): string[] {
  const [left, right] = [encodeConfig(a), encodeConfig(b)]
  const fields = new Set([...Object.keys(left), ...Object.keys(right)])
  return [...fields].filter((field) => JSON.stringify(left[field]) !== JSON.stringify(right[field]))
}

/** JSON knows no Infinity. */
export function encodeConfig(config: QueueConfig): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(config).map(([field, value]) => [field, value === Infinity ? null : value]),
  )
}

export function decodeConfig(stored: Readonly<Record<string, unknown>>): QueueConfig {
  const config = Object.fromEntries(
    Object.entries(stored).map(([field, value]) => [field, value === null ? Infinity : value]),
  )
  return { ...DEFAULTS, ...config }
}

function checked(config: QueueConfig): QueueConfig | Fault<'bad-queue-config'> {
  const wrong: Record<string, string> = {}
  const given: Readonly<Record<string, unknown>> = config
  const backoff: Readonly<Record<string, unknown>> = config.backoff
  for (const [field, range] of Object.entries(RANGES)) judge(wrong, field, given[field], range)
  for (const [field, range] of Object.entries(BACKOFF_RANGES))
    judge(wrong, `backoff.${field}`, backoff[field], range)
  for (const [field, choices] of Object.entries(CHOICES))
    if (!choices.some((choice) => choice === given[field]))
      wrong[field] = `one of ${choices.join(', ')}`
  for (const field of ['fifo', 'contentDedup'] as const)
    if (typeof config[field] !== 'boolean') wrong[field] = 'true or false'
  if (config.deadLetterQueue === undefined) {
    if (config.onExpire === 'dead-letter') wrong['onExpire'] = 'needs a deadLetterQueue'
    if (config.overflow === 'dead-letter-oldest') wrong['overflow'] = 'needs a deadLetterQueue'
  }
  const unknown = Object.keys(config).filter(
    (field) => !(field in DEFAULTS) && field !== 'deadLetterQueue',
  )
  for (const field of unknown) wrong[field] = 'not a setting of a queue'
  if (Object.keys(wrong).length === 0) return config
  return fault('bad-queue-config', `not a config of a queue: ${Object.keys(wrong).join(', ')}`, {
    fields: Object.keys(wrong),
    expected: wrong,
  })
}

function judge(wrong: Record<string, string>, field: string, value: unknown, range: Range): void {
  const { min, max, isWhole = false, orInfinity = false } = range
  if (orInfinity && value === Infinity) return
  const fits = typeof value === 'number' && value >= min && value <= max
  if (fits && (!isWhole || Number.isInteger(value))) return
  wrong[field] = `a${isWhole ? ' whole' : ''} number from ${min} to ${max}`
}
