/** One trace, from the request to everybody it causes work for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { receive } from '../../src/kernel/index.ts'
import { lineLog, parseTraceparent, type TraceContext } from '../../src/std/index.ts'
import { TRACKED_ROLE } from '../../src/stock/index.ts'
import { startLocationApi } from '../acceptance/location-api.ts'
import { composed } from './composed.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const AT = '2026-01-15T10:00:00Z'

const delivery = {
  requestId: 'd-1',
  supplierId: 's',
  supplierRef: 'r',
  deliveredAt: AT,
  products: [{ productId: 'p', quantity: 5 }],
}
const sale = { requestId: 's-1', quantity: 1, soldAt: AT }
const count = { requestId: 'c-1', quantity: 4, reason: 'AdminOverride', countedAt: AT }
const move = {
  requestId: 'm-1',
  destinationLocationId: 'B',
  quantity: 1,
  reason: 'replenishment',
  movedAt: AT,
}

test('a trace goes from the request to the location service, the pots, the journal and the log', async (t) => {
  const api = await startLocationApi()
  t.after(() => api.close())
  for (const id of ['A', 'B'])
    api.places.set(id, { parent: undefined, roles: [TRACKED_ROLE], cacheControl: undefined })
  const lines: string[] = []
  await using server = await composed(
    {
      'stock.locations.source': 'remote',
      'stock.locations.url': api.url,
      'log.requests': true,
    },
    lineLog((line) => void lines.push(line), { level: 'debug' }),
  )
  const contexts: unknown[] = []
  const listener = server.system.spawn(
    'listener',
    receive<string>((ctx) => void contexts.push(ctx.context)),
  )
  const { entities } = server
  const ask = entities.ask.bind(entities)
  t.mock.method(entities, 'ask', (...asked: Parameters<typeof ask>) => {
    listener.tell('asked')
    return ask(...asked)
  })
  const send = async (method: string, url: string, body?: object): Promise<void> => {
    const headers = { traceparent: `00-${TRACE}-${SPAN}-01` }
    const told = await server.http.inject({ method, url, headers, ...(body && { body }) })
    assert.ok(told.status < 300, told.text)
    assert.equal(told.headers['traceparent'], undefined)
  }

  await send('POST', '/locations/A/deliveries', delivery)
  await send('POST', '/locations/A/products/p/sales', sale)
  await send('POST', '/locations/A/products/p/movements', move)
  await send('POST', '/locations/A/products/p/counts', count)
  for (const path of ['p', 'p/history', 'p/explain?between=0,1', ''])
    await send('GET', `/locations/A/products/${path}`.replace(/\/$/, ''))

  const asked = api.asked.map(({ traceparent }) => parseTraceparent(traceparent))
  assert.ok(asked.length >= 8, `it was asked ${asked.length} times`)
  const stored = (await server.journal.readAll()).map(({ trace }) => parseTraceparent(trace))
  assert.equal(stored.length, 5)
  assert.equal(contexts.length, 4)
  for (const found of [...asked, ...stored, ...(contexts as TraceContext[])]) {
    assert.equal(found?.traceId, TRACE)
    assert.notEqual(found.spanId, SPAN) // the caller's own; ours are its children
    assert.ok(found.sampled)
  }
  const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  const written = logged.filter((line) => line['trace_id'] === TRACE)
  assert.equal(written.filter(({ message }) => message === 'request').length, 8)
  assert.equal(written.filter(({ message }) => message === 'recorded').length, 4)
})
