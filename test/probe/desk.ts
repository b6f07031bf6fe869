/**
 * The routes of the orchestrator over one in a world, asked without a socket.
 *
 * Whatever is answered must be documented by the route that answered, so every test is also one of the
 * documentation. Callers may do everything unless a test says who they are.
 */
import assert from 'node:assert/strict'

import {
  createHttp,
  openapiOf,
  type Http,
  type Principal,
  type Route,
} from '../../src/http/index.ts'
import { probeRoutes } from '../../src/probe/api/routes.ts'
import type { Probe } from '../../src/probe/probe.ts'
import { fault, silentLog } from '../../src/std/index.ts'
import { Scene, type SceneOptions } from './scene.ts'

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

export type DeskOptions = SceneOptions &
  Readonly<{
    /** Answers in place of the orchestrator's own. */
    instead?: Partial<Probe>
    uploadBytesMax?: number
  }>

/** A UUID that no test has. */
export const NOBODY = '00000000-0000-4000-8000-000000000000'

export class Desk extends Scene {
  http!: Http
  routes!: readonly Route[]
  #documented!: readonly (readonly [RegExp, ReadonlySet<string>])[]
  /** Of requests that are on their way. */
  readonly #arriving: Set<() => void> = new Set()

  open({ instead = {}, uploadBytesMax = 1_000 }: DeskOptions): void {
    const { clock } = this.town
    const probe = new Proxy(this.probe, {
      get: (_, name) => {
        const from = Object.hasOwn(instead, name) ? instead : this.probe
        const value: unknown = Reflect.get(from, name, from)
        return typeof value === 'function' ? value.bind(from) : value
      },
    })
    this.routes = probeRoutes(probe, { clock, uploadBytesMax }).map((route): Route => ({
      ...route,
      handle: (call) => {
        const [first] = this.#arriving
        first?.()
        return route.handle(call)
      },
    }))
    this.http = createHttp({
      routes: this.routes,
      authenticator: { authenticate: principalOf },
      log: silentLog,
      clock,
      info: { title: 'desk', version: '1' },
    })
    this.#documented = statusesOf(this.routes)
  }

  /** When the request has come to its route; nothing has been turned. */
  async beginAsking(
    method: string,
    url: string,
    body?: unknown,
    asked: Asked = {},
  ): Promise<Readonly<{ answer: Promise<Told> }>> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const arrived = (): void => {
      this.#arriving.delete(arrived)
      resolve()
    }
    this.#arriving.add(arrived)
    const answer = this.#answerTo(method, url, body, asked).finally(arrived)
    await promise
    return { answer }
  }

  async ask(method: string, url: string, body?: unknown, asked: Asked = {}): Promise<Told> {
    const { answer } = await this.beginAsking(method, url, body, asked)
    return this.town.until(answer)
  }

  /** The id of a test that was begun over HTTP. */
  async begun(): Promise<string> {
    const { body } = await this.ask('POST', '/api/v1/test/initialize')
    return String(body['test-id'])
  }

  /** Of one that was also started, and runs if it can. */
  async startedOver(fields: object = {}): Promise<string> {
    const testId = await this.begun()
    const asked = { 'test-id': testId, 'block-storage-path': '/bundles/a', ...fields }
    const { status, text } = await this.ask('POST', '/api/v1/test/start', asked)
    assert.equal(status, 202, text)
    await this.settle()
    return testId
  }

  async #answerTo(method: string, url: string, body: unknown, asked: Asked): Promise<Told> {
    const { permissions = ['*'], headers = {} } = asked
    const authorization = permissions === null ? {} : { authorization: permissions.join(' ') }
    const { status, text, ...answer } = await this.http.inject({
      method,
      url,
      headers: { ...authorization, ...headers },
      ...(body !== undefined && { body }),
    })
    const known = this.#documented.filter(([pattern]) =>
      pattern.test(`${method} ${url.replace(/\?.*/, '')}`),
    )
    assert.ok(
      known.length === 0 || known.some(([, statuses]) => statuses.has(String(status))),
      `${method} ${url} answered ${status}, which its documentation does not know: ${text}`,
    )
    return { status, headers: answer.headers, text, body: parsed(text) }
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.town.until(this.http.close(0))
    await super[Symbol.asyncDispose]()
  }
}

export async function desk(options: DeskOptions = {}): Promise<Desk> {
  let ids = 0
  const newId = (): string => `10000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`
  const made = new Desk({ newId, ...options })
  await made.begin()
  made.open(options)
  return made
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  return text.startsWith('{') && !text.includes('\n{') ? JSON.parse(text) : {}
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
