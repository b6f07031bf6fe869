/**
 * Queues as programs, our own HTTP API and the command line make them: in one place unless told otherwise, and with
 * a queue for their dead letters unless told to have none. Queues that are made over another wire have what that
 * wire says.
 */
import { fault, type Fault } from '../std/index.ts'
import type { Broker, CreateOptions, QueueFault, QueueInfo, QueueName } from './broker.ts'
import type { QueueConfig } from './config.ts'
import { QUEUE_NAME_CHARS_MAX } from './limits.ts'

export type QueuePlace = Readonly<{ account: string; region: string }>

export const HOME: QueuePlace = { account: '000000000000', region: 'local' }

/** How many messages are shown to whoever does not say how many, and to whoever wants all. */
export const BROWSE_DEFAULT = 50
export const BROWSE_MAX = 1_000

/** `maxRetries` is the same as `maxReceives`. */
export type GivenConfig = Partial<QueueConfig> & Readonly<{ maxRetries?: number }>

const FIFO = '.fifo'
const DEAD = '_dlq'

export function ownQueue(name: string, place: QueuePlace = HOME): QueueName {
  return { account: place.account, region: place.region, name }
}

/** `orders` dies into `orders_dlq`, and `orders.fifo` into `orders_dlq.fifo`. */
export function deadLetterNameOf(name: string): string {
  const [base, suffix] = partsOf(name)
  return `${base}${DEAD}${suffix}`
}

/** A queue that is there is only held to what was told; one that is not gets what our own queues have. */
export async function createOwn(
  broker: Broker,
  name: QueueName,
  given: GivenConfig,
  options: CreateOptions = {},
): Promise<QueueInfo | QueueFault> {
  const isThere = !('ok' in broker.describe(name))
  const config = isThere ? given : ownConfig(name.name, given)
  return 'ok' in config ? config : broker.create(name, config, options)
}

/**
 * What to create a queue with. A queue that is named like one for dead letters has none of its own, and hands out
 * its messages as often as they are asked for.
 */
function ownConfig(name: string, given: GivenConfig): GivenConfig | Fault<'bad-queue-config'> {
  if ('deadLetterQueue' in given) return badDeadLetters(name, given.deadLetterQueue) ?? given
  if (partsOf(name)[0].endsWith(DEAD)) return { maxReceives: Infinity, ...given }
  const deadLetterQueue = deadLetterNameOf(name)
  if (deadLetterQueue.length <= QUEUE_NAME_CHARS_MAX) return { ...given, deadLetterQueue }
  return fault('bad-queue-config', `${deadLetterQueue} is too long for a name of a queue`, {
    fields: ['deadLetterQueue'],
    remedy: 'name a shorter queue for dead letters',
  })
}

/** Why dead letters of the one cannot go to the other, if they cannot. */
export function badDeadLetters(
  name: string,
  to: string | undefined,
): Fault<'bad-queue-config'> | undefined {
  if (to === undefined) return undefined
  const isName = to.length <= QUEUE_NAME_CHARS_MAX && /^[A-Za-z0-9_-]+(?:\.fifo)?$/.test(to)
  if (isName && to !== name && to.endsWith(FIFO) === name.endsWith(FIFO)) return undefined
  return fault('bad-queue-config', `dead letters of ${name} cannot go there`, {
    fields: ['deadLetterQueue'],
    remedy: 'name another queue, FIFO if and only if this one is',
  })
}

function partsOf(name: string): readonly [base: string, suffix: string] {
  return name.endsWith(FIFO) ? [name.slice(0, -FIFO.length), FIFO] : [name, '']
}
