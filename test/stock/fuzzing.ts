/**
 * Requests that chance makes: mostly almost right, some right, some nonsense; and what must hold
 * however many of them a server is sent. It never answers that it failed, it still serves, and what
 * it shows is what its history comes to, before and after it is started again.
 *
 *   FUZZ_SEED=123 node --test test/stock/fuzz.slow.test.ts
 *
 * sends the requests of one seed again.
 */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import type { TestContext } from 'node:test'

import { freshSeed, random as seeded, type Random } from '../../src/std/index.ts'
import { at } from '../acceptance/client.ts'
import { serve, type Served } from './served.ts'
import { withAt, WRITES, type Body } from './writes.ts'

type Fuzzed = Readonly<{
  method: string
  path: string
  headers: Readonly<Record<string, string>>
  body: string | undefined
}>

type Outcome = Readonly<{
  statuses: ReadonlyMap<number, number>
  failures: readonly string[]
}>

const TREE: readonly (readonly [id: string, parent: string | undefined, isTracked: boolean])[] = [
  ['fuzz-region', undefined, false],
  ['fuzz-depot', 'fuzz-region', true],
  ['fuzz-bay', 'fuzz-depot', false],
  ['fuzz-shop', 'fuzz-region', true],
  ['fuzz-odd/ü|%', undefined, true],
]
const PLACES = TREE.map(([id]) => id)
const PRODUCTS = ['beans', 'peas', 'a|b', '100%', '日本']
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']
const CLIENTS = 24
/** Of the parts of a text that is made of parts. */
const PARTS = [
  '..',
  '/',
  '%',
  '%2F',
  '%00',
  ' ',
  '\u0000',
  '"',
  "'",
  '\\',
  '{}',
  'é',
  '💥',
  'null',
  '-1',
  'x'.repeat(300),
]

/** Sends so many to a server of its own, and holds it to what must hold. */
export async function withstands(t: TestContext, count: number): Promise<void> {
  const seed = Number(process.env['FUZZ_SEED'] ?? freshSeed())
  t.diagnostic(`seed ${seed}`)
  await using served = await serve()
  await prepare(served)

  const { statuses, failures } = await fuzz(served, seeded(seed), count)

  t.diagnostic(JSON.stringify(Object.fromEntries([...statuses].toSorted(([a], [b]) => a - b))))
  assert.deepEqual(failures.slice(0, 5), [], `${failures.length} of seed ${seed}`)
  assert.ok((statuses.get(201) ?? 0) > count / 20, 'too few requests were right')
  assert.ok(statuses.size > 5, 'too few kinds of answers')
  assert.ok((await judge(served)) > 10)
}

async function prepare(served: Served): Promise<void> {
  for (const [id, parent, isTracked] of TREE) await served.place(id, parent, isTracked)
}

/** Sends so many, several at a time; what fails is told with the request that made it fail. */
async function fuzz(served: Served, random: Random, count: number): Promise<Outcome> {
  const statuses = new Map<number, number>()
  const failures: string[] = []
  const { hostname, port } = new URL(served.server.url)
  let left = count
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const fuzzed = draw(random, count - left)
      const status = await exchange(hostname, Number(port), fuzzed).catch((error: unknown) =>
        String(error),
      )
      if (typeof status === 'number') statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (typeof status === 'string' || status >= 500)
        failures.push(`${status}: ${JSON.stringify(fuzzed).slice(0, 1_000)}`)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return { statuses, failures }
}

/** Levels by pot, each held against the end of its history; the same again after a restart. */
async function judge(served: Served): Promise<number> {
  const before = await levelsOf(served)
  await served.restart()
  assert.deepEqual(await levelsOf(served), before)
  return before.size
}

async function levelsOf(served: Served): Promise<Map<string, unknown>> {
  const levels = new Map<string, unknown>()
  for (const place of PLACES)
    for (const product of PRODUCTS) {
      const pot = `/locations/${encodeURIComponent(place)}/products/${encodeURIComponent(product)}`
      const level = await served.ask('GET', `${pot}?includeChildren=false`)
      assert.equal(level.status, 200, level.text)
      const last = await lastOf(served, pot)
      if (last === undefined) continue
      assert.equal(at(level.json, 'quantity'), at(last, 'quantity'), `${pot} ${level.text}`)
      assert.equal(at(level.json, 'pendingAdjustment') ?? 0, at(last, 'pendingAdjustment'), pot)
      levels.set(pot, level.json)
    }
  return levels
}

