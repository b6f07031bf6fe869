/**
 * What steps may ask of their runner, by name: the whole contract between the two processes.
 *
 * Steps run where nothing else can be reached, so every event, secret and answer comes through here.
 * What comes in was written by whoever wrote the bundle: `serve` checks each input before a handler
 * sees it, and a name without a handler is refused. Inputs and answers are JSON. There is no condition
 * by regular expression, since one that runs away would stop the server: such are tested by the step.
 */
import { Accident, fault } from '../../std/index.ts'
import type { StepServices } from '../runner/runner.ts'
import { isServiceName, wrongIn } from './shapes.ts'

/** The names, what is asked, and what is answered. */
export type ServiceCalls = Readonly<{
  /** Answers with the roles that the directive gives to a topic; none if it is not in there. */
  topic: Call<TopicInput, { roles: readonly string[] }>
  /** Creates it if it is not there, and deletes it after the test if it was not. */
  'create-topic': Call<TopicInput & Readonly<{ partitions: number }>, null>
  /** Rejects if there is no such cluster. */
  cluster: Call<Readonly<{ name: string }>, null>
  /** Rejects if the key or the values of a topic are not written so. */
  schema: Call<SchemaInput, null>
  /** Answers when the broker has acknowledged the event. */
  produce: Call<ProduceInput, EventView>
  /** How many events the test has so far, produced and consumed; what comes later is `since` that. */
  position: Call<Readonly<Record<string, never>>, { sequence: number }>
  /** What is there, oldest first, without waiting. */
  query: Call<EventQuery, readonly EventView[]>
  /** Waits until there are as many as wanted, or time is up. */
  'await-events': Call<AwaitInput, Awaited>
  /** How many events of a topic a group of consumers has not committed yet. */
  'group-lag': Call<TopicInput & Readonly<{ group: string }>, { lag: number }>
  /** The value of a field of a secret that the directive names. */
  secret: Call<SecretInput, string>
  http: Call<HttpInput, HttpAnswer>
}>

type Call<Input, Output> = Readonly<{ input: Input; output: Output }>

export type ServiceName = keyof ServiceCalls
export type ServiceInput<Name extends ServiceName> = ServiceCalls[Name]['input']
export type ServiceOutput<Name extends ServiceName> = ServiceCalls[Name]['output']

export type TopicInput = Readonly<{
  topic: string
  /** Bootstrap servers or the name of a cluster; undefined is what the directive says. */
  cluster?: string | undefined
}>

export type SchemaInput = TopicInput &
  Readonly<{
    of: 'key' | 'value'
    format: 'cloudevent' | 'json' | 'avro' | 'protobuf'
    /** The name of the record or message. */
    type?: string | undefined
    version?: number | undefined
  }>

export type ProduceInput = TopicInput &
  Readonly<{
    value: unknown
    /** As the key format of the topic has it; made of the next three if it is left out. */
    key?: unknown
    type?: string | undefined
    correlation?: string | undefined
    payloadVersion?: string | undefined
    headers?: Readonly<Record<string, string>> | undefined
    /** How this event is written, if not as the directive says. */
    format?: 'json' | 'avro' | 'protobuf' | 'string' | undefined
    /** The name of the record or message. */
    schema?: string | undefined
    schemaVersion?: number | undefined
  }>

/** Every condition has to hold. */
export type EventQuery = TopicInput &
  Readonly<{
    direction?: 'consumed' | 'produced' | undefined
    correlation?: string | undefined
    where?: readonly EventCondition[] | undefined
    /** Only events with a greater sequence. */
    after?: number | undefined
    /**
     * Only events that came when there were so many. `ask` makes it the beginning of the scenario where
     * it is left out; 0 is everything since the test was loaded.
     */
    since?: number | undefined
  }>

export type EventCondition = Readonly<{
  of: 'key' | 'value'
  path: string
  test:
    | Readonly<{ type: 'exists' | 'absent' }>
    | Readonly<{ type: 'equals'; value: unknown }>
    | Readonly<{ type: 'contains'; text: string }>
    | Readonly<{ type: 'greater' | 'less'; than: number }>
}>

export type AwaitInput = EventQuery &
  Readonly<{
    count: number
    /** `exactly` and `at-most` are known only when time is up, or at the first one too many. */
    is: 'at-least' | 'exactly' | 'at-most'
    withinMs: number
  }>

export type Awaited = Readonly<{
  isSatisfied: boolean
  /** What fits the query. */
  events: readonly EventView[]
  /** All events of the topic in that direction since then, fitting or not. */
  seen: number
}>

/** An event as steps see it. */
export type EventView = Readonly<{
  /** The place in the log of the test, from 1. */
  sequence: number
  direction: 'consumed' | 'produced'
  topic: string
  partition: number
  offset: string
  at: number
  correlation?: string | undefined
  key?: unknown
  value?: unknown
  headers: Readonly<Record<string, string>>
}>

export type SecretInput = Readonly<{ name: string; field?: string | undefined }>

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'HEAD' | 'OPTIONS'

export type HttpInput = Readonly<{
  method: HttpMethod
  url: string
  headers?: Readonly<Record<string, string>> | undefined
  body?: string | undefined
  timeoutMs?: number | undefined
}>

/** An answer is an answer whatever its status; a redirection is not followed. */
export type HttpAnswer = Readonly<{
  status: number
  headers: Readonly<Record<string, string>>
  body: string
  millis: number
}>

export type ServiceHandlers = Readonly<{
  [Name in ServiceName]?: (input: ServiceInput<Name>) => Promise<ServiceOutput<Name>>
}>

/** Handlers of several parts may be spread into one. */
export function serve(handlers: ServiceHandlers): StepServices {
  return {
    async call(name, input) {
      const handler = isServiceName(name) ? handlers[name] : undefined
      if (!isServiceName(name) || handler === undefined)
        throw new Accident(
          fault('no-such-service', `steps cannot ask for '${name}'`, {
            name,
            remedy: `ask for one of ${Object.keys(handlers).join(', ')}`,
          }),
        )
      const wrong = wrongIn(name, input)
      if (wrong !== undefined)
        throw new Accident(fault('bad-service-input', wrong.message, { name, field: wrong.field }))
      return Reflect.apply(handler, undefined, [input]) // its type is what its shape has checked
    },
  }
}
