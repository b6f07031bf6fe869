/** What kafkajs throws, as our faults; and waiting for it no longer than agreed. */
import { Accident, fault, type Clock } from '../../std/index.ts'
import type { Mask } from '../secrets/secrets.ts'

export type WithinOptions = Readonly<{
  clock: Clock
  ms: number
  signal?: AbortSignal | undefined
}>

const NO_TOPIC = new Set(['UNKNOWN_TOPIC_OR_PARTITION', 'INVALID_TOPIC_EXCEPTION'])
const REFUSED = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
  'POLICY_VIOLATION',
  'INVALID_PARTITIONS',
  'INVALID_REPLICATION_FACTOR',
])

/** `what` completes 'Kafka could not'. */
export function kafkaAccident(error: unknown, what: string, mask: Mask): Accident {
  const causes = causesOf(error)
  const types = causes.map(typeOf)
  const reason = mask.text(causes.at(-1)?.message ?? String(error))
  const message = `kafka could not ${what}: ${reason}`
  if (types.some((type) => NO_TOPIC.has(type)))
    return new Accident(
      fault('no-such-topic', message, {
        isTransient: false,
        remedy: 'create the topic, or let the directive say with how many partitions',
      }),
    )
  if (types.some((type) => type.endsWith('AUTHORIZATION_FAILED') || type.includes('SASL')))
    return new Accident(
      fault('topic-denied', message, {
        isTransient: false,
        remedy: 'give the client principal the rights and the right secret',
      }),
    )
  if (types.some((type) => REFUSED.has(type)))
    return new Accident(
      fault('event-refused', message, { isTransient: false, remedy: 'send what the topic allows' }),
    )
  return new Accident(
    fault('events-unavailable', message, {
      isTransient: true,
      remedy: 'look whether the brokers can be reached, and try again',
    }),
  )
}

/** Rejects when time is up or the signal comes; the work itself is not stopped by that. */
export async function within<T>(work: Promise<T>, options: WithinOptions): Promise<T> {
  const { clock, ms, signal } = options
  signal?.throwIfAborted()
  const over = Promise.withResolvers<never>()
  const onAbort = (): void => over.reject(signal?.reason)
  const timer = clock.setTimer(clock.monotonic() + ms, () => over.reject(late(ms)))
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, over.promise])
  } finally {
    work.catch(() => undefined) // it may fail after nobody waits any more
    timer.cancel()
    signal?.removeEventListener('abort', onAbort)
  }
}

function late(ms: number): Accident {
  return new Accident(
    fault('events-unavailable', `the broker did not answer within ${ms} ms`, {
      isTransient: true,
      remedy: 'look whether the brokers can be reached, and try again',
    }),
  )
}

function causesOf(error: unknown): Error[] {
  const causes: Error[] = []
  for (let at = error; at instanceof Error && causes.length < 10; at = at.cause) causes.push(at)
  return causes
}

function typeOf(error: Error): string {
  if ('type' in error && typeof error.type === 'string') return error.type
  return error.name === 'KafkaJSSASLAuthenticationError' ? 'SASL_AUTHENTICATION_FAILED' : ''
}
