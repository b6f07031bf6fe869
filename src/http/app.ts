/**
 * The adapter of fastify, and the only file that knows it: fastify finds the route that is meant and
 * reads the body. Its schemas, serializers, logger and hooks on the way out are not used; an answer is
 * written straight to the socket.
 */
import type fastify from 'fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'

import { Accident, fault, type Fault } from '../std/index.ts'
import { bodyTooLarge, gateOf, unsupported } from './admission.ts'
import { Exchange, type Desk, type Entry } from './exchange.ts'
import type { Injected, InjectedAnswer } from './http.ts'
import { parseBody } from './json-body.ts'
import { PARAM_CHARS_MAX, STALL_MS } from './limits.ts'
import { serveBeside, type RawService } from './raw.ts'
import { json, route, type RawParams, type Route } from './route.ts'

declare module 'fastify' {
  interface FastifyRequest {
    exchange: Exchange | null
  }
}

// How often Node looks for those who are late with their headers; half a minute unless it is told.
const LATE_CHECK_MS_MAX = 1_000

const ANY_TYPE = ['application/json', '*']

// Without these it loads compilers that take longer than everything else in it.
const NO_SCHEMAS = {
  compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema },
}

const NO_QUERY: Readonly<Record<string, unknown>> = Object.freeze({})

/** When a server is made, not when a shape is read: commands need the one and not the other. */
function loadFastify(): typeof fastify {
  return createRequire(import.meta.url)('fastify')
}

function refuseSchema(): never {
  throw new Error('routes read and answer by themselves')
}

export function createApp(
  entries: readonly Entry[],
  desk: Desk,
  raw?: RawService,
): FastifyInstance {
  const { limits } = desk
  const { headerMs, requestMs } = limits
  const unknown = nowhereEntry(desk)
  const longestMs = Math.max(0, ...entries.map(({ answerMs }) => answerMs))
  const onBadPath = (_: string, request: IncomingMessage, response: ServerResponse): void => {
    const exchange = new Exchange(desk, unknown, request, response, {})
    exchange.admit(() => exchange.refuse(badPath(), 400))
  }
  const app = loadFastify()({
    bodyLimit: limits.bodyBytes,
    connectionTimeout: Math.max(requestMs, longestMs, raw?.answerMsMax ?? 0) + STALL_MS,
    keepAliveTimeout: limits.keepAliveMs,
    requestTimeout: requestMs,
    clientErrorHandler: () => {}, // the connections' own answers it
    genReqId: () => '', // a trace has an id
    return503OnClosing: false,
    schemaController: NO_SCHEMAS,
    http: {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: Math.min(headerMs, requestMs),
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(LATE_CHECK_MS_MAX, Math.ceil(headerMs / 4)),
    },
    routerOptions: {
      maxParamLength: PARAM_CHARS_MAX,
      querystringParser: () => NO_QUERY, // a route with a query shape reads it from the URL
      onBadUrl: onBadPath,
      onMaxParamLength: onBadPath,
    },
  })
  // One more than allowed, so that too many are seen; Node drops what is beyond without a word.
  app.server.maxHeadersCount = limits.headers + 1
  app.decorateRequest('exchange', null)
  app.removeAllContentTypeParsers()
  // Any kind, as the gate has judged it; the one that is named is found without a search.
  app.addContentTypeParser(ANY_TYPE, { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    // A body that nobody asked for is read only so that the next request can be.
    if (body.length === 0 || request.exchange?.takesBody !== true) return done(null, undefined)
    const parsed = parseBody(body)
    if (parsed.ok) done(null, parsed.value)
    else done(new Accident(parsed), undefined)
  })
  app.setErrorHandler<Error>(onError)
  for (const entry of entries) addRoute(app, entry, desk)
  addNowhere(app, unknown, entries, desk)
  if (raw !== undefined) serveBeside(app.server, raw, desk)
  return app
}

function addRoute(app: FastifyInstance, entry: Entry, desk: Desk): void {
  const { method, path } = entry.route
  app.route({
    method,
    url: urlOf(path),
    bodyLimit: entry.gate.bodyBytesMax,
    onRequest(request, reply, done) {
      const { raw, params } = request
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the router found
      const exchange = new Exchange(desk, entry, raw, reply.raw, params as RawParams)
      request.exchange = exchange
      exchange.admit(done)
    },
    handler(request) {
      request.exchange!.serve(request.body)
    },
  })
}

/**
 * In the words of fastify's router. A parameter with something behind it in its part is a pattern, and
 * is held to what was decoded, which may be anything.
 */
function urlOf(path: string): string {
  return path
    .replaceAll(':', '::')
    .replace(/\{(\w+)\}(?=[^/])/g, ':$1([^]*)')
    .replace(/\{(\w+)\}/g, ':$1')
}

/** What went wrong before a route was asked. */
function onError(error: Error & { code?: string }, request: FastifyRequest): void {
  const { exchange } = request
  if (exchange === null) return
  if (error instanceof Accident) return exchange.refuse(error.fault, 400)
  const { code } = error
  // The caller left in the middle of its body.
  if (code === 'ECONNRESET' || code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH') return exchange.left()
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return exchange.turnAway(bodyTooLarge(exchange.bodyBytesMax))
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return exchange.turnAway(unsupported(request.headers['content-type']))
  exchange.fail(error)
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

function nowhereEntry(desk: Desk): Entry {
  return {
    route: nowhere,
    gate: gateOf(nowhere, desk.limits),
    traffic: desk.traffic.of(undefined),
    readQuery: undefined,
    answerMs: desk.limits.requestMs,
  }
}

function addNowhere(
  app: FastifyInstance,
  unknown: Entry,
  entries: readonly Entry[],
  desk: Desk,
): void {
  const paths = pathsOf(entries.map((entry) => entry.route))
  const turnAway = ({ raw, method, url }: FastifyRequest, reply: FastifyReply): void => {
    const exchange = new Exchange(desk, unknown, raw, reply.raw, {})
    exchange.admit(() => {
      const methods = methodsAt(paths, url)
      const allow = methods.join(', ')
      if (methods.length === 0) exchange.refuse(noSuchRoute(), 404)
      else if (method === 'OPTIONS') exchange.answer({ status: 204, headers: { allow } })
      else if (methods.includes(method)) exchange.refuse(badPath(), 400) // a part was too long
      else exchange.refuse(methodNotAllowed(method, allow), 405)
    })
  }
  // As a route it is asked before a body is read; the handler is for methods that fastify has no word for.
  app.route({
    method: app.supportedMethods,
    url: '*',
    onRequest: (request, reply) => turnAway(request, reply),
    handler: () => {},
  })
  app.setNotFoundHandler((request, reply) => turnAway(request, reply))
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

export async function inject(app: FastifyInstance, request: Injected): Promise<InjectedAnswer> {
  const { method = 'GET', url, headers = {}, body } = request
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
  const payload = body === undefined || isRaw ? body : JSON.stringify(body)
  const sent: Record<string, string | string[]> =
    payload === body ? {} : { 'content-type': 'application/json' }
  for (const [name, value] of Object.entries(headers))
    sent[name] = typeof value === 'string' ? value : [...value]
  const options: InjectOptions = {
    method,
    url,
    headers: sent,
    ...(payload !== undefined && { payload }),
  }
  const { statusCode, headers: answered, payload: text } = await app.inject(options)
  return {
    status: statusCode,
    headers: Object.fromEntries(
      Object.entries(answered).map(([name, value]) => [name, value?.toString()]),
    ),
    text: method === 'HEAD' ? '' : text,
    json: (): unknown => JSON.parse(text),
  }
}
