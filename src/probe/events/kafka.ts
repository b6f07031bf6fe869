/**
 * Clusters of Kafka, through kafkajs, which is loaded when the first topic is opened.
 *
 * What is sent is acknowledged by all replicas in sync. Nothing creates a topic by naming it. Each
 * producer and consumer has connections of its own, so that a topic that is denied or deleted is no
 * trouble to others. Protocol-tested: the adapter is held to its promises on brokers that speak the
 * protocol, not on every version of the real one.
 */
import type { Admin, Producer } from 'kafkajs'

import { Accident, type Clock, type Log } from '../../std/index.ts'
import type { Mask } from '../secrets/secrets.ts'
import type {
  ConsumerOptions,
  Credentials,
  EventCluster,
  EventClusters,
  EventConsumer,
  EventProducer,
  ProducerOptions,
  WireEvent,
} from './events.ts'
import { newClient, newProducer, type KafkaWorld } from './kafka-client.ts'
import { kafkaConsumer, type Place } from './kafka-consumer.ts'
import { kafkaAccident, within } from './kafka-faults.ts'
import { httpRegistry } from './registry-client.ts'
import type { RegistryAddress } from './registry-http.ts'

export type KafkaAddress = Readonly<{
  /** Hosts and ports between commas. */
  bootstrapServers: string
  registry?: RegistryAddress
}>

export type KafkaClustersOptions = Readonly<{
  /** The default one comes first; others that a bundle names have no registry. */
  clusters: readonly [KafkaAddress, ...KafkaAddress[]]
  /** Certificates to trust instead of the usual ones, in PEM. */
  ca?: string
  clock: Clock
  log: Log
  /** One for each client: what a test has to hide ends with it. */
  newMask: () => Mask
}>

/** How long it may take until a producer or a consumer is ready, or an event is acknowledged. */
export const KAFKA_READY_MS = 30_000
export const KAFKA_SEND_MS = 30_000
/** How long closing waits for the broker; then the connection goes without a farewell. */
export const KAFKA_CLOSE_MS = 5_000

const never = new AbortController().signal

export function kafkaClusters(options: KafkaClustersOptions): EventClusters {
  const clusters = new Map<string, KafkaCluster>()
  return {
    open(bootstrapServers = options.clusters[0].bootstrapServers) {
      const known = clusters.get(bootstrapServers)
      if (known !== undefined) return known
      const address = options.clusters.find((each) => each.bootstrapServers === bootstrapServers)
      const cluster = new KafkaCluster({ bootstrapServers, ...address }, options)
      clusters.set(bootstrapServers, cluster)
      return cluster
    },
    async [Symbol.asyncDispose]() {
      for (const cluster of clusters.values()) await cluster[Symbol.asyncDispose]()
      clusters.clear()
    },
  }
}

class KafkaCluster implements EventCluster {
  readonly registry: EventCluster['registry']
  readonly #newWorld: () => KafkaWorld
  readonly #clock: Clock
  readonly #log: Log
  readonly #open = new Set<AsyncDisposable>()

  constructor({ bootstrapServers, registry }: KafkaAddress, options: KafkaClustersOptions) {
    const brokers = bootstrapServers.split(',').map((server) => server.trim())
    const { clock, log, newMask } = options
    this.#clock = clock
    this.#log = log
    this.#newWorld = () => ({ ...options, brokers, mask: newMask() })
    this.registry = registry && httpRegistry(registry, { clock, mask: newMask() })
  }