async function lastOf(served: Served, pot: string): Promise<unknown> {
  let last: unknown
  let cursor: string | undefined
  do {
    const more = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page = await served.ask('GET', `${pot}/history?order=effective&limit=1000${more}`)
    assert.equal(page.status, 200, page.text)
    last = (at(page.json, 'events') as unknown[]).at(-1) ?? last
    cursor = at(page.json, 'nextCursor') as string | undefined
  } while (cursor !== undefined)
  return last
}

function draw(random: Random, n: number): Fuzzed {
  const kind = random.below(100)
  if (kind < 70) return drawWrite(random, n)
  if (kind < 90) return drawRead(random)
  if (kind < 94) return drawPlace(random)
  return drawNonsense(random)
}

function drawWrite(random: Random, n: number): Fuzzed {
  const write = pick(random, WRITES)
  const [place, product] = [drawPlaceId(random), drawProductId(random)]
  // A small range makes ids meet, with the same content or with another.
  const requestId = random.below(4) === 0 ? `again-${random.below(200)}` : `fuzz-${n}`
  const times = ['09:00:00Z', '10:00:00.123Z', '11:30:00+02:00', '23:59:59']
  const time = `2024-12-1${random.below(10)}T${pick(random, times)}`
  let body: Body = write.body(requestId, {
    destination: drawPlaceId(random),
    product: drawProductId(random),
  })
  const fields = Object.keys(write.fields)
  const timed = fields.find((field) => field.endsWith('At'))!
  body = withAt(body, timed, time)
  const amount = fields.find((field) => field.endsWith('quantity'))!
  body = withAt(body, amount, pick(random, [1, 2.5, 0.1, '0.000001', 100, 1e6, '999999999999999']))
  for (let wrong = random.below(3) === 0 ? 1 + random.below(3) : 0; wrong > 0; wrong -= 1) {
    const field = pick(random, fields)
    const values = [...write.fields[field]!, undefined, null, drawText(random)]
    try {
      body = withAt(body, field, pick(random, values))
    } catch {
      // What it would be put into has been taken away before.
    }
  }
  return {
    method: 'POST',
    path: write.path(encodeURIComponent(place), encodeURIComponent(product)),
    headers: drawHeaders(random),
    body: drawJson(random, body),
  }
}

function drawRead(random: Random): Fuzzed {
  const [place, product] = [drawPlaceId(random), drawProductId(random)].map(encodeURIComponent)
  const pot = `/locations/${place}/products/${product}`
  const paths = [
    pot,
    `${pot}/history`,
    `${pot}/explain`,
    `/locations/${place}`,
    `/locations/${place}/children`,
    `/locations/${place}/path`,
    `/locations/${place}/products`,
    `/products/${product}/locations`,
    `/moves`,
    `/moves/${encodeURIComponent(drawText(random))}`,
    `/requests/again-${random.below(200)}`,
    `/pots`,
    `/pots/${encodeURIComponent(`${product}|${place}`)}`,
    `/events`,
    `/health/ready`,
    `/metrics`,
    `/openapi.json`,
  ]
  const path = pick(random, paths)
  const query = new URLSearchParams()
  if (path === '/events') query.set('limit', '1')
  for (let more = random.below(3); more > 0; more -= 1)
    query.set(
      pick(random, [
        'includeChildren',
        'asOf',
        'asAt',
        'order',
        'limit',
        'cursor',
        'between',
        'from',
        'depth',
        'after',
        'state',
      ]),
      pick(random, [
        'true',
        'false',
        '0',
        '1',
        '2',
        '1,2',
        '2024-12-13T10:00:00Z',
        'effective',
        'recorded',
        'completed',
        drawText(random),
      ]),
    )
  return {
    method: 'GET',
    path: `${path}?${query.toString()}`,
    headers: drawHeaders(random),
    body: undefined,
  }
}

