/**
 * The queues that are awake: a queue is an actor from when it is first asked for, a child of `/queues` under its
 * name. What an actor cannot answer comes back as a refusal, never as a throw.
 */
import {
  ask,
  receive,
  type Behavior,
  type Context,
  type Handle,
  type Ref,
  type System,
} from '../kernel/index.ts'
import { Accident, fault } from '../std/index.ts'
import type { QueueFault, QueueName } from './broker.ts'
import type { Catalog } from './catalog.ts'
import { QUEUES_MAX } from './limits.ts'
import { noSuchQueue } from './naming.ts'
import { queue, type QueueMessage } from './queue.ts'
import type { Entry, Shared } from './shared.ts'

/** How long a queue may take to answer what it should answer at once. */
export const QUEUE_ANSWER_MS = 30_000
/** Mail that may wait at one queue. */
export const QUEUE_MAIL_MAX = 100_000

type Waking = Readonly<{ entry: Entry; replyTo: Ref<Ref<QueueMessage>> }>

export class Queues {
  readonly #catalog: Catalog
  readonly #awake = new Map<number, Ref<QueueMessage>>()
  readonly #keeper: Handle<Waking>
  isClosing = false

  constructor(system: System, shared: Shared, catalog: Catalog) {
    this.#catalog = catalog
    this.#keeper = system.spawn('queues', keeper(shared), { bound: QUEUES_MAX })
  }

  /** Without waiting, if it is awake: the way of nearly every message. */
  find(name: QueueName): Ref<QueueMessage> | undefined {
    const entry = this.#catalog.find(name)
    return entry === undefined || this.isClosing ? undefined : this.#awake.get(entry.id)
  }

  byId(id: number): Ref<QueueMessage> | undefined {
    return this.#awake.get(id)
  }

  async get(name: QueueName): Promise<Ref<QueueMessage> | QueueFault> {
    if (this.isClosing) return closing()
    const entry = this.#catalog.find(name)
    return entry === undefined ? noSuchQueue(name) : this.wake(entry)
  }

  async wake(entry: Entry): Promise<Ref<QueueMessage>> {
    const awake = this.#awake.get(entry.id)
    if (awake !== undefined) return awake
    const ref = await ask<Waking, Ref<QueueMessage>>(this.#keeper, (replyTo) => ({
      entry,
      replyTo,
    }))
    this.#awake.set(entry.id, ref)
    return ref
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

  forget(id: number): void {
    this.#awake.delete(id)
  }

  async close(): Promise<void> {
    this.isClosing = true
    await Promise.all([...this.#awake.keys()].map((id) => this.end(id, closing())))
    this.#keeper.stop()
    await this.#keeper.ended
  }
}

export function closing(): QueueFault {
  return fault('broker-closed', 'the broker is closing')
}

function keeper(shared: Shared): Behavior<Waking> {
  return receive((ctx: Context<Waking>, { entry, replyTo }) => {
    const name = pathOf(entry)
    const child = ctx.child<QueueMessage>(name)
    replyTo.tell(child ?? ctx.spawn(name, queue(shared, entry), { bound: QUEUE_MAIL_MAX }))
    return undefined
  })
}

/** A name that was deleted may be there again, before the one of before has ended. */
function pathOf({ id, name }: Entry): string {
  return `${name.name}@${name.region}.${name.account}.${id}`
}
