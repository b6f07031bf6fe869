/**
 * What a queue is told over HTTP. Times are whole milliseconds. What has no end is `unlimited`, and dead letters that
 * are not kept are `false`, since `null` counts as missing.
 */
import { custom, flag, oneOf, optional, shape, whole, type Shape } from '../../http/index.ts'
import type { QueueConfig } from '../config.ts'
import {
  DEDUP_MS_MAX,
  DELAY_MS_MAX,
  IN_FLIGHT_MAX_STANDARD,
  MESSAGE_BYTES_MAX,
  VISIBILITY_MS_MAX,
  WAIT_MS_MAX,
} from '../limits.ts'
import type { GivenConfig } from '../own-queues.ts'
import { mapped, ms, textWithin, word } from './input.ts'

export const UNLIMITED = 'unlimited'
const BACKOFF_FACTOR_MAX = 1_000

const fraction: Shape<number> = custom({
  schema: { type: 'number', minimum: 0, maximum: 1 },
  expected: 'a number from 0 to 1',
  read: (value) => (typeof value === 'number' && value >= 0 && value <= 1 ? value : undefined),
})

const factor: Shape<number> = custom({
  schema: { type: 'number', minimum: 1, maximum: BACKOFF_FACTOR_MAX },
  expected: `a number from 1 to ${BACKOFF_FACTOR_MAX}`,
  read: (value) =>
    typeof value === 'number' && value >= 1 && value <= BACKOFF_FACTOR_MAX ? value : undefined,
})

const count: Shape<number> = orUnlimited(whole(1, Number.MAX_SAFE_INTEGER))

const settings = {
  fifo: optional(flag()),
  visibilityMs: optional(ms(VISIBILITY_MS_MAX)),
  maxReceives: optional(orUnlimited(whole(1, 2 ** 31 - 1))),
  maxRetries: optional(orUnlimited(whole(1, 2 ** 31 - 1))),
  retentionMs: optional(count),
  onExpire: optional(oneOf(['drop', 'dead-letter'])),
  delayMs: optional(ms(DELAY_MS_MAX)),
  waitMs: optional(ms(WAIT_MS_MAX)),
  backoff: optional(
    shape(
      {
        baseMs: optional(ms(DELAY_MS_MAX)),
        factor: optional(factor),
        maxMs: optional(ms(DELAY_MS_MAX)),
        jitter: optional(fraction),
      },
      { exact: true },
    ),
  ),
  agingMs: optional(ms(Number.MAX_SAFE_INTEGER)),
  maxLength: optional(count),
  maxBytes: optional(count),
  overflow: optional(oneOf(['reject', 'drop-oldest', 'dead-letter-oldest', 'block'])),
  blockMs: optional(ms(WAIT_MS_MAX)),
  deadLetterQueue: optional(nameOrFalse()),
  dedupWindowMs: optional(ms(DEDUP_MS_MAX)),
  dedupScope: optional(oneOf(['queue', 'group'])),
  contentDedup: optional(flag()),
  messageBytesMax: optional(whole(1, MESSAGE_BYTES_MAX)),
  inFlightMax: optional(whole(1, IN_FLIGHT_MAX_STANDARD)),
}

/** Every setting of a queue, none of them required. */
export const config: Shape<GivenConfig> = mapped(
  shape(settings, { exact: true }),
  ({ deadLetterQueue, backoff, ...rest }) => ({
    ...rest,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is missing the broker adds
    ...(backoff !== undefined && { backoff: backoff as QueueConfig['backoff'] }),
    ...(deadLetterQueue !== undefined && {
      deadLetterQueue: deadLetterQueue === false ? undefined : deadLetterQueue,
    }),
  }),
)

function orUnlimited(of: Shape<number>): Shape<number> {
  return {
    ...of,
    schema: { oneOf: [of.schema, { type: 'string', enum: [UNLIMITED] }] },
    read: (value, path, issues) => (value === UNLIMITED ? Infinity : of.read(value, path, issues)),
  }
}

function nameOrFalse(): Shape<string | false> {
  return custom({
    schema: { oneOf: [word.schema, { type: 'boolean', enum: [false] }] },
    expected: 'the name of a queue, or false',
    read: (value) => (value === false ? false : textWithin(value)),
  })
}
