/**
 * Clusters of Kafka, through kafkajs, which is loaded when the first topic is opened.
 *
 * What is sent is acknowledged by all replicas in sync. Nothing creates a topic by naming it. One
 * connection serves all producers of a cluster that have the same credentials, and ends with the last of
 * them. Protocol-tested: the adapter is held to its promises on a broker that speaks the protocol, not on
 * every version of the real one.
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
import { KafkaConnection, type KafkaWorld } from './kafka-connection.ts'
import { openKafkaConsumer } from './kafka-consumer.ts'
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
  mask: Mask
}>

/** How long it may take until a producer or a consumer is ready, or an event is acknowledged. */
export const KAFKA_READY_MS = 30_000
export const KAFKA_SEND_MS = 30_000
/** How long closing waits for the broker; then the connection goes without a farewell. */
export const KAFKA_CLOSE_MS = 5_000

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
  readonly #world: KafkaWorld
  readonly #connections = new Map<string, KafkaConnection>()

  constructor({ bootstrapServers, registry }: KafkaAddress, options: KafkaClustersOptions) {
    const brokers = bootstrapServers.split(',').map((server) => server.trim())
    this.#world = { ...options, brokers }
    this.registry = registry && httpRegistry(registry, options)
  }

  async createTopic(topic: string, partitions: number, credentials: Credentials): Promise<boolean> {
    return this.#administer(credentials, `create ${topic}`, (admin) =>
      admin.createTopics({
        topics: [{ topic, numPartitions: partitions }],
        waitForLeaders: true,
        timeout: KAFKA_READY_MS,
      }),
    )
  }

  async deleteTopic(topic: string, credentials: Credentials): Promise<void> {
    await this.#administer(credentials, `delete ${topic}`, (admin) =>
      admin.deleteTopics({ topics: [topic], timeout: KAFKA_READY_MS }),
    )
  }

  async lag(topic: string, group: string, credentials: Credentials): Promise<number> {
    return this.#administer(credentials, `read the offsets of ${topic}`, async (admin) => {
      const [committed] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
      const ends = await admin.fetchTopicOffsets(topic)
      return ends.reduce((lag, { partition, high, low }) => {
        const at = committed?.partitions.find((each) => each.partition === partition)?.offset
        return lag + Number(BigInt(high) - BigInt(at === undefined || at === '-1' ? low : at))
      }, 0)
    })
  }

  async producer({ topic, credentials, signal }: ProducerOptions): Promise<EventProducer> {
    const connection = this.#connection(credentials)
    try {
      const producer = await this.#within(
        `produce to ${topic}`,
        KAFKA_READY_MS,
        signal,
        async () => {
          await (await connection.admin()).fetchTopicMetadata({ topics: [topic] })
          return connection.producer()
        },
      )
      return {
        send: (event) =>
          this.#within(`produce to ${topic}`, KAFKA_SEND_MS, undefined, () =>
            send(producer, topic, event),
          ),
        [Symbol.asyncDispose]: () => this.#release(connection),
      }
    } catch (error) {
      await this.#release(connection)
      throw error
    }
  }

  async consumer(options: ConsumerOptions): Promise<EventConsumer> {
    const connection = this.#connection(options.credentials)
    try {
      const what = `consume ${options.topic}`
      const consumer = await openKafkaConsumer(connection, options, this.#world, (work) =>
        this.#within(what, KAFKA_READY_MS, options.signal, work),
      )
      return {
        [Symbol.asyncDispose]: async () => {
          await consumer[Symbol.asyncDispose]()
          await this.#release(connection)
        },
      }
    } catch (error) {
      await this.#release(connection)
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#connections.values()) await connection.close()
    this.#connections.clear()
  }

  async #administer<T>(
    credentials: Credentials,
    what: string,
    work: (admin: Admin) => Promise<T>,
  ): Promise<T> {
    const connection = this.#connection(credentials)
    try {
      return await this.#within(what, KAFKA_READY_MS, undefined, async () =>
        work(await connection.admin()),
      )
    } finally {
      await this.#release(connection)
    }
  }

  #connection(credentials: Credentials): KafkaConnection {
    const name = nameOf(credentials)
    const connection =
      this.#connections.get(name) ?? new KafkaConnection(name, credentials, this.#world)
    this.#connections.set(name, connection)
    connection.uses += 1
    return connection
  }

  async #release(connection: KafkaConnection): Promise<void> {
    connection.uses -= 1
    if (connection.uses > 0) return
    if (this.#connections.get(connection.name) === connection)
      this.#connections.delete(connection.name)
    await connection.close()
  }

  async #within<T>(
    what: string,
    ms: number,
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await within(work(), { clock: this.#world.clock, ms, signal })
    } catch (error) {
      if (error instanceof Accident || signal?.aborted === true) throw error
      throw kafkaAccident(error, what, this.#world.mask)
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

/** Without secrets: whoever has the same name for one has the same one. */
function nameOf(credentials: Credentials): string {
  return JSON.stringify(credentials, (_key, value: unknown) =>
    typeof value === 'object' && value !== null && 'reveal' in value && 'name' in value
      ? value.name
      : value,
  )
}
