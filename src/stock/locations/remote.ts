/**
 * Places that another service answers for, over HTTP.
 *
 * Answers are kept for as long as the service allows. One that is asked for is asked for once at a time,
 * up to three times with growing pauses, unless the breaker says that the service is down. While it
 * cannot be reached, an old answer is used within a window; after that the caller is told so.
 */
import { Accident, assert, fault, silentLog, type Clock, type Log } from '../../std/index.ts'
import type { Random } from '../../std/index.ts'
import { Breaker, BREAKER_FAILURES_DEFAULT, BREAKER_QUIET_MS_DEFAULT } from './breaker.ts'
import type { BreakerState } from './breaker.ts'
import type { FindOptions, Later, Location, LocationDirectory, LocationTree } from './directory.ts'
import { freshnessOf, type Freshness } from './freshness.ts'
import { readLocation, readPath, readTree } from './wire.ts'

/** How long a connection may take, and an answer as a whole. */
export const LOCATION_CONNECT_MS_DEFAULT = 1_000
export const LOCATION_REQUEST_MS_DEFAULT = 2_000
/** How often one thing is asked for, the first time included. */
export const LOCATION_ATTEMPTS_DEFAULT = 3
/** The pause before the second attempt; it doubles from there, up to the longest. */
export const LOCATION_BACKOFF_MS_DEFAULT = 100
export const LOCATION_BACKOFF_MS_MAX = 2_000
/** For how long an old answer is used while the service cannot be reached. */
export const LOCATION_STALE_MS_DEFAULT = 300_000
/** Answers that are kept; the oldest goes first. */
export const LOCATION_ANSWERS_MAX = 10_000

export type TransportRequest = Readonly<{
  url: string
  headers: Readonly<Record<string, string>>
  connectMs: number
  requestMs: number
}>

/** The names of headers are in lower case. */
export type TransportResponse = Readonly<{
  status: number
  headers: Readonly<Record<string, string | undefined>>
  body: string
}>

/** A GET; rejects where there is no answer in time or no connection. */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>

export type RemoteOptions = Readonly<{
  /** Without a slash at its end. */
  baseUrl: string
  transport: Transport
  clock: Clock
  random: Random
  log?: Log
  connectMs?: number
  requestMs?: number
  attempts?: number
  backoffMs?: number
  staleMs?: number
  breakerFailures?: number
  breakerQuietMs?: number
}>

export type RemoteCounts = Readonly<{
  attempts: number
  failures: number
  /** Old answers that were used because asking failed. */
  stale: number
  breaker: 'closed' | 'open' | 'trial'
}>

export interface RemoteLocations extends LocationDirectory {
  counts(): RemoteCounts
}

export function remoteLocations(options: RemoteOptions): RemoteLocations {
  return new Remote(options)
}

/** Statuses that another attempt may change. */
const TRANSIENT: ReadonlySet<number> = new Set([500, 502, 503, 504])
const ACCEPT = { accept: 'application/json' }

type Kept = Readonly<{ value: unknown; freshUntil: number; staleUntil: number }>
type Read<Value> = (body: unknown) => Value | undefined

class Remote implements RemoteLocations {
  readonly #options: Required<RemoteOptions>
  readonly #breaker: Breaker
  readonly #kept = new Map<string, Kept>()
  readonly #asking = new Map<string, Promise<unknown>>()
  #attempts = 0
  #failures = 0
  #stale = 0

