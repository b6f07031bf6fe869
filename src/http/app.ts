/**
 * The server of Node with our routes in front of nothing else: it finds the route that is meant, and
 * hands the request to an exchange. What nobody has a route for is limited and counted as well.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

import { fault, type Fault } from '../std/index.ts'
import { gateOf } from './admission.ts'
import { Exchange, type Desk, type Entry } from './exchange.ts'
import { PARAM_CHARS_MAX, STALL_MS } from './limits.ts'
import { serveBeside, type RawService } from './raw.ts'
import { json, route, type Route } from './route.ts'
import { Router } from './router.ts'

// An import asks a module for all that it has, and this one would load what WebSockets are made of.
const { createServer } = process.getBuiltinModule('node:http')

// How often Node looks for those who are late with their headers; half a minute unless it is told.
const LATE_CHECK_MS_MAX = 1_000

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})

export function createApp(entries: readonly Entry[], desk: Desk, raw?: RawService): Server {
  const { limits } = desk
  const { headerMs, requestMs } = limits
  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: Math.min(headerMs, requestMs),
    requestTimeout: requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(LATE_CHECK_MS_MAX, Math.ceil(headerMs / 4)),
  })
  const longestMs = Math.max(0, ...entries.map(({ answerMs }) => answerMs))
  server.timeout = Math.max(requestMs, longestMs, raw?.answerMsMax ?? 0) + STALL_MS
  // One more than allowed, so that too many are seen; Node drops what is beyond without a word.
  server.maxHeadersCount = limits.headers + 1
  server.on('request', listenerOf(entries, desk))
  if (raw !== undefined) serveBeside(server, raw, desk)
  return server
}

function listenerOf(
  entries: readonly Entry[],
  desk: Desk,
): (request: IncomingMessage, response: ServerResponse) => void {
  const router = new Router<Entry>()
  for (const entry of entries) {
    router.add(entry.route.method, entry.route.path, entry)
    if (entry.route.method === 'GET') router.add('HEAD', entry.route.path, entry)
  }
  const nowhereAt = nowhereEntries(entries, desk)
  const paths = pathsOf(entries.map((entry) => entry.route))
  return (request, response) => {
    const { method = '', url = '/' } = request
    const found = router.find(method, url)
    if (typeof found === 'object')
      return new Exchange(desk, found.target, request, response, found.params).begin()
    const exchange = new Exchange(desk, nowhereAt(url), request, response, NO_PARAMS)
    exchange.admit(() => {
      if (found === 'bad-path') return exchange.refuse(badPath(), 400)
      const methods = methodsAt(paths, url)
      const allow = methods.join(', ')
      if (methods.length === 0) exchange.refuse(noSuchRoute(), 404)
      else if (method === 'OPTIONS') exchange.answer({ status: 204, headers: { allow } })
      else exchange.refuse(methodNotAllowed(method, allow), 405)
    })
  }
}

/** Stands for every path that nobody has, so that what goes there is limited and counted as well. */
const nowhere: Route = route({
  method: 'GET',
  path: 'none',
  summary: '',
  tag: '',
  access: 'open',
  answers: {},
  handle: () => json(404, undefined),
})

/** Whoever speaks for the paths around has the word. */
function nowhereEntries(entries: readonly Entry[], desk: Desk): (url: string) => Entry {
  const silent = nowhereEntry(desk, nowhere)
  const speaking = entries.flatMap(({ route: { speaksBelow, refuse } }) =>
    speaksBelow === undefined || refuse === undefined
      ? []
      : [{ below: speaksBelow, entry: nowhereEntry(desk, { ...nowhere, refuse }) }],
  )
  return (url) => speaking.find(({ below }) => url.startsWith(below))?.entry ?? silent
}

function nowhereEntry(desk: Desk, of: Route): Entry {
  return {
    route: of,
    gate: gateOf(of, desk.limits),
    traffic: desk.traffic.of(undefined),
    readQuery: undefined,
    answerMs: desk.limits.requestMs,
  }
}

type PathMethods = Readonly<{ pattern: RegExp; methods: readonly string[] }>

function pathsOf(routes: readonly Route[]): PathMethods[] {
  return routes.map(({ path, method }) => ({
    pattern: new RegExp(
      `^${path.replace(/[.*+?^$()|[\]\\]/g, String.raw`\$&`).replace(/\{\w+\}/g, '[^/]*')}$`,
    ),
    methods: method === 'GET' ? ['GET', 'HEAD'] : [method],
  }))
}

function methodsAt(paths: readonly PathMethods[], url: string): readonly string[] {
  const path = url.replace(/[?#].*$/s, '')
  const methods = paths.filter(({ pattern }) => pattern.test(path)).flatMap((one) => one.methods)
  return methods.length === 0 ? [] : [...new Set(methods), 'OPTIONS']
}

function noSuchRoute(): Fault {
  return fault('no-such-route', 'nothing is served at this path', {
    remedy: 'look for the path in /openapi.json or /docs',
  })
}

function methodNotAllowed(method: string, allow: string): Fault {
  return fault('method-not-allowed', `this path does not take ${method}`, {
    allow,
    remedy: 'use one of the methods in Allow',
  })
}

function badPath(): Fault {
  return fault('bad-input', 'the path is not properly encoded, or a part of it is too long', {
    missing: [],
    invalid: ['path'],
    expected: { path: `percent-encoded UTF-8, at most ${PARAM_CHARS_MAX} characters a part` },
    remedy: 'encode every part of the path once',
  })
}
