/**
 * The http layer as a whole: routes come in as values, one handle comes out.
 *
 *   serving ──beginDraining──▶ draining ──close──▶ closed
 *
 * Draining, every answer closes its connection, and only routes that say so are still served.
 */
import { freshSeed, random } from '../std/index.ts'
import { gateOf } from './admission.ts'
import { createApp } from './app.ts'
import { Connections } from './connections.ts'
import { docsRoutes } from './docs-page.ts'
import type { Desk, Entry, Owed } from './exchange.ts'
import type { Http, HttpOptions } from './http.ts'
import { defaultLimits, OVERDUE_CHECK_MS, type HttpLimits } from './limits.ts'
import { Pending } from './pending.ts'
import { queryReader } from './query.ts'
import type { Route } from './route.ts'
import { Traffic } from './traffic.ts'

export function createHttp(options: HttpOptions): Http {
  const { clock, log } = options
  const limits: HttpLimits = { ...defaultLimits, ...options.limits }
  const traffic = new Traffic()
  const pending = new Pending<Owed>()
  let isDraining = false
  let isWatching = false

  const desk: Desk = {
    authenticator: options.authenticator,
    log,
    clock,
    random: options.random ?? random(freshSeed()),
    limits,
    statuses: { 'keys-unavailable': 503, ...options.statuses },
    logRequests: options.logRequests ?? false,
    traffic,
    pending,
    isDraining: () => isDraining,
    isSurplus: (request) => connections.isSurplus(request.socket),
    onOwed: watchPending,
  }
  const routes = [...options.routes, ...docsRoutes(options.routes, options.info)]
  const server = createApp(routes.map(entryOf), desk, options.raw)
  const connections = new Connections(server, desk)
  traffic.inFlight = () => pending.size

  return {
    listen: (address) => connections.listen(address),
    async inject(request) {
      const { inject } = await import('./inject.ts') // a server that serves has no use for it
      return inject(server, request)
    },
    beginDraining,
    async close(graceMs) {
      beginDraining()
      await connections.close(graceMs)
      pending.clear() // there is nobody left who could be answered
    },
    metrics: () => traffic.metrics(),
    [Symbol.asyncDispose]() {
      return this.close(0)
    },
  }

  function beginDraining(): void {
    isDraining = true
    for (const exchange of pending.all()) exchange.drain()
  }

  function entryOf(one: Route): Entry {
    return {
      route: one,
      gate: gateOf(one, limits),
      traffic: traffic.of(one),
      readQuery: one.query === undefined ? undefined : queryReader(one.query),
      answerMs: one.requestMsMax ?? limits.requestMs,
    }
  }

  /** One timer looks after all that is pending, so that a request costs none. */
  function watchPending(): void {
    if (isWatching) return
    isWatching = true
    clock.setTimer(clock.monotonic() + OVERDUE_CHECK_MS, () => {
      isWatching = false
      const nowMs = clock.monotonic()
      for (const exchange of pending.all()) exchange.look(nowMs)
      if (pending.size > 0) watchPending()
    })
  }
}
