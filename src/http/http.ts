/**
 * What a running http layer is to those who compose it: the options it takes and the handle they get.
 */
import type { Clock, Log, Random } from '../std/index.ts'
import type { Authenticator } from './auth.ts'
import type { HttpLimits } from './limits.ts'
import type { Metric } from './metrics.ts'
import type { RawService } from './raw.ts'
import type { Route } from './route.ts'

export type HttpOptions = Readonly<{
  routes: readonly Route[]
  authenticator: Authenticator
  log: Log
  clock: Clock
  /** Draws the ids of traces. */
  random?: Random
  /** Those not given are the defaults. */
  limits?: Partial<HttpLimits>
  /** Which status an accident with this code gets when a route throws it; any other is `internal`. */
  statuses?: Readonly<Record<string, number>>
  info: Readonly<{ title: string; version: string }>
  /** Is asked before the routes, on every connection. */
  raw?: RawService
  /** Writes a line for every request. */
  logRequests?: boolean
}>

export type Injected = Readonly<{
  method?: string
  url: string
  headers?: Readonly<Record<string, string | readonly string[]>>
  /** A text or bytes are sent as they are; anything else as JSON, with its content type. */
  body?: unknown
}>

export interface InjectedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  json(): unknown
}

export interface Http extends AsyncDisposable {
  /** Port 0 takes any that is free. Throws an accident when the address cannot be had. */
  listen(address: Readonly<{ host: string; port: number }>): Promise<{ host: string; port: number }>
  /** A request without a socket; it passes everything but the limits on connections. */
  inject(request: Injected): Promise<InjectedAnswer>
  /** From here on requests are refused, streams end, and connections are closed after their answer. */
  beginDraining(): void
  /** Drains, waits for answers that are owed, and after `graceMs` closes what is left. */
  close(graceMs: number): Promise<void>
  metrics(): readonly Metric[]
}
