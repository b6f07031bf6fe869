/**
 * What steps may ask about events, by name, and what they are answered.
 *
 * Inputs and answers cross a process boundary, so both are JSON. Only topics of the directive can be
 * named. Every refusal is thrown as an `Accident`, whose message fails the step that asked.
 */
import type { ValueFormat, KeyFormat, TopicRole } from '../bundle/directive.ts'
import type { EventQuery, Expectation } from './query.ts'

/** The input of each service. */
export type EventRequests = Readonly<{
  /** Whether the directive has the topic (on this cluster). */
  topic: Readonly<{ topic: string; cluster?: string }>
  'create-topic': Readonly<{ topic: string; partitions: number }>
  'register-schema': SchemaRequest
  produce: ProduceRequest
  /** What is there at once. */
  query: EventQuery
  'await-events': Readonly<{ query: EventQuery; expected: Expectation }>
  /** How far a topic was consumed. */
  offsets: Readonly<{ topic: string }>
}>

/** The answer of each service. */
export type EventAnswers = Readonly<{
  topic: TopicView
  'create-topic': Readonly<{ isCreated: boolean }>
  'register-schema': Readonly<{ id: number; version: number }>
  produce: EventView
  query: readonly EventView[]
  'await-events': readonly EventView[]
  offsets: readonly Readonly<{ partition: number; next: string }>[]
}>

export type EventServiceName = keyof EventRequests

export type ProduceRequest = Readonly<{
  topic: string
  cluster?: string
  /** JSON for `json`, `avro` and `protobuf`, text for `string`, base64 for `bytes`; null is a tombstone. */
  value: unknown
  /** Attributes over the usual ones for `cloudevent`; else the key itself. */
  key?: unknown
  /** Type of the CloudEvent, and name of the record in the schema. */
  type?: string
  /** Payload version of the CloudEvent. */
  version?: string
  /** Version of the schema in the registry; the latest by default. */
  schemaVersion?: number
  correlation?: string
  headers?: Readonly<Record<string, string>>
}>

/** With a text or a file of the bundle it is registered, without it must be there. */
export type SchemaRequest = Readonly<{
  topic: string
  /** Name of the record: `CloudEvent` is the one of keys. */
  type: string
  format?: 'avro' | 'protobuf' | 'json'
  version?: number
  text?: string
}>

export type TopicView = Readonly<{
  topic: string
  cluster: string | undefined
  roles: readonly TopicRole[]
  keyFormat: KeyFormat
  valueFormat: ValueFormat
}>

/** An event as steps and evidence see it. */
export type EventView = Readonly<{
  /** In the order this test came to know them, from 1. */
  sequence: number
  direction: 'produced' | 'consumed'
  topic: string
  cluster?: string
  partition: number
  offset: string
  /** Milliseconds since the epoch. */
  at: number
  key: unknown
  value: unknown
  headers: Readonly<Record<string, string>>
  type?: string
  correlation?: string
  /** What could not be decoded, and why; `key` or `value` has its bytes in base64 then. */
  undecodable?: readonly Readonly<{ part: 'key' | 'value'; error: string }>[]
}>
