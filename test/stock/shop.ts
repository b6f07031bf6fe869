/**
 * A shop: the routes of the stock over a journal in memory, asked without a socket.
 *
 * Whatever it answers must be documented by the route that answered, so every test is also one of the
 * documentation. Callers may do everything unless a test says who they are.
 */
import assert from 'node:assert/strict'

import { createEntities, type Entities } from '../../src/entity/index.ts'
import { createHttp, type Principal, type Route } from '../../src/http/index.ts'
import { memoryJournal } from '../../src/journal/index.ts'
import { createSystem } from '../../src/kernel/index.ts'
import { fault, silentLog, systemClock } from '../../src/std/index.ts'
import {
  createStock,
  openRegistry,
  stockRoutes,
  TRACKED_ROLE,
  type LocationDirectory,
  type Stock,
  type StockOptions,
} from '../../src/stock/index.ts'

export type Who = Readonly<{ permissions: readonly string[]; places?: readonly string[] }>

export type Asked = Readonly<{
  body?: unknown
  headers?: Readonly<Record<string, string>>
  /** Nobody at all with null. */
  who?: Who | null
}>

export type Told = Readonly<{
  status: number
  headers: Readonly<Record<string, string | undefined>>
  text: string
  /** What the text says as JSON. */
  body: Readonly<Record<string, unknown>>
}>

export type ShopOptions = Readonly<{
  stock?: Partial<StockOptions['options']>
  /** What the stock does instead. */
  instead?: Partial<Stock>
  locations?: LocationDirectory
  isStarted?: () => boolean
}>

export interface Shop extends AsyncDisposable {
  readonly routes: readonly Route[]
  readonly entities: Entities
  ask(method: string, url: string, asked?: Asked): Promise<Told>
  get(url: string, asked?: Asked): Promise<Told>
  post(url: string, body: unknown, asked?: Asked): Promise<Told>
  /** Every level of every pot, to show that nothing was written. */
  position(): Promise<string>
  beginDraining(): void
}

const EVERYTHING: Who = { permissions: ['*'] }

/** DC01 (tracked) holds WH01 (not), which holds BAY1 (tracked); ST01 is tracked; YARD is not, nor in anything. */
const PLACES = [
  { id: 'DC01', roles: [TRACKED_ROLE] },
  { id: 'WH01', parent: 'DC01', roles: [] },
  { id: 'BAY1', parent: 'WH01', roles: [TRACKED_ROLE] },
  { id: 'ST01', roles: [TRACKED_ROLE] },
  { id: 'YARD', roles: [] },
] as const

export async function shop(options: ShopOptions = {}): Promise<Shop> {
  const journal = await memoryJournal()
  const system = createSystem()
  const entities = createEntities({ system, journal, log: silentLog })
  const registry = await openRegistry(entities)
  for (const place of PLACES) assert.ok((await registry.create(place, { actor: 'test' })).ok)
  const locations = options.locations ?? registry
  const clock = systemClock
  const real = createStock({
    entities,
    locations,
    log: silentLog,
    ...(options.stock !== undefined && { options: options.stock }),
  })
  const { instead = {} } = options
  const stock = new Proxy(real, {
    get(target, name) {
      const value: unknown = Reflect.get(Object.hasOwn(instead, name) ? instead : target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const { isStarted } = options
  const routes = stockRoutes(stock, {
    clock,
    locations,
    registry,
    ...(isStarted !== undefined && { isStarted }),
  })
  const http = createHttp({
    routes,
    authenticator: { authenticate: principalOf },
    log: silentLog,
    clock,
    info: { title: 'shop', version: '1' },
  })

  async function ask(method: string, url: string, asked: Asked = {}): Promise<Told> {
    const { body, headers, who = EVERYTHING } = asked
    const authorization = who === null ? {} : { authorization: JSON.stringify(who) }
    const {
      status,
      headers: told,
      text,
    } = await http.inject({
      method,
      url,
      headers: { ...authorization, ...headers },
      ...(body !== undefined && { body }),
    })
    assertDocumented(routes, method, url, status)
    const isObject = text.startsWith('{') && !told['content-type']?.includes('ndjson')
    return { status, headers: told, text, body: isObject ? JSON.parse(text) : {} }
  }

  return {
    routes,
    entities,
    ask,
    get: (url, asked) => ask('GET', url, asked),
    post: (url, body, asked) => ask('POST', url, { ...asked, body }),
    position: async () => String(await journal.position()),
    beginDraining: () => http.beginDraining(),
    async [Symbol.asyncDispose]() {
      await http.close(0)
      await real.close()
      await entities[Symbol.asyncDispose]()
      await system[Symbol.asyncDispose]()
      await journal[Symbol.asyncDispose]()
    },
  }
}

function principalOf(authorization: string | undefined): Principal | ReturnType<typeof nobody> {
  if (authorization === undefined) return nobody()
  const { permissions, places }: Who = JSON.parse(authorization)
  return {
    subject: 'ada',
    via: 'token',
    permissions: new Set(permissions),
    ...(places !== undefined && { places }),
  }
}

function nobody() {
  return fault('unauthenticated', 'the request carries no credentials')
}

function assertDocumented(
  routes: readonly Route[],
  method: string,
  url: string,
  status: number,
): void {
  const path = url.replace(/\?.*/, '')
  const asked = routes.filter(
    (route) =>
      route.method === method &&
      new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  if (asked.length === 0) return
  assert.ok(
    asked.some(({ answers }) => status in answers),
    `${method} ${url} answered ${status}, which its documentation does not know`,
  )
}
