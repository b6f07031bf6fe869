/**
 * A queue of values, for programs that have the broker in their process: what goes in and what comes out is of one
 * type, written as JSON and held to a schema at both ends. A body that is wrong goes to the dead letters and
 * not into a handler.
 *
 * Refusals are answered, not thrown; whoever gives a `signal` gets its reason thrown when it aborts.
 */
import { Accident, silentLog, systemClock, type Clock, type Log } from '../std/index.ts'
import type {
  Broker,
  BrowseOptions,
  Delivery,
  MoveTask,
  NewMessage,
  QueueFault,
  QueueName,
  ReceiveOptions,
  RedriveOptions,
  Sent,
  Settlement,
} from './broker.ts'
import type { Found } from './browsing.ts'
import { unlessAborted } from './client/aborting.ts'
import { readBody, writtenBody, type BodySchema } from './client/body.ts'
import {
  SlidingConsumer,
  type Consumer,
  type ConsumeOptions,
  type Handler,
} from './client/consumer.ts'
import { receivedOf, type Received } from './client/received.ts'
import { browseDead, purgeDead, redriveDead, type Purged } from './dead-letters.ts'
import { WAIT_MS_MAX } from './limits.ts'
import { BROWSE_DEFAULT, createOwn, ownQueue, type GivenConfig } from './own-queues.ts'

export type QueueOptions<T> = Readonly<{
  /** What bodies are held to; any Standard Schema. Without one nothing is checked but that they are JSON. */
  schema?: BodySchema<T>
  /** With it the queue is made when it is first needed, if it is not there; without it, it has to be there. */
  config?: GivenConfig
  /** Time for consumers. */
  clock?: Clock
  log?: Log
}>

type Abortable = Readonly<{ signal?: AbortSignal }>

export type SendOptions = Omit<NewMessage, 'body'> & Abortable
export type BatchItem<T> = Omit<NewMessage, 'body'> & Readonly<{ body: T }>
export type TakeOptions = Partial<ReceiveOptions>
export type MessagesOptions = Abortable & Readonly<{ visibilityMs?: number }>

/** The dead letters of a queue. Their bodies are text, since that may be why they died. */
export interface DeadLetters {
  browse(options?: Partial<BrowseOptions> & Abortable): Promise<Found | QueueFault>
  /** Back to where they died, or elsewhere: all, those with these ids, or those that have the text in them. */
  redrive(options?: RedriveOptions & Abortable): Promise<MoveTask | QueueFault>
  purge(options?: Abortable): Promise<Purged | QueueFault>
}

export interface Queue<T> {
  readonly name: QueueName
  readonly dlq: DeadLetters
  /** Durable when it is answered. */
  send(body: T, options?: SendOptions): Promise<Sent | QueueFault>
  /** One answer for each, in their order; those that are taken become durable together. */
  sendBatch(
    items: readonly BatchItem<T>[],
    options?: Abortable,
  ): Promise<readonly (Sent | QueueFault)[]>
  /** One at most unless said otherwise. What is wrong goes to the dead letters, so fewer may come than were there. */
  receive(options?: TakeOptions): Promise<readonly Received<T>[] | QueueFault>
  /** Begins at once. */
  consume(handler: Handler<T>, options?: ConsumeOptions): Consumer
  /**
   * One message after another, until the signal aborts or the loop is left. Each is the loop's to end; its lease is
   * the loop's to extend. Throws where the queue refuses.
   */
  messages(options?: MessagesOptions): AsyncIterable<Received<T>>
}

/** The queue of that name, in the place of our own queues, or exactly the one that is named. */
export function queue<T = unknown>(
  broker: Broker,
  name: string | QueueName,
  options: QueueOptions<T> = {},
): Queue<T> {
  return new TypedQueue(broker, typeof name === 'string' ? ownQueue(name) : name, options)
}

class TypedQueue<T> implements Queue<T> {
  readonly name: QueueName
  readonly dlq: DeadLetters
  readonly #broker: Broker
  readonly #options: QueueOptions<T>
  #isReady: boolean

