/**
 * The queues that are awake: a queue is an actor from when it is first asked for, a child of `/queues` under its
 * name. What an actor cannot answer comes back as a refusal, never as a throw.
 */
import {
  ask,
  receive,
  restart,
  type Behavior,
  type Context,
  type Handle,
  type Ref,
  type SpawnOptions,
  type System,
} from '../kernel/index.ts'
import { Accident, fault, unreachable } from '../std/index.ts'
import type { QueueFault, QueueName } from './broker.ts'
import type { Catalog } from './catalog.ts'
import { QUEUES_MAX } from './limits.ts'
import { noSuchQueue } from './naming.ts'
import { queue, type QueueMessage } from './queue.ts'
import type { Entry, Shared } from './premises.ts'

/** How long a queue may take to answer what it should answer at once. */
export const QUEUE_ANSWER_MS = 30_000
/** Mail that may wait at one queue. */
export const QUEUE_MAIL_MAX = 100_000

type Keeping =
  | Readonly<{ type: 'wake'; entry: Entry; replyTo: Ref<Ref<QueueMessage>> }>
  | Readonly<{ type: 'put-away'; entry: Entry }>

export class Queues {
  readonly #catalog: Catalog
  readonly #awake = new Map<number, Ref<QueueMessage>>()
  readonly #keeper: Handle<Keeping>
  #shut: QueueFault | undefined

  constructor(system: System, shared: Shared, catalog: Catalog) {
    this.#catalog = catalog
    this.#keeper = system.spawn('queues', keeper(shared), { bound: QUEUES_MAX })
  }

  /** Why nobody is let in any more. */
  get isShut(): QueueFault | undefined {
    return this.#shut
  }

  /** Without waiting, if it is awake: the way of nearly every message. */
  find(name: QueueName): Ref<QueueMessage> | undefined {
    const entry = this.#catalog.find(name)
    return entry === undefined || this.#shut !== undefined ? undefined : this.#awake.get(entry.id)
  }

  byId(id: number): Ref<QueueMessage> | undefined {
    return this.#awake.get(id)
  }

  async get(name: QueueName): Promise<Ref<QueueMessage> | QueueFault> {
    if (this.#shut !== undefined) return this.#shut
    const entry = this.#catalog.find(name)
    return entry === undefined ? noSuchQueue(name) : this.wake(entry)
  }

  async wake(entry: Entry): Promise<Ref<QueueMessage> | QueueFault> {
    const awake = this.#awake.get(entry.id)
    if (awake !== undefined) return awake
    try {
      const ref = await ask<Keeping, Ref<QueueMessage>>(this.#keeper, (replyTo) => ({
        type: 'wake',
        entry,
        replyTo,
      }))
      this.#awake.set(entry.id, ref)
      return ref
    } catch (error) {
      if (error instanceof Accident) return this.#shut ?? closing()
      throw error
    }
  }

  get awake(): number {
    return this.#awake.size
  }

  async ask<Reply>(
    to: Ref<QueueMessage>,
    make: (replyTo: Ref<Reply>) => QueueMessage,
    deadlineMs: number = QUEUE_ANSWER_MS,
  ): Promise<Reply | QueueFault> {
    try {
      return await ask<QueueMessage, Reply>(to, make, { deadlineMs })
    } catch (error) {
      if (!(error instanceof Accident)) throw error
      const { code, message, detail } = error
      if (code === 'mailbox-full') return fault('broker-overloaded', message, detail)
      if (code === 'actor-stopped') return fault('broker-closed', message, detail)
      return fault('unknown-outcome', message, { ...detail, cause: code })
    }
  }

  /** It takes nothing any more; settles when what it had begun is durable. */
  async end(id: number, reason: QueueFault): Promise<void> {
    const ref = this.#awake.get(id)
    if (ref === undefined) return
    await this.ask<true>(ref, (replyTo) => ({ type: 'end', reason, replyTo }))
  }

  /** Its actor ends, once nothing is left for it to do. */
  putAway(entry: Entry): void {
    this.#awake.delete(entry.id)
    this.#keeper.tell({ type: 'put-away', entry })
  }

  /** Nobody is let in any more, and everybody who waits is told why. */
  shut(reason: QueueFault): void {
    this.#shut ??= reason
    for (const id of this.#awake.keys()) void this.end(id, reason)
  }

  async close(): Promise<void> {
    this.#shut ??= closing()
    const reason = this.#shut
    await Promise.all([...this.#awake.keys()].map((id) => this.end(id, reason)))
    this.#keeper.stop()
    await this.#keeper.ended
  }
}

function closing(): QueueFault {
  return fault('broker-closed', 'the broker is closing')
}

function keeper(shared: Shared): Behavior<Keeping> {
  return receive((ctx: Context<Keeping>, message) => {
    const name = pathOf(message.entry)
    const child = ctx.child<QueueMessage>(name)
    switch (message.type) {
      case 'wake':
        message.replyTo.tell(child ?? ctx.spawn(name, queue(shared, message.entry), SPAWNED))
        return undefined
      case 'put-away':
        if (child !== undefined) ctx.stop(child)
        return undefined
      default:
        return unreachable(message)
    }
  })
}

/** A queue that fails reads what is on record, and goes on. */
const SPAWNED: SpawnOptions<QueueMessage> = {
  bound: QUEUE_MAIL_MAX,
  supervision: restart({ max: Infinity }),
}

/** A name that was deleted may be there again, before the one of before has ended. */
function pathOf({ id, name }: Entry): string {
  return `${name.name}@${name.region}.${name.account}.${id}`
}
