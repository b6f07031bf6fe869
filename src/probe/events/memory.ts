/**
 * Clusters that live in this process: for tests without a broker, and for tests of this code.
 *
 * They keep the promises of a real one: an event is acknowledged with its partition and offset, one key
 * stays in one partition and in order, offsets have no gaps, a group has each event once among its
 * consumers, and topics are there only if they were asked for. A topic keeps its latest events, within
 * a number and a size; what is older is gone as if its time had passed.
 */
import { Accident, afterTurn, fault, type Clock } from '../../std/index.ts'
import {
  bytesOf,
  type ConsumerOptions,
  type EventCluster,
  type EventClusters,
  type EventConsumer,
  type EventProducer,
  type EventsFault,
  type Placed,
  type WireEvent,
} from './events.ts'
import { MemoryTopic } from './memory-topic.ts'
import { memoryRegistry } from './memory-registry.ts'

export type MemoryClustersOptions = Readonly<{
  clock: Pick<Clock, 'now'>
  /** Topics come into being with so many partitions when they are first named. */
  autoCreate?: number
  /** Whether each cluster has a registry of schemas; true by default. */
  hasRegistry?: boolean
  /** What one topic keeps. */
  retention?: Readonly<{ events: number; bytes: number }>
}>

export const MEMORY_CLUSTERS_MAX = 100
export const MEMORY_TOPICS_MAX = 1_000
export const MEMORY_PARTITIONS_MAX = 1_000
export const TOPIC_EVENTS_DEFAULT = 10_000
export const TOPIC_BYTES_DEFAULT = 16_777_216
/** As a broker has it unless it is told otherwise. */
export const EVENT_BYTES_MAX = 1_048_576

const TOPIC_NAME = /^(?!\.{1,2}$)[\w.-]{1,249}$/

export function memoryClusters(options: MemoryClustersOptions): EventClusters {
  const clusters = new Map<string, EventCluster>()
  return {
    open(bootstrapServers = '') {
      const cluster = clusters.get(bootstrapServers) ?? new MemoryCluster(options)
      if (!clusters.has(bootstrapServers) && clusters.size >= MEMORY_CLUSTERS_MAX)
        throw tooMany('clusters', MEMORY_CLUSTERS_MAX)
      clusters.set(bootstrapServers, cluster)
      return cluster
    },
    async [Symbol.asyncDispose]() {
      for (const cluster of clusters.values()) await cluster[Symbol.asyncDispose]()
      clusters.clear()
    },
  }
}

class MemoryCluster implements EventCluster {
  readonly registry: EventCluster['registry']
  readonly #options: MemoryClustersOptions
  readonly #topics = new Map<string, MemoryTopic>()

  constructor(options: MemoryClustersOptions) {
    this.#options = options
    this.registry = (options.hasRegistry ?? true) ? memoryRegistry() : undefined
  }

  async createTopic(topic: string, partitions: number): Promise<boolean> {
    if (this.#topics.has(topic)) return false
    if (!TOPIC_NAME.test(topic))
      throw refused(`'${topic.slice(0, 50)}' cannot be the name of a topic`, {
        remedy: 'give it 1 to 249 letters, digits, dots, dashes and underscores',
      })
    if (!Number.isInteger(partitions) || partitions < 1 || partitions > MEMORY_PARTITIONS_MAX)
      throw refused(`a topic cannot have ${partitions} partitions`, {
        remedy: `give it 1 to ${MEMORY_PARTITIONS_MAX}`,
      })
    if (this.#topics.size >= MEMORY_TOPICS_MAX) throw tooMany('topics', MEMORY_TOPICS_MAX)
    const { retention = { events: TOPIC_EVENTS_DEFAULT, bytes: TOPIC_BYTES_DEFAULT } } =
      this.#options
    this.#topics.set(topic, new MemoryTopic(topic, partitions, retention))
    return true
  }

  async deleteTopic(name: string): Promise<void> {
    const topic = this.#topics.get(name)
    if (topic === undefined) throw noSuchTopic(name)
    this.#topics.delete(name)
    topic.end(noSuchTopic(name))
  }

  async lag(topic: string, group: string): Promise<number> {
    return (await this.#topic(topic)).lag(group)
  }

  async producer({
    topic: name,
    signal,
  }: {
    topic: string
    signal: AbortSignal
  }): Promise<EventProducer> {
    await this.#topic(name)
    signal.throwIfAborted()
    let isClosed = false
    return {
      send: async (event) => {
        if (isClosed) throw refused(`the producer of ${name} is closed`, {})
        return this.#append(await this.#topic(name), event)
      },
      async [Symbol.asyncDispose]() {
        isClosed = true
      },
    }
  }

  async consumer(options: ConsumerOptions): Promise<EventConsumer> {
    const topic = await this.#topic(options.topic)
    options.signal.throwIfAborted()
    const leave = topic.join(options)
    afterTurn(() => topic.deliver())
    return {
      async [Symbol.asyncDispose]() {
        leave()
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const [name, topic] of this.#topics) topic.end(noSuchTopic(name))
    this.#topics.clear()
  }

  #append(topic: MemoryTopic, event: WireEvent): Placed {
    const bytes = bytesOf(event)
    if (bytes > EVENT_BYTES_MAX)
      throw refused(`an event of ${bytes} bytes is too large for ${topic.name}`, {
        limit: EVENT_BYTES_MAX,
        remedy: `send at most ${EVENT_BYTES_MAX} bytes`,
      })
    const placed = topic.append(event, bytes, this.#options.clock.now())
    afterTurn(() => topic.deliver())
    return placed
  }

  async #topic(name: string): Promise<MemoryTopic> {
    const { autoCreate } = this.#options
    if (autoCreate !== undefined && !this.#topics.has(name))
      await this.createTopic(name, autoCreate)
    const topic = this.#topics.get(name)
    if (topic === undefined) throw noSuchTopic(name)
    return topic
  }
}

function noSuchTopic(topic: string): Accident<EventsFault['code']> {
  return new Accident(
    fault('no-such-topic', `there is no topic ${topic}`, {
      topic,
      remedy: 'create it first, or let the directive say how many partitions to create it with',
    }),
  )
}

function tooMany(what: string, limit: number): Accident<EventsFault['code']> {
  return refused(`there are as many ${what} as there may be`, {
    limit,
    remedy: `use at most ${limit}`,
  })
}

function refused(message: string, detail: Record<string, unknown>): Accident<EventsFault['code']> {
  return new Accident(fault('event-refused', message, detail))
}
