/**
 * The dead letters of a queue, from its own side: they are in the queue that its config names, which the first
 * message that dies makes. Until then there are none.
 */
import { fault } from '../std/index.ts'
import type {
  Broker,
  BrowseOptions,
  MoveTask,
  QueueFault,
  QueueName,
  RedriveOptions,
} from './broker.ts'
import type { Found } from './browsing.ts'

export type Purged = Readonly<{ ok: true; purged: number }>

export function browseDead(
  broker: Broker,
  of: QueueName,
  options: BrowseOptions,
): Promise<Found | QueueFault> {
  const none = { ok: true, messages: [] } as const
  return inGrave(broker, of, none, (grave) => broker.browse(grave, options))
}

/** Moves what is there when it is asked; a task with nothing to do has ended. */
export function redriveDead(
  broker: Broker,
  of: QueueName,
  options: RedriveOptions,
): Promise<MoveTask | QueueFault> {
  const none = fault('no-dead-letters', `no message of ${of.name} has died`, { queue: of.name })
  return inGrave<MoveTask>(broker, of, none, (grave) => broker.redrive(grave, options))
}

export function purgeDead(broker: Broker, of: QueueName): Promise<Purged | QueueFault> {
  return inGrave<Purged>(broker, of, { ok: true, purged: 0 }, (grave) => broker.purge(grave))
}

/** The latest first. */
export function deadLetterTasks(
  broker: Broker,
  of: QueueName,
): Promise<readonly MoveTask[] | QueueFault> {
  return inGrave<readonly MoveTask[]>(broker, of, [], (grave) => broker.moveTasks(grave))
}

async function inGrave<T>(
  broker: Broker,
  of: QueueName,
  none: T | QueueFault,
  work: (grave: QueueName) => Promise<T | QueueFault>,
): Promise<T | QueueFault> {
  const info = broker.describe(of)
  if ('ok' in info) return info
  const { deadLetterQueue } = info.config
  if (deadLetterQueue === undefined)
    return fault('no-dead-letters', `the queue ${of.name} has none for dead letters`, {
      queue: of.name,
      remedy: 'set its deadLetterQueue',
    })
  const grave = { ...of, name: deadLetterQueue }
  return 'ok' in broker.describe(grave) ? none : work(grave)
}
