/**
 * Routes as values: a method, a path, who may call, what is read, what is answered, and a function.
 *
 * A route knows nothing of the server that serves it. For every request the order is: limits,
 * authentication, permission, places, parameters, query and body, then the function; so nobody
 * without a right learns whether their input was good.
 */
import type { Fault, Log, TraceContext } from '../std/index.ts'
import type { Principal } from './auth.ts'
import type { JsonSchema, Shape } from './shape.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export type RawParams = Readonly<Record<string, string>>

/** `{name}` in a path is a parameter. */
export type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Readonly<Record<Name, string>> & ParamsOf<Rest>
  : unknown

export type Access =
  | 'open'
  | Readonly<{
      permission: string
      /** The places that the call touches; a principal with places needs every one of them. */
      places?: (params: RawParams) => readonly string[]
    }>

export type Call<P = unknown, Q = unknown, B = unknown> = Readonly<{
  params: P
  query: Q
  body: B
  /** The body of an upload, as it comes; throws `body-too-large` where it goes on for too long. */
  pieces: AsyncIterable<Uint8Array>
  /** Names are in lower case. */
  headers: Readonly<Record<string, string | undefined>>
  /** Path and query as they were sent. */
  url: string
  principal: Principal
  /** This call's own span in the caller's trace, or in one that begins here. */
  trace: TraceContext
  /** Every line carries the ids of the trace. */
  log: Log
  /** Aborts when the caller has left, when the time is up, and when the server drains if it streams or waits. */
  signal: AbortSignal
}>

export type Reply = Readonly<{
  status: number
  headers?: Readonly<Record<string, string>>
  /** A JSON value. */
  body?: unknown
  /** In place of a body: text that is already in its final form, such as a page. */
  text?: string
  /** In place of a body: pieces, each written when the caller has taken those before. */
  stream?: AsyncIterable<string | Uint8Array>
  /** Written when a stream has been silent for a while; without it a silent one is cut after a minute. */
  heartbeat?: string
}>

export type Answer = Readonly<{
  description: string
  schema?: JsonSchema
  /** Names with what they say. */
  headers?: Readonly<Record<string, string>>
  /** Default `application/json`, and `application/problem+json` from 400 on. */
  contentType?: string
}>

export type Route = Readonly<{
  method: Method
  /** Such as `/locations/{locationId}/products`. */
  path: string
  summary: string
  description?: string
  tag: string
  access: Access
  params?: Shape<unknown>
  /** Numbers, flags and lists are read from their text as the shape's schema says. */
  query?: Shape<unknown>
  /** Without it a body is not read. */
  body?: Shape<unknown>
  /** In place of a body: one of these types, handed to the function in pieces. */
  upload?: readonly string[]
  bodyBytesMax?: number
  /** How long the answer may take; a stream is not bound by it. */
  requestMsMax?: number
  /** Waits for news, and answers that there are none when the server drains. */
  waits?: boolean
  /** Is served while the server drains. */
  whileDraining?: boolean
  answers: Readonly<Record<number, Answer>>
  /** Gives the refusals of the http layer a body of the feature's own. */
  refuse?: (refusal: Fault, status: number) => Reply
  /** Paths below this one that no route has are refused in the same words. */
  speaksBelow?: string
  handle(call: Call): Reply | Promise<Reply>
}>

export type RouteDefinition<Path extends string, P, Q, B> = Omit<
  Route,
  'path' | 'params' | 'query' | 'body' | 'handle'
> &
  Readonly<{
    path: Path
    params?: Shape<P>
    query?: Shape<Q>
    body?: Shape<B>
    handle(call: Call<P, Q, B>): Reply | Promise<Reply>
  }>

export function route<const Path extends string, P = ParamsOf<Path>, Q = undefined, B = undefined>(
  definition: RouteDefinition<Path, P, Q, B>,
): Route {
  return definition
}

export function json(
  status: number,
  body: unknown,
  headers?: Readonly<Record<string, string>>,
): Reply {
  return headers === undefined ? { status, body } : { status, body, headers }
}