  constructor(broker: Broker, name: QueueName, options: QueueOptions<T>) {
    this.name = name
    this.#broker = broker
    this.#options = options
    this.#isReady = options.config === undefined
    this.dlq = {
      browse: ({ signal, limit = BROWSE_DEFAULT, ...rest } = {}) =>
        this.#withDead(signal, () => browseDead(broker, name, { ...rest, limit })),
      redrive: ({ signal, ...rest } = {}) =>
        this.#withDead(signal, () => redriveDead(broker, name, rest)),
      purge: ({ signal } = {}) => this.#withDead(signal, () => purgeDead(broker, name)),
    }
  }

  async send(body: T, { signal, ...rest }: SendOptions = {}): Promise<Sent | QueueFault> {
    const [answer] = await this.sendBatch(
      [{ ...rest, body }],
      signal === undefined ? {} : { signal },
    )
    return answer!
  }

  sendBatch(
    items: readonly BatchItem<T>[],
    { signal }: Abortable = {},
  ): Promise<readonly (Sent | QueueFault)[]> {
    return unlessAborted(signal, async () => {
      const refusal = await this.#ready()
      if (refusal !== undefined) return items.map(() => refusal)
      const { schema } = this.#options
      const written = await Promise.all(items.map(({ body }) => writtenBody(body, schema)))
      const messages: NewMessage[] = []
      for (const [index, { body: _, ...rest }] of items.entries()) {
        const body = written[index]!
        if (body.ok) messages.push({ ...rest, body: body.text })
      }
      if (messages.length === 0) return written.filter((body) => !body.ok)
      const sent = (await this.#broker.send(this.name, messages)).values()
      return written.map((body) => (body.ok ? sent.next().value! : body))
    })
  }

  async receive(options: TakeOptions = {}): Promise<readonly Received<T>[] | QueueFault> {
    const refusal = await this.#ready()
    if (refusal !== undefined) return refusal
    const answer = await this.#broker.receive(this.name, { max: 1, ...options })
    if ('ok' in answer) return answer
    return this.#read(answer)
  }

  consume(handler: Handler<T>, options: ConsumeOptions = {}): Consumer {
    const { schema, clock = systemClock, log = silentLog } = this.#options
    const parts = {
      broker: this.#broker,
      name: this.name,
      clock,
      log,
      ready: () => this.#ready(),
      read: (text: string) => readBody(text, schema),
    }
    return new SlidingConsumer(parts, handler, options)
  }

  async *messages({ signal, visibilityMs }: MessagesOptions = {}): AsyncGenerator<Received<T>> {
    const options = {
      max: 1,
      waitMs: WAIT_MS_MAX,
      ...(visibilityMs !== undefined && { visibilityMs }),
      ...(signal !== undefined && { signal }),
    }
    for (;;) {
      if (signal?.aborted === true) return
      const answer = await this.receive(options).catch((error: unknown) => {
        if (signal?.aborted === true) return []
        throw error
      })
      if ('ok' in answer) throw new Accident(answer)
      yield* answer
    }
  }

  /** Bodies that are wrong are dealt with here, in their order. */
  async #read(deliveries: readonly Delivery[]): Promise<readonly Received<T>[]> {
    const { schema, log = silentLog } = this.#options
    const bodies = await Promise.all(deliveries.map(({ body }) => readBody(body, schema)))
    const received: Received<T>[] = []
    const wrong: Settlement[] = []
    for (const [index, delivery] of deliveries.entries()) {
      const body = bodies[index]!
      const { receipt } = delivery
      if (body.ok) received.push(receivedOf(this.#broker, this.name, delivery, body.value))
      else wrong.push({ type: 'reject', receipt, reason: body.issues.join('; ') })
    }
    if (wrong.length === 0) return received
    for (const answer of await this.#broker.settle(this.name, wrong)) {
      if (answer.ok) continue
      const { code, message } = answer
      log.warn('a message that is wrong is kept', { queue: this.name.name, code, message })
    }
    return received
  }

  /** Two that are first make the same queue. */
  async #ready(): Promise<QueueFault | undefined> {
    const { config } = this.#options
    if (this.#isReady || config === undefined) return undefined
    const made = await createOwn(this.#broker, this.name, config)
    if ('ok' in made) return made
    this.#isReady = true
    return undefined
  }

  async #withDead<R>(
    signal: AbortSignal | undefined,
    work: () => Promise<R | QueueFault>,
  ): Promise<R | QueueFault> {
    return unlessAborted(signal, async () => (await this.#ready()) ?? (await work()))
  }
}
