/**
 * The routes of the queues over a broker on virtual time, asked without a socket.
 *
 * Whatever is answered must be documented by the route that answered, so every test is also one of the
 * documentation. Callers may do everything unless a test says who they are.
 */
import assert from 'node:assert/strict'

import { createBroker, queueRoutes, type Broker } from '../../src/broker/index.ts'
import {
  createHttp,
  openapiOf,
  type Http,
  type Principal,
  type Route,
} from '../../src/http/index.ts'
import { fault, silentLog } from '../../src/std/index.ts'
import { world, type World } from '../../src/testkit/index.ts'

export type Asked = Readonly<{
  /** Nobody at all with null. */
  permissions?: readonly string[] | null
  headers?: Readonly<Record<string, string>>
}>

export type Told = Readonly<{
  status: number
  headers: Readonly<Record<string, string | undefined>>
  text: string
  /** What the text says as JSON. */
  body: Readonly<Record<string, unknown>>
}>

export interface Counter extends AsyncDisposable {
  readonly town: World
  readonly broker: Broker
  readonly http: Http
  readonly routes: readonly Route[]
  ask(method: string, url: string, body?: unknown, asked?: Asked): Promise<Told>
  /** When the request has come to its route; nothing has been turned. */
  begin(
    method: string,
    url: string,
    body?: unknown,
    asked?: Asked,
  ): Promise<Readonly<{ answer: Promise<Told> }>>
}

export async function counter(instead: Partial<Broker> = {}): Promise<Counter> {
  const town = world()
  const { system, clock } = town
  const real = await town.until(town.journal().then((journal) => createBroker({ system, journal })))
  const broker = new Proxy(real, {
    get(target, name) {
      const value: unknown = Reflect.get(
        Object.hasOwn(instead, name) ? instead : target,
        name,
        target,
      )
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  let onArrival: (() => void) | undefined
  const routes = queueRoutes(broker).map((route): Route => ({
    ...route,
    handle(call) {
      onArrival?.()
      return route.handle(call)
    },
  }))
  const http = createHttp({
    routes,
    authenticator: { authenticate: principalOf },
    log: silentLog,
    clock,
    info: { title: 'counter', version: '1' },
  })
  const documented = statusesOf(routes)

  async function answerTo(method: string, url: string, body: unknown, asked: Asked): Promise<Told> {
    const { permissions = ['*'], headers = {} } = asked
    const authorization = permissions === null ? {} : { authorization: permissions.join(' ') }
    const answer = await http.inject({
      method,
      url,
      headers: { ...authorization, ...headers },
      ...(body !== undefined && { body }),
    })
    const { status, text } = answer
    const known = documented.filter(([pattern]) =>
      pattern.test(`${method} ${url.replace(/\?.*/, '')}`),
    )
    assert.ok(
      known.length === 0 || known.some(([, statuses]) => statuses.has(String(status))),
      `${method} ${url} answered ${status}, which its documentation does not know: ${text}`,
    )
    return {
      status,
      headers: answer.headers,
      text,
      body: text.startsWith('{') ? JSON.parse(text) : {},
    }
  }

  // A request is read on real time, which a world does not wait for.
  async function begin(
    method: string,
    url: string,
    body?: unknown,
    asked: Asked = {},
  ): Promise<Readonly<{ answer: Promise<Told> }>> {
    const arrived = Promise.withResolvers<void>()
    onArrival = arrived.resolve
    const answer = answerTo(method, url, body, asked)
    await Promise.race([arrived.promise, answer])
    return { answer }
  }

  return {
    town,
    broker,
    http,
    routes,
    begin,
    ask: async (...args) => town.until((await begin(...args)).answer),
    async [Symbol.asyncDispose]() {
      await town.until(http.close(0))
      await town[Symbol.asyncDispose]()
    },
  }
}

function statusesOf(routes: readonly Route[]): [RegExp, ReadonlySet<string>][] {
  const { paths } = openapiOf(routes, { title: '', version: '' }) as {
    paths: Record<string, Record<string, { responses: object }>>
  }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses }]): [RegExp, ReadonlySet<string>] => [
      new RegExp(`^${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      new Set(Object.keys(responses)),
    ]),
  )
}

function principalOf(authorization: string | undefined): Principal | ReturnType<typeof nobody> {
  if (authorization === undefined) return nobody()
  return { subject: 'ada', via: 'token', permissions: new Set(authorization.split(' ')) }
}

function nobody() {
  return fault('unauthenticated', 'the request carries no credentials')
}