  constructor(options: RemoteOptions) {
    this.#options = {
      log: silentLog,
      connectMs: LOCATION_CONNECT_MS_DEFAULT,
      requestMs: LOCATION_REQUEST_MS_DEFAULT,
      attempts: LOCATION_ATTEMPTS_DEFAULT,
      backoffMs: LOCATION_BACKOFF_MS_DEFAULT,
      staleMs: LOCATION_STALE_MS_DEFAULT,
      breakerFailures: BREAKER_FAILURES_DEFAULT,
      breakerQuietMs: BREAKER_QUIET_MS_DEFAULT,
      ...options,
    }
    const { clock, attempts, breakerFailures, breakerQuietMs } = this.#options
    assert(attempts >= 1, 'something is asked for at least once')
    // Otherwise one call could open the breaker, and its own last attempt would be refused.
    assert(breakerFailures >= attempts, 'a breaker bears the attempts of one call')
    this.#breaker = new Breaker(clock, breakerFailures, breakerQuietMs, (state) =>
      this.#tell(state),
    )
  }

  find(id: string, options?: FindOptions): Later<Location | undefined> {
    return this.#get(`/locations/${encodeURIComponent(id)}`, readLocation, options)
  }

  path(id: string, options?: FindOptions): Later<readonly Location[] | undefined> {
    return this.#get(`/locations/${encodeURIComponent(id)}/path`, readPath, options)
  }

  children(id: string, depth?: number, options?: FindOptions): Later<LocationTree | undefined> {
    const query = depth === undefined ? '' : `?depth=${depth}`
    return this.#get(`/locations/${encodeURIComponent(id)}/children${query}`, readTree, options)
  }

  async health(): Promise<boolean> {
    const { transport, baseUrl, connectMs, requestMs } = this.#options
    try {
      const url = `${baseUrl}/health`
      const { status } = await transport({ url, headers: ACCEPT, connectMs, requestMs })
      return status >= 200 && status < 300
    } catch {
      return false
    }
  }

  counts(): RemoteCounts {
    return {
      attempts: this.#attempts,
      failures: this.#failures,
      stale: this.#stale,
      breaker: this.#breaker.state,
    }
  }

  #tell(state: BreakerState): void {
    const { log, baseUrl: url, breakerQuietMs: quietMs } = this.#options
    if (state === 'open')
      log.warn('the location service fails too often and is left alone', { url, quietMs })
    else if (state === 'closed') log.info('the location service answers again', { url })
  }

  #get<Value>(
    path: string,
    read: Read<Value>,
    options: FindOptions | undefined,
  ): Later<Value | undefined> {
    const kept = this.#kept.get(path)
    if (kept !== undefined && this.#options.clock.monotonic() < kept.freshUntil)
      return valueOf(kept, read)
    // Whoever asks meanwhile is told the same; the trace is that of the first.
    const asking = this.#asking.get(path)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a path is read one way
    if (asking !== undefined) return asking as Promise<Value | undefined>
    const asked = this.#ask(path, read, options).finally(() => this.#asking.delete(path))
    this.#asking.set(path, asked)
    return asked
  }

  async #ask<Value>(
    path: string,
    read: Read<Value>,
    options: FindOptions | undefined,
  ): Promise<Value | undefined> {
    try {
      const response = await this.#persistently(path, options)
      const { value, freshness } = this.#understood(response, read)
      this.#keep(path, value, freshness)
      return value
    } catch (error) {
      const kept = this.#kept.get(path)
      if (kept === undefined || this.#options.clock.monotonic() >= kept.staleUntil) throw error
      this.#stale += 1
      return valueOf(kept, read)
    }
  }

  async #persistently(path: string, options: FindOptions | undefined): Promise<TransportResponse> {
    const { attempts } = this.#options
    for (let attempt = 1; ; attempt++) {
      const ticket = this.#breaker.admit()
      if (ticket === undefined) throw unavailable('it has failed too often, and is left alone')
      const outcome = await this.#once(path, options)
      if (typeof outcome !== 'string') {
        this.#breaker.succeeded(ticket)
        return outcome
      }
      this.#failures += 1
      this.#breaker.failed(ticket)
      if (attempt >= attempts) throw unavailable(outcome)
      await this.#pause(attempt)
    }
  }

  /** An answer that is one, or why there is none. */
  async #once(path: string, options: FindOptions | undefined): Promise<TransportResponse | string> {
    const { baseUrl, transport, connectMs, requestMs } = this.#options
    const headers =
      options?.traceparent === undefined ? ACCEPT : { ...ACCEPT, traceparent: options.traceparent }
    this.#attempts += 1
    try {
      const response = await transport({ url: baseUrl + path, headers, connectMs, requestMs })
      return TRANSIENT.has(response.status) ? `it answered ${response.status}` : response
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  /** Between half of the pause and all of it, so that those who failed together do not return together. */
  #pause(attempt: number): Promise<void> {
    const { clock, random, backoffMs } = this.#options
    const longest = Math.min(backoffMs * 2 ** (attempt - 1), LOCATION_BACKOFF_MS_MAX)
    const ms = longest * (0.5 + random.next() / 2)
    return new Promise((resolve) => clock.setTimer(clock.monotonic() + ms, resolve))
  }

  #understood<Value>(
    { status, headers, body }: TransportResponse,
    read: Read<Value>,
  ): Readonly<{ value: Value | undefined; freshness: Freshness }> {
    const freshness = freshnessOf(headers, this.#options.staleMs)
    if (status === 404) return { value: undefined, freshness }
    if (status !== 200) throw unavailable(`it answered ${status}`)
    const value = read(parsed(body))
    if (value === undefined) throw unavailable('its answer makes no sense')
    return { value, freshness }
  }

  #keep(path: string, value: unknown, { freshMs, staleMs }: Freshness): void {
    this.#kept.delete(path)
    if (freshMs === 0 && staleMs === 0) return
    const freshUntil = this.#options.clock.monotonic() + freshMs
    this.#kept.set(path, { value, freshUntil, staleUntil: freshUntil + staleMs })
    if (this.#kept.size > LOCATION_ANSWERS_MAX) this.#kept.delete(this.#kept.keys().next().value!)
  }
}

function valueOf<Value>({ value }: Kept, _as: Read<Value>): Value | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a path is read one way
  return value as Value | undefined
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function unavailable(why: string): Accident<'upstream-unavailable'> {
  return new Accident(
    fault('upstream-unavailable', `the location service cannot be asked: ${why}`, {
      remedy: 'look at the location service, and try again later',
    }),
  )
}