  async createTopic(topic: string, partitions: number, credentials: Credentials): Promise<boolean> {
    return this.#administer(credentials, `create ${topic}`, never, (admin) =>
      admin.createTopics({
        topics: [{ topic, numPartitions: partitions }],
        waitForLeaders: true,
        timeout: KAFKA_READY_MS,
      }),
    )
  }

  async deleteTopic(topic: string, credentials: Credentials): Promise<void> {
    await this.#administer(credentials, `delete ${topic}`, never, (admin) =>
      admin.deleteTopics({ topics: [topic], timeout: KAFKA_READY_MS }),
    )
  }

  async lag(topic: string, group: string, credentials: Credentials): Promise<number> {
    const places = await this.#places(topic, group, credentials, never)
    return places.reduce((lag, { committed, low, high }) => {
      return lag + Number(high - (committed ?? low))
    }, 0)
  }

  async producer({ topic, credentials, signal }: ProducerOptions): Promise<EventProducer> {
    const what = `produce to ${topic}`
    await this.#administer(credentials, what, signal, (admin) =>
      admin.fetchTopicMetadata({ topics: [topic] }),
    )
    const world = this.#newWorld()
    const producer = await newProducer(await newClient(credentials, world))
    const closing = this.#closing(() => producer.disconnect())
    return this.#orClose(closing, async () => {
      await this.#within(what, KAFKA_READY_MS, signal, world.mask, () => producer.connect())
      return {
        ...closing,
        send: (event) =>
          this.#within(what, KAFKA_SEND_MS, never, world.mask, () => send(producer, topic, event)),
      }
    })
  }

  async consumer(options: ConsumerOptions): Promise<EventConsumer> {
    const { topic, group, credentials, signal } = options
    const places = await this.#places(topic, group, credentials, signal)
    const world = this.#newWorld()
    const consumer = kafkaConsumer(await newClient(credentials, world), options, places, world)
    const closing = this.#closing(() => consumer.close())
    return this.#orClose(closing, async () => {
      const what = `consume ${topic}`
      await this.#within(what, KAFKA_READY_MS, signal, world.mask, () => consumer.open())
      return closing
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Array.from(this.#open, async (each) => each[Symbol.asyncDispose]()))
  }

  #places(
    topic: string,
    group: string,
    credentials: Credentials,
    signal: AbortSignal,
  ): Promise<readonly Place[]> {
    return this.#administer(credentials, `read the offsets of ${topic}`, signal, async (admin) => {
      const ends = await admin.fetchTopicOffsets(topic)
      const [committed] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
      return ends.map(({ partition, low, high }) => {
        const at = committed?.partitions.find((each) => each.partition === partition)?.offset
        const isNew = at === undefined || at.startsWith('-')
        return {
          partition,
          low: BigInt(low),
          high: BigInt(high),
          committed: isNew ? undefined : BigInt(at),
        }
      })
    })
  }

  /** One that is used twice at a time mixes up what it knows about topics. */
  async #administer<T>(
    credentials: Credentials,
    what: string,
    signal: AbortSignal,
    work: (admin: Admin) => Promise<T>,
  ): Promise<T> {
    const world = this.#newWorld()
    const admin = (await newClient(credentials, world)).admin()
    const closing = this.#closing(() => admin.disconnect())
    try {
      return await this.#within(what, KAFKA_READY_MS, signal, world.mask, async () => {
        await admin.connect()
        return work(admin)
      })
    } finally {
      await closing[Symbol.asyncDispose]()
    }
  }

  /** Closes once, and no later than agreed. */
  #closing(close: () => Promise<void>): AsyncDisposable {
    let closed: Promise<void> | undefined
    const closing: AsyncDisposable = {
      [Symbol.asyncDispose]: () => {
        closed ??= within(close(), { clock: this.#clock, ms: KAFKA_CLOSE_MS }).catch(() =>
          this.#log.warn('a connection to Kafka did not close in time'),
        )
        this.#open.delete(closing)
        return closed
      },
    }
    this.#open.add(closing)
    return closing
  }

  async #orClose<T>(closing: AsyncDisposable, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      await closing[Symbol.asyncDispose]()
      throw error
    }
  }

  async #within<T>(
    what: string,
    ms: number,
    signal: AbortSignal,
    mask: Mask,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await within(work(), { clock: this.#clock, ms, signal })
    } catch (error) {
      if (error instanceof Accident || signal.aborted) throw error
      throw kafkaAccident(error, what, mask)
    }
  }
}

async function send(
  producer: Producer,
  topic: string,
  { key, value, headers }: WireEvent,
): Promise<Readonly<{ partition: number; offset: string }>> {
  const [answer] = await producer.send({
    topic,
    acks: -1,
    timeout: KAFKA_SEND_MS,
    messages: [
      { key: key ? Buffer.from(key) : null, value: value ? Buffer.from(value) : null, headers },
    ],
  })
  const { partition, baseOffset = '-1' } = answer ?? { partition: -1 }
  return { partition, offset: baseOffset }
}
