/**
 * Queues as programs, our own HTTP API and the command line make them: in one place unless told otherwise, and with
 * a queue for their dead letters unless told to have none. Queues that are made over another wire have what that
 * wire says.
 */
import type { Broker, CreateOptions, QueueFault, QueueInfo, QueueName } from './broker.ts'
import type { QueueConfig } from './config.ts'

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

/** A queue that is there is only held to what was told; one that is not gets what our own queues have. */
export function createOwn(
  broker: Broker,
  name: QueueName,
  given: GivenConfig,
  options: CreateOptions = {},
): Promise<QueueInfo | QueueFault> {
  const isThere = !('ok' in broker.describe(name))
  return broker.create(name, isThere ? given : withDeadLetters(name.name, given), options)
}

/**
 * A queue that is named like one for dead letters has none of its own, and hands out its messages as often as
 * they are asked for.
 */
function withDeadLetters(name: string, given: GivenConfig): GivenConfig {
  if ('deadLetterQueue' in given) return given
  if (partsOf(name)[0].endsWith(DEAD)) return { maxReceives: Infinity, ...given }
  return { ...given, deadLetterQueue: deadLetterNameOf(name) }
}

/** `orders` dies into `orders_dlq`, and `orders.fifo` into `orders_dlq.fifo`. */
function deadLetterNameOf(name: string): string {
  const [base, suffix] = partsOf(name)
  return `${base}${DEAD}${suffix}`
}

function partsOf(name: string): readonly [base: string, suffix: string] {
  return name.endsWith(FIFO) ? [name.slice(0, -FIFO.length), FIFO] : [name, '']
}