function drawPlace(random: Random): Fuzzed {
  const id = pick(random, [...PLACES, `fuzz-more-${random.below(20)}`, drawText(random)])
  // The places that are judged stay where they are.
  const isFixed = PLACES.includes(id)
  const body = isFixed
    ? { roles: drawText(random), parent: 5 }
    : {
        roles: [drawText(random)],
        parent: pick(random, [...PLACES, undefined, `fuzz-more-${random.below(20)}`]),
      }
  return {
    method: 'PUT',
    path: `/locations/${encodeURIComponent(id)}`,
    headers: drawHeaders(random),
    body: drawJson(random, body),
  }
}

function drawNonsense(random: Random): Fuzzed {
  const steps = Array.from({ length: random.below(6) }, () =>
    pick(random, ['locations', 'products', 'pots', 'moves', 'sales', drawText(random)]),
  )
  return {
    method: pick(random, METHODS),
    path: `/${steps.map(encodeURIComponent).join('/')}`,
    headers: drawHeaders(random),
    body: random.below(2) === 0 ? undefined : drawText(random),
  }
}

/** As JSON, and now and then not quite. */
function drawJson(random: Random, body: unknown): string {
  const text = JSON.stringify(body)
  const kind = random.below(40)
  if (kind === 0) return text.slice(0, random.below(text.length))
  if (kind === 1) return text.replace('{', `{"__proto__":{"requestId":"x"},`)
  if (kind === 2) return text.replace('{', `{"constructor":{"prototype":{"quantity":1}},`)
  if (kind === 3) return `${'['.repeat(random.below(200))}${text}`
  if (kind === 4) return text.replace(/:\d+/, ':NaN')
  if (kind === 5) return text.replace('{', '{"requestId":"first",')
  return text
}

function drawHeaders(random: Random): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  const kind = random.below(30)
  if (kind === 0)
    headers['content-type'] = pick(random, [
      'text/plain',
      'application/xml',
      '',
      'application/json; charset=latin1',
    ])
  if (kind === 1) headers['if-match'] = pick(random, ['*', '"1"', '"0"', 'W/"2"', 'x'])
  if (kind === 2) headers['consistency-token'] = pick(random, ['0', '1', '-1', 'x'])
  if (kind === 3)
    headers['traceparent'] = pick(random, [
      '00-x-y-01',
      `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`,
      '!',
    ])
  if (kind === 4) headers['accept'] = pick(random, ['text/event-stream', 'image/png', '*/*;q=0'])
  if (kind === 5) headers['authorization'] = pick(random, ['Bearer x', 'Basic eDp5', 'Bearer'])
  if (kind === 6) headers['last-event-id'] = pick(random, ['0', 'x', '5'])
  if (kind === 7) headers['x-more'] = 'y'.repeat(random.below(5_000))
  return headers
}

function drawPlaceId(random: Random): string {
  return random.below(12) === 0 ? drawText(random) : pick(random, PLACES)
}

function drawProductId(random: Random): string {
  return random.below(12) === 0 ? drawText(random) : pick(random, PRODUCTS)
}

function drawText(random: Random): string {
  return Array.from({ length: 1 + random.below(3) }, () => pick(random, PARTS)).join('')
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[random.below(from.length)]!
}

/** By a bare client, which sends what no other lets one send; a stream is left after its first bytes. */
function exchange(host: string, port: number, fuzzed: Fuzzed): Promise<number> {
  const { method, path, body } = fuzzed
  // Without a length, what follows a request that has no body by custom would be the next request.
  const length = { 'content-length': String(Buffer.byteLength(body ?? '')) }
  const headers = body === undefined ? fuzzed.headers : { ...fuzzed.headers, ...length }
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, method, path, headers }, (response) => {
      const status = response.statusCode ?? 0
      const isStream = /ndjson|event-stream/.test(response.headers['content-type'] ?? '')
      response.on('error', () => resolve(status))
      response.on('end', () => resolve(status))
      if (isStream) {
        resolve(status)
        response.destroy()
      } else response.resume()
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
