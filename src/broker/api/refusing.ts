/**
 * Refusals of the queues on the wire: which status each has, and when it comes. The table is complete by type; the
 * documentation of every route and a page of the reference are made of it.
 */
import { problem, type Answer, type Reply } from '../../http/index.ts'
import type { Fault } from '../../std/index.ts'
import type { QueueFault } from '../broker.ts'

export type QueueRefusal = QueueFault['code'] | 'no-such-message'

type Wire = Readonly<{ status: number; when: string; retryAfterS?: number }>

export const QUEUE_REFUSALS: Readonly<Record<QueueRefusal, Wire>> = {
  'bad-queue-name': { status: 400, when: 'a queue cannot be called that' },
  'bad-queue-config': { status: 400, when: 'a queue cannot be told that' },
  'bad-message': { status: 400, when: 'a message cannot be that' },
  'bad-receipt': { status: 400, when: 'the receipt is none of this queue' },
  'no-such-queue': { status: 404, when: 'there is no such queue' },
  'no-such-message': { status: 404, when: 'there is no such message in the queue' },
  'no-such-task': { status: 404, when: 'there is no such task, or it has ended' },
  'no-dead-letters': { status: 404, when: 'the queue has no dead letters, or nowhere to put them' },
  'queue-exists': { status: 409, when: 'there is one of that name with another config' },
  'queue-paused': { status: 409, when: 'sending is paused' },
  'stale-receipt': { status: 409, when: 'the delivery is over, and somebody else has the message' },
  'not-in-flight': { status: 409, when: 'the delivery is over, and nobody has the message' },
  'purge-in-progress': { status: 409, when: 'the queue was purged a moment ago' },
  'task-running': { status: 409, when: 'dead letters are being moved already' },
  'too-many-queues': { status: 409, when: 'there is room for no more queues' },
  'queue-deleted': { status: 410, when: 'the queue was deleted meanwhile' },
  'message-too-large': { status: 413, when: 'the message is larger than its queue takes' },
  'queue-full': { status: 429, when: 'the queue is as long as it may be', retryAfterS: 1 },
  'too-many-in-flight': {
    status: 429,
    when: 'as many messages are being worked on as may be',
    retryAfterS: 1,
  },
  'too-many-parked': { status: 429, when: 'too many wait at the queue', retryAfterS: 1 },
  'unknown-outcome': { status: 503, when: 'nobody knows whether it was written', retryAfterS: 1 },
  'broker-overloaded': { status: 503, when: 'too much waits', retryAfterS: 1 },
  'broker-closed': { status: 503, when: 'the server ends', retryAfterS: 1 },
  unreadable: { status: 503, when: 'the messages cannot be read', retryAfterS: 1 },
  'store-read-only': { status: 507, when: 'the disk has no room' },
}

export function refused(refusal: Fault<QueueRefusal>): Reply {
  const { status, retryAfterS } = QUEUE_REFUSALS[refusal.code]
  const headers = retryAfterS === undefined ? undefined : { 'retry-after': String(retryAfterS) }
  return problem(status, refusal, undefined, headers)
}

/** One of several: a refusal among answers. */
export function refusedItem(refusal: Fault<QueueRefusal>): Readonly<Record<string, unknown>> {
  const { code, message, detail } = refusal
  return { ok: false, ...detail, status: QUEUE_REFUSALS[code].status, code, detail: message }
}

/** What a route that can meet these answers with. */
export function refusals(...codes: readonly QueueRefusal[]): Readonly<Record<number, Answer>> {
  const all = [...codes, ...ALWAYS]
  return Object.fromEntries(
    [...Map.groupBy(all, (code) => QUEUE_REFUSALS[code].status)].map(([status, those]) => [
      status,
      { description: those.map((code) => `${code}: ${QUEUE_REFUSALS[code].when}`).join('; ') },
    ]),
  )
}

const ALWAYS: readonly QueueRefusal[] = ['unknown-outcome', 'broker-overloaded', 'broker-closed']
