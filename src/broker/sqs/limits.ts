/**
 * What one request may ask for. `strict` is what Amazon allows; `relaxed` is what the broker can do, for those
 * who have left Amazon behind. Names, characters and what a message may be are the same in both.
 */
import {
  BROKER_BATCH_MAX,
  DELAY_MS_MAX,
  MESSAGE_BYTES_MAX,
  RECEIVE_MAX,
  WAIT_MS_MAX,
} from '../limits.ts'

export type SqsLimits = Readonly<{
  batchEntries: number
  batchBytes: number
  receiveMessages: number
  waitSeconds: number
  delaySeconds: number
  attributes: number
}>

export const strictSqs: SqsLimits = {
  batchEntries: 10,
  batchBytes: MESSAGE_BYTES_MAX,
  receiveMessages: 10,
  waitSeconds: 20,
  delaySeconds: 900,
  attributes: 10,
}

export const relaxedSqs: SqsLimits = {
  batchEntries: BROKER_BATCH_MAX,
  batchBytes: 2 * MESSAGE_BYTES_MAX,
  receiveMessages: RECEIVE_MAX,
  waitSeconds: WAIT_MS_MAX / 1_000,
  delaySeconds: DELAY_MS_MAX / 1_000,
  attributes: 100,
}

/**
 * A megabyte of messages, each byte written as three: that is what the query protocol makes of text that is not
 * Latin, and some clients of what is not ASCII in JSON. And room for what is around it.
 */
export const SQS_BODY_BYTES_MAX: number = 3 * MESSAGE_BYTES_MAX + 262_144
/** Fields of one request of the query protocol, and characters of the name of one. */
export const SQS_FIELDS_MAX = 20_000
export const SQS_FIELD_NAME_CHARS_MAX = 512
/** How far the clock of a caller who signs may be off. */
export const SQS_SKEW_MS_MAX = 900_000
/** How long a link that was signed beforehand can be good for. */
export const SQS_PRESIGNED_S_MAX = 604_800
/** Keys of days and regions that are kept, so that they need not be derived for every request. */
export const SQS_SIGNING_KEYS_MAX = 1_000
/** Seconds a message can be hidden for, at most. */
export const SQS_VISIBILITY_S_MAX = 43_200
/** Queues that one answer lists, at most. */
export const SQS_LISTED_MAX = 1_000
/** Messages that a move task may move in a second, at most, and tasks that one answer lists. */
export const SQS_MOVES_PER_S_MAX = 500
export const SQS_TASKS_LISTED_MAX = 10
