import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { receive } from '../kernel/index.ts'
import { until } from '../../test/http/serving.ts'
import { composed } from '../../test/server/composed.ts'
import { Accident } from '../std/index.ts'
import type { Server } from './compose.ts'

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'compose-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

const TRACKED = { roles: ['TrackedInventoryLocation'] }

function delivery(requestId: string, quantity: number): object {
  return {
    requestId,
    supplierId: 's',
    supplierRef: 'r',
    deliveredAt: '2026-01-01T00:00:00Z',
    products: [{ productId: 'p', quantity }],
  }
}

async function deliverTo(server: Server, headers: Record<string, string> = {}): Promise<void> {
  const put = await server.http.inject({ method: 'PUT', url: '/locations/A', body: TRACKED })
  assert.equal(put.status, 201, put.text)
  const delivered = await server.http.inject({
    method: 'POST',
    url: '/locations/A/deliveries',
    body: delivery('r-1', 5),
    headers,
  })
  assert.equal(delivered.status, 201, delivered.text)
}

describe('the server', () => {
  test('is live and ready, each check by its name where it is asked for', async () => {
    await using server = await composed()
    assert.deepEqual((await server.http.inject({ url: '/livez' })).json(), { alive: true })
    const ready = await server.http.inject({ url: '/readyz' })
    assert.deepEqual([ready.status, ready.json()], [200, { ready: true }])
    const verbose = await server.http.inject({ url: '/readyz?verbose' })
    const { checks } = verbose.json() as { checks: { name: string; up: boolean }[] }
    assert.deepEqual(checks.slice(0, 3), [
      { name: 'serving', up: true },
      { name: 'storage', up: true },
      { name: 'recovery', up: true },
    ])
    assert.ok(checks.length > 3 && checks.every(({ up }) => up))
  })

  test('is not ready, but live, from the moment it is to stop', async () => {
    const server = await composed()
    const stopping = server.stop()
    const ready = await server.http.inject({ url: '/readyz?verbose' })
    assert.equal(ready.status, 503)
    const { checks } = ready.json() as { checks: { name: string; up: boolean; note?: string }[] }
    assert.deepEqual(checks[0], { name: 'serving', up: false, note: 'it is being shut down' })
    assert.deepEqual(await stopping, { rejected: 0, overdue: [], actors: [] })
    assert.equal(server.journal.state, 'closed')
    assert.equal(await server.stop(), await stopping)
  })

  test('gives figures of all its parts', async () => {
    await using server = await composed()
    await deliverTo(server)
    const { status, headers, text } = await server.http.inject({ url: '/metrics' })
    assert.equal(status, 200)
    assert.match(headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/)
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
    assert.equal(new Set(names).size, names.length)
    for (const name of [
      'flytower_kernel_spawned_total',
      'flytower_kernel_resume_latency_p50_ms',
      'flytower_journal_pending_bytes',
      'flytower_entity_active',
      'idempotency_domain_misses',
      'process_resident_memory_bytes',
    ])
      assert.ok(names.includes(name), name)
    assert.match(text, /^flytower_journal_state\{state="open"\} 1$/m)
    assert.match(text, /^flytower_journal_state\{state="failed"\} 0$/m)
  })

  test('carries the trace of a request into the journal, and into what is told', async () => {
    await using server = await composed()
    const traceId = 'a'.repeat(32)
    await deliverTo(server, { traceparent: `00-${traceId}-${'b'.repeat(16)}-01` })
    const events = await server.journal.readAll()
    const traces = events.filter(({ requestId }) => requestId === 'r-1').map(({ trace }) => trace)
    assert.ok(traces.length > 0)
    for (const trace of traces) assert.match(trace ?? '', new RegExp(`^00-${traceId}-`))
  })

  test('lets a route tell actors in the name of its caller', async (t) => {
    await using server = await composed()
    const seen: unknown[] = []
    const { system } = server
    const listener = system.spawn(
      'listener',
      receive<string>((ctx) => void seen.push(ctx.context)),
    )
    const { stock } = server
    const pots = stock.pots.bind(stock)
    t.mock.method(stock, 'pots', (page: Parameters<typeof pots>[0]) => {
      listener.tell('asked')
      return pots(page)
    })
    const traceparent = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`
    await server.http.inject({ url: '/pots', headers: { traceparent } })
    await until(() => seen.length > 0) // the answer does not wait for it
    assert.deepEqual(
      seen.map((context) => (context as { traceId: string }).traceId),
      ['c'.repeat(32)],
    )
  })

  test('has after a restart everything that was answered before it', async (t) => {
    const directory = join(folder(t), 'data')
    const before = await composed({ 'data.directory': directory })
    await deliverTo(before)
    const last = await before.http.inject({ method: 'PUT', url: '/locations/B', body: TRACKED })
    assert.equal(last.status, 201)
    await before.stop()

    await using after = await composed({ 'data.directory': directory })
    const level = (await after.http.inject({ url: '/locations/A/products/p' })).json()
    assert.equal((level as { quantity: number }).quantity, 5)
    assert.equal((await after.http.inject({ url: '/locations/B' })).status, 200)
    assert.equal((await after.http.inject({ url: '/readyz' })).status, 200)
  })

  test('copies what it has, over nothing that is there', async (t) => {
    const parent = folder(t)
    await using server = await composed({ 'data.directory': join(parent, 'data') })
    await deliverTo(server)
    const body = { directory: join(parent, 'copy') }
    const copied = await server.http.inject({ method: 'POST', url: '/backups', body })
    assert.deepEqual([copied.status, copied.json()], [201, body])
    const again = await server.http.inject({ method: 'POST', url: '/backups', body })
    assert.equal(again.status, 409, again.text)
    const relative = { directory: 'copy' }
    const refused = await server.http.inject({ method: 'POST', url: '/backups', body: relative })
    assert.equal(refused.status, 400)

    await using restored = await composed({ 'data.directory': body.directory })
    assert.equal((await restored.http.inject({ url: '/locations/A/products/p' })).status, 200)
  })

  test('documents every route it serves', async () => {
    await using server = await composed()
    const document = (await server.http.inject({ url: '/openapi.json' })).json() as {
      openapi: string
      paths: Record<string, unknown>
    }
    assert.match(document.openapi, /^3\.1/)
    for (const path of ['/livez', '/readyz', '/metrics', '/locations/{locationId}'])
      assert.ok(path in document.paths, path)
    assert.equal((await server.http.inject({ url: '/docs' })).status, 200)
  })
})

function sha256(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

describe('who may call', () => {
  const tokens = [
    { name: 'ann', sha256: sha256('ann-secret'), roles: ['admin'] },
    { name: 'vic', sha256: sha256('vic-secret'), roles: ['viewer'] },
  ]
  test('is anybody on the machine’s own address, and nobody is let in from elsewhere without a word', async () => {
    for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost'])
      await (await composed({ 'listen.host': host })).stop()
    for (const host of ['0.0.0.0', '::', '192.168.1.1', 'example.org', '::ffff:1.2.3.4'])
      await assert.rejects(composed({ 'listen.host': host }), (error) => {
        assert.ok(error instanceof Accident)
        assert.equal(error.code, 'open-to-all')
        assert.match(String(error.detail['remedy']), /auth\.tokens/)
        return true
      })
    await (await composed({ 'listen.host': '0.0.0.0', 'auth.tokens': tokens })).stop()
  })

  test('is who has a token, with the rights of its roles', async () => {
    await using server = await composed({ 'auth.tokens': tokens })
    const put = (headers: Record<string, string>) =>
      server.http.inject({ method: 'PUT', url: '/locations/A', body: TRACKED, headers })
    assert.equal((await put({})).status, 401)
    assert.equal((await put(bearer('nobody'))).status, 401)
    assert.equal((await put(bearer('vic-secret'))).status, 403)
    assert.equal((await put(bearer('ann-secret'))).status, 201)
    for (const url of ['/livez', '/readyz'])
      assert.equal((await server.http.inject({ url })).status, 200)
    assert.equal((await server.http.inject({ url: '/metrics' })).status, 401)
    const figures = await server.http.inject({ url: '/metrics', headers: bearer('vic-secret') })
    assert.equal(figures.status, 200)
  })

  test('is what a policy file says, as a whole', async (t) => {
    const directory = folder(t)
    const policy = join(directory, 'policy.yaml')
    writeFileSync(policy, 'roles:\n  keeper: ["stock:location:write"]\njobs: {}\n')
    const keeper = [{ name: 'kim', sha256: sha256('kim-secret'), roles: ['keeper'] }]
    await using server = await composed({ 'auth.tokens': keeper, 'auth.policy': policy })
    const put = await server.http.inject({
      method: 'PUT',
      url: '/locations/A',
      body: TRACKED,
      headers: bearer('kim-secret'),
    })
    assert.equal(put.status, 201, put.text)
    const figures = await server.http.inject({ url: '/metrics', headers: bearer('kim-secret') })
    assert.equal(figures.status, 403)

    await assert.rejects(composed({ 'auth.tokens': tokens, 'auth.policy': policy }), {
      code: 'bad-policy',
    })
    writeFileSync(policy, 'roles: []\n')
    await assert.rejects(composed({ 'auth.tokens': keeper, 'auth.policy': policy }), {
      code: 'bad-policy',
    })
    await assert.rejects(
      composed({ 'auth.tokens': keeper, 'auth.policy': join(directory, 'no') }),
      {
        code: 'unreadable-file',
      },
    )
  })
})

describe('the places of the stock', () => {
  test('come from a file', async (t) => {
    const file = join(folder(t), 'places.yaml')
    writeFileSync(
      file,
      'locations:\n  - { id: A, roles: [TrackedInventoryLocation] }\n  - { id: B, parent: A }\n',
    )
    const settings = { 'stock.locations.source': 'file', 'stock.locations.file': file }
    await using server = await composed(settings)
    const found = (await server.http.inject({ url: '/locations/A' })).json() as {
      children: string[]
    }
    assert.deepEqual(found.children, ['B'])
    const put = await server.http.inject({ method: 'PUT', url: '/locations/C', body: TRACKED })
    assert.equal(put.status, 405, put.text)

    writeFileSync(file, 'locations:\n  - { id: A, parent: nowhere }\n')
    await assert.rejects(composed(settings), { code: 'bad-locations' })
  })
})

describe('closed books', () => {
  test('refuse what is dated before, from a moment that there is', async () => {
    await using server = await composed({ 'stock.booksClosedBefore': '2026-01-01T00:00:01Z' })
    await server.http.inject({ method: 'PUT', url: '/locations/A', body: TRACKED })
    const body = delivery('r-1', 5)
    const told = await server.http.inject({ method: 'POST', url: '/locations/A/deliveries', body })
    assert.deepEqual([told.status, (told.json() as { code: string }).code], [400, 'books-closed'])

    for (const moment of ['2026-02-30T00:00:00Z', '2026-13-01T00:00:00Z', '2026-01-01T24:00:00Z'])
      await assert.rejects(composed({ 'stock.booksClosedBefore': moment }), { code: 'bad-config' })
  })
})

describe('the config of pots', () => {
  test('says when they are put away, and how often that is looked at', async () => {
    await using server = await composed({
      'stockPot.unloadAfterInactivity': '100ms',
      'stockPot.unloadCheckInterval': '50ms',
    })
    await deliverTo(server)
    assert.ok(server.entities.metrics().active > 0)
    const gone = Promise.withResolvers<void>()
    const unlisten = server.system.trace(() => {
      if (server.entities.metrics().passivations > 0) gone.resolve()
    })
    await gone.promise
    unlisten()
  })
})
