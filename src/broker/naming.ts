/** Names of queues, and refusals that are about names. */
import { fault } from '../std/index.ts'
import type { QueueFault, QueueName } from './broker.ts'
import type { QueueConfig } from './config.ts'
import { QUEUE_NAME_CHARS_MAX, QUEUE_TAGS_MAX } from './limits.ts'
import { keyOf } from './message-id.ts'

const NAME = /^[A-Za-z0-9_-]+(?:\.fifo)?$/
/** An account, or a region. */
const PLACE = /^[A-Za-z0-9_-]{1,64}$/
/** What of somebody's name for a queue is repeated to them. */
const SHOWN_CHARS = 100

export function badName(
  { account, region, name }: QueueName,
  { fifo }: QueueConfig,
): QueueFault | undefined {
  if (isNameOf(name, fifo) && PLACE.test(account) && PLACE.test(region)) return undefined
  return fault('bad-queue-name', `not a name for this queue: ${name.slice(0, SHOWN_CHARS)}`, {
    remedy: `use 1 to ${QUEUE_NAME_CHARS_MAX} of A-Z a-z 0-9 - _, ending in .fifo if and only if it is FIFO`,
  })
}

/** Dead letters go to another queue, and of the same kind: a FIFO queue keeps its order there. */
export function badDeadLetters(
  { name }: QueueName,
  { deadLetterQueue, fifo }: QueueConfig,
): QueueFault | undefined {
  if (deadLetterQueue === undefined) return undefined
  if (deadLetterQueue !== name && isNameOf(deadLetterQueue, fifo)) return undefined
  return fault('bad-queue-config', 'dead letters go to another queue of the same kind', {
    fields: ['deadLetterQueue'],
  })
}

function isNameOf(name: string, fifo: boolean): boolean {
  return name.length <= QUEUE_NAME_CHARS_MAX && NAME.test(name) && fifo === name.endsWith('.fifo')
}

export function badTags(tags: Readonly<Record<string, string>>): QueueFault | undefined {
  if (Object.keys(tags).length <= QUEUE_TAGS_MAX) return undefined
  return fault('bad-queue-config', `a queue has ${QUEUE_TAGS_MAX} tags at most`, {
    fields: ['tags'],
  })
}

export function noSuchQueue({ name }: QueueName): QueueFault {
  const queue = name.slice(0, SHOWN_CHARS)
  return fault('no-such-queue', `there is no queue ${queue}`, { queue })
}

/** Names a redrive, and tells whose it is. */
export function handleOf(seq: number, source: QueueName): string {
  return Buffer.from(JSON.stringify({ taskId: keyOf(seq), source })).toString('base64')
}

/** Undefined for what is no handle of ours. */
export function sourceOf(handle: string): QueueName | undefined {
  try {
    const told: { source?: Partial<QueueName> } = JSON.parse(
      Buffer.from(handle, 'base64').toString(),
    )
    const { account, region, name } = told.source ?? {}
    if (typeof account !== 'string' || typeof region !== 'string' || typeof name !== 'string')
      return undefined
    return { account, region, name }
  } catch {
    return undefined // whatever it is, we have not made it
  }
}
