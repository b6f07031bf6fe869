/**
 * The port to brokers of events.
 *
 * A cluster gives producers and consumers of topics. Bytes go in and out; what they mean is decided by
 * the formats of a topic. A consumer is ready when its start is fixed in every partition: what is
 * produced after that is seen by it, and with `latest` nothing from before. A group that was there
 * before goes on where it was.
 */
import type { Fault } from '../../std/index.ts'
import type { Secret } from '../secrets/secrets.ts'
import type { SchemaRegistry } from './registry.ts'

export type EventsFaultCode =
  | 'no-such-topic'
  | 'topic-denied'
  | 'events-unavailable'
  | 'event-refused'
  | 'missing-package'

/** Carried by an `Accident`; `detail.isTransient` says whether trying again may help. */
export type EventsFault = Fault<EventsFaultCode>

export type WireEvent = Readonly<{
  key: Uint8Array | undefined
  value: Uint8Array | undefined
  headers: Readonly<Record<string, string>>
}>

export type Placed = Readonly<{ partition: number; offset: string }>
export type ConsumedEvent = WireEvent &
  Placed &
  Readonly<{
    topic: string
    at: number
    /** It was there before its group was. */
    isOld: boolean
  }>

/** How a client proves who it is. */
export type Credentials =
  | Readonly<{ type: 'none' }>
  | Readonly<{
      type: 'plain' | 'scram-sha-256' | 'scram-sha-512'
      username: string
      password: Secret
      tls: boolean
    }>
  | Readonly<{
      type: 'oauthbearer'
      clientId: string
      clientSecret: Secret
      tokenEndpoint: string
      scope: string | undefined
    }>

export type StartPosition = 'latest' | 'earliest'

export interface EventCluster extends AsyncDisposable {
  /** Where the schemas of its topics are registered, if anywhere. */
  readonly registry: SchemaRegistry | undefined
  /** Creates it unless it is there; true if it was not. */
  createTopic(topic: string, partitions: number, credentials: Credentials): Promise<boolean>
  deleteTopic(topic: string, credentials: Credentials): Promise<void>
  /** How many events of a topic a group has not consumed yet, as far as it has committed. */
  lag(topic: string, group: string, credentials: Credentials): Promise<number>
  producer(options: ProducerOptions): Promise<EventProducer>
  consumer(options: ConsumerOptions): Promise<EventConsumer>
}

export type ProducerOptions = Readonly<{
  topic: string
  credentials: Credentials
  signal: AbortSignal
}>

export type ConsumerOptions = Readonly<{
  topic: string
  /** Consumers of one group share the partitions of one topic. */
  group: string
  from: StartPosition
  credentials: Credentials
  /** Until the consumer is ready. */
  signal: AbortSignal
  /** Called in the order of each partition; it does not throw. */
  onEvent: (event: ConsumedEvent) => void
  /** The consumer is lost; no event comes any more. */
  onLost: (error: unknown) => void
}>

export interface EventProducer extends AsyncDisposable {
  /** Resolves when the broker has acknowledged it. */
  send(event: WireEvent): Promise<Placed>
}

export type EventConsumer = AsyncDisposable

/** Clusters by the name a bundle gives them; `undefined` is the default one. */
export interface EventClusters extends AsyncDisposable {
  open(bootstrapServers: string | undefined): EventCluster
}

/** Of key, value and headers. */
export function bytesOf({ key, value, headers }: WireEvent): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0)
  for (const [name, text] of Object.entries(headers))
    bytes += Buffer.byteLength(name) + Buffer.byteLength(text)
  return bytes
}
