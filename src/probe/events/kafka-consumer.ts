/**
 * One consumer of Kafka: ready when it has its partitions and the place to begin in each.
 *
 * The places are asked for before it joins its group, and it is put there itself, so it does not matter
 * when the broker hands out partitions or how often. After a break it goes on behind the last event it
 * has handed out: none is missed and none comes twice. It is lost when a break lasts too long, or when
 * trying again cannot help.
 */
import type { Consumer, EachMessagePayload, IHeaders, Kafka } from 'kafkajs'

import type { ConsumerOptions } from './events.ts'
import { KAFKA_RETRY, type KafkaWorld } from './kafka-client.ts'
import { kafkaAccident } from './kafka-faults.ts'

/** How far a partition goes, and where the group is if it was there before. */
export type Place = Readonly<{
  partition: number
  low: bigint
  high: bigint
  committed: bigint | undefined
}>

export interface KafkaConsumer {
  /** Resolves when it is ready. */
  open(): Promise<void>
  close(): Promise<void>
}

/** How long a consumer may be without its brokers before it is given up. */
export const KAFKA_LOST_MS = 60_000
/** Offsets are committed after so many events, and no later than so soon. */
export const COMMIT_EVENTS_MAX = 20
export const COMMIT_MS_MAX = 1_000

const SESSION_MS = 10_000
const HEARTBEAT_MS = 3_000
/** How long a broker holds a request for events when there are none; closing has to wait for it. */
const FETCH_WAIT_MS = 250

/** It begins behind `places`. */
export function kafkaConsumer(
  client: Kafka,
  options: ConsumerOptions,
  places: readonly Place[],
  world: KafkaWorld,
): KafkaConsumer {
  const { clock } = world
  let aliveMs = clock.monotonic()
  const consumer = client.consumer({
    groupId: options.group,
    allowAutoTopicCreation: false,
    sessionTimeout: SESSION_MS,
    heartbeatInterval: HEARTBEAT_MS,
    maxWaitTimeInMs: FETCH_WAIT_MS,
    retry: {
      ...KAFKA_RETRY,
      restartOnFailure: async () => clock.monotonic() - aliveMs < KAFKA_LOST_MS,
    },
  })
  const alive = (): void => {
    aliveMs = clock.monotonic()
  }
  consumer.on('consumer.heartbeat', alive)
  consumer.on('consumer.fetch', alive)
  return new Reading(consumer, options, places, world)
}

class Reading implements KafkaConsumer {
  readonly #consumer: Consumer
  readonly #options: ConsumerOptions
  readonly #world: KafkaWorld
  /** The next offset of each partition that is known here. */
  readonly #next = new Map<number, bigint>()
  /** Where each partition ended when the places were asked for. */
  readonly #ends: ReadonlyMap<number, bigint>
  readonly #ready = Promise.withResolvers<void>()
  #held: ReadonlySet<number> | undefined
  #isClosed = false

  constructor(
    consumer: Consumer,
    options: ConsumerOptions,
    places: readonly Place[],
    world: KafkaWorld,
  ) {
    this.#consumer = consumer
    this.#options = options
    this.#world = world
    this.#ends = new Map(places.map(({ partition, high }) => [partition, high]))
    for (const { partition, low, high, committed } of places)
      if (committed === undefined) this.#next.set(partition, options.from === 'latest' ? high : low)
  }

  async open(): Promise<void> {
    const { topic } = this.#options
    this.#consumer.on('consumer.group_join', ({ payload }) => {
      this.#onJoined(payload.memberAssignment[topic] ?? [])
    })
    this.#consumer.on('consumer.crash', ({ payload: { error, restart } }) => {
      if (this.#held === undefined) this.#ready.reject(error)
      else if (!restart) this.#onLost(error)
    })
    await this.#consumer.connect()
    await this.#consumer.subscribe({ topic, fromBeginning: true })
    await this.#consumer.run({
      autoCommit: true,
      autoCommitThreshold: COMMIT_EVENTS_MAX,
      autoCommitInterval: COMMIT_MS_MAX,
      eachMessage: async (payload) => this.#onMessage(payload),
    })
    await this.#ready.promise
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#ready.promise.catch(() => undefined)
    await this.#consumer.disconnect()
  }

  /** Called before anything is fetched. */
  #onJoined(partitions: readonly number[]): void {
    for (const partition of partitions) {
      const offset = this.#next.get(partition)
      const isOurs = this.#held === undefined || this.#held.has(partition)
      if (offset === undefined || !isOurs) this.#next.delete(partition)
      else this.#consumer.seek({ topic: this.#options.topic, partition, offset: String(offset) })
    }
    this.#held = new Set(partitions)
    this.#ready.resolve()
  }

  #onMessage({ topic, partition, message }: EachMessagePayload): void {
    const offset = BigInt(message.offset)
    if (this.#isClosed || offset < (this.#next.get(partition) ?? 0n)) return
    this.#next.set(partition, offset + 1n)
    this.#options.onEvent({
      topic,
      partition,
      offset: message.offset,
      at: Number(message.timestamp),
      isOld: offset < (this.#ends.get(partition) ?? 0n),
      key: message.key ?? undefined,
      value: message.value ?? undefined,
      headers: headersOf(message.headers ?? {}),
    })
  }

  #onLost(error: unknown): void {
    if (this.#isClosed) return
    const { topic, onLost } = this.#options
    onLost(kafkaAccident(error, `go on consuming ${topic}`, this.#world.mask))
  }
}

/** Of a header that is there several times the last one counts. */
function headersOf(headers: IHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      String((Array.isArray(value) ? value.at(-1) : value) ?? ''),
    ]),
  )
}
