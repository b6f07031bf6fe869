import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, fault } from '../std/index.ts'
import { aRoute, codeOf, serve, until } from '../../test/http/serving.ts'
import { OVERDUE_CHECK_MS, REQUEST_MS_DEFAULT } from './limits.ts'
import { problem } from './problem.ts'
import { json, type Call, type Route } from './route.ts'
import { shape, whole } from './shape.ts'

describe('an answer', () => {
  test('carries the headers that keep it safe (OWASP API8)', async () => {
    const { http } = serve([
      aRoute({ path: '/a' }),
      aRoute({
        path: '/b',
        handle: () => json(200, 1, { 'cache-control': 'max-age=5', etag: '"1"' }),
      }),
    ])
    for (const url of ['/a', '/nothing', '/docs']) {
      const { headers } = await http.inject({ url })
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.match(
        headers['content-security-policy'] ?? '',
        /^default-src 'none';.*frame-ancestors 'none'/,
      )
      assert.equal(headers['referrer-policy'], 'no-referrer')
      assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
      assert.equal(headers['x-powered-by'] ?? headers['server'], undefined)
    }
    assert.equal((await http.inject({ url: '/a' })).headers['cache-control'], 'no-store')
    const own = await http.inject({ url: '/b' })
    assert.equal(own.headers['cache-control'], 'max-age=5')
    assert.equal(own.headers['etag'], '"1"')
    assert.equal(own.headers['content-type'], 'application/json')
  })

  test('may be a text, nothing, or wait for its time', async () => {
    const { http } = serve([
      aRoute({
        path: '/text',
        handle: () => ({ status: 200, text: 'é', headers: { 'content-type': 'text/plain' } }),
      }),
      aRoute({ path: '/nothing', handle: () => ({ status: 204 }) }),
      aRoute({ path: '/null', handle: () => json(200, null) }),
      aRoute({ path: '/later', handle: async () => json(202, 'later') }),
    ])
    const answer = await http.inject({ url: '/text' })
    assert.deepEqual([answer.text, answer.headers['content-length']], ['é', '2'])
    const nothing = await http.inject({ url: '/nothing' })
    assert.deepEqual(
      [nothing.status, nothing.text, nothing.headers['content-length']],
      [204, '', undefined],
    )
    assert.equal((await http.inject({ url: '/null' })).text, 'null')
    assert.equal((await http.inject({ url: '/later' })).status, 202)
  })

  test('to a refusal may be in the words of the feature', async () => {
    const own = aRoute({
      path: '/own',
      query: shape({ n: whole(1, 2) }),
      refuse: (refusal, status) =>
        problem(status, refusal, { status: 'BadRequest', title: 'Mine' }),
    })
    const { http } = serve([own])
    const answer = await http.inject({ url: '/own' })
    const body = answer.json() as Record<string, unknown>
    assert.deepEqual(
      [answer.status, body['status'], body['title'], body['code']],
      [400, 'BadRequest', 'Mine', 'bad-input'],
    )
  })

  test('to an accident has the status it was given; what else is known stays here', async () => {
    const failing = aRoute({
      path: '/accident/{code}',
      handle: async ({ params }) => {
        const secret = { path: '/var/secret', remedy: 'free some space' }
        if (params.code === 'full')
          throw new Accident(fault('disk-full', 'the disk is full', secret))
        throw new Accident(fault('odd', 'odd', secret))
      },
    })
    const { http, lines } = serve([failing], { statuses: { 'disk-full': 507 } })
    const full = await http.inject({ url: '/accident/full' })
    assert.equal(codeOf(full), '507 disk-full')
    assert.ok(!full.text.includes('secret'))
    assert.equal(codeOf(await http.inject({ url: '/accident/other' })), '500 internal')
    assert.match(lines.join('\n'), /secret/)
  })

  test('to a failure tells the trace and no more; the log tells the rest (OWASP API8: no stack)', async () => {
    const bug = new Error('secret detail')
    const routes = [
      aRoute({
        path: '/sync',
        handle: () => {
          throw bug
        },
      }),
      aRoute({
        path: '/async',
        handle: async () => {
          throw bug
        },
      }),
      aRoute({ path: '/unsayable', handle: () => json(200, { n: 1n }) }),
      aRoute({ path: '/header', handle: () => json(200, 1, { 'x-a': 'b\r\nset-cookie: c=d' }) }),
      aRoute({
        path: '/thing',
        handle: () => {
          throw 'a text'
        },
      }), // oxlint-disable-line typescript/only-throw-error
    ]
    const { http, lines } = serve(routes)
    for (const { path } of routes) {
      lines.length = 0
      const answer = await http.inject({ url: path })
      assert.equal(codeOf(answer), '500 internal')
      assert.ok(!/secret|\.ts|set-cookie/.test(answer.text + JSON.stringify(answer.headers)))
      const line = JSON.parse(lines[0] ?? '{}') as Record<string, unknown>
      assert.equal(line['trace_id'], (answer.json() as Record<string, unknown>)['traceId'])
      assert.equal(line['route'], path)
      assert.equal(line['level'], 'error')
    }
  })

  test('that takes longer than it may is given up; the route’s own goes nowhere', async () => {
    const { promise, resolve } = Promise.withResolvers<ReturnType<typeof json>>()
    const signals: AbortSignal[] = []
    const slow = (path: string, requestMsMax?: number): Route =>
      aRoute({
        path,
        ...(requestMsMax !== undefined && { requestMsMax }),
        handle({ signal }) {
          signals.push(signal)
          return promise
        },
      })
    const { http, clock } = serve([slow('/slow'), slow('/quick', 5_000)])
    const [first, second] = [http.inject({ url: '/slow' }), http.inject({ url: '/quick' })]
    await until(() => signals.length === 2)
    clock.advance(5_000 - 1)
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [false, false],
    )
    clock.advance(1)
    const quick = await second
    assert.equal(codeOf(quick), '503 answer-overdue')
    assert.equal(quick.headers['retry-after'], '1')
    clock.advance(REQUEST_MS_DEFAULT - 5_000 + OVERDUE_CHECK_MS)
    assert.equal(codeOf(await first), '503 answer-overdue')
    resolve(json(200, 'late'))
    await promise
    assert.equal(clock.next, undefined, 'nobody is watched who is owed nothing')
  })
})

describe('a trace', () => {
  const traced = aRoute({
    path: '/traced',
    handle(call: Call) {
      call.log.info('seen')
      return json(200, call.trace)
    },
  })
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

  test('goes on in a span of its own, in every line, and is not sent back', async () => {
    const { http, lines } = serve([traced])
    const answer = await http.inject({ url: '/traced', headers: { traceparent } })
    const { traceId, spanId, sampled } = answer.json() as Record<string, unknown>
    assert.equal(traceId, '0af7651916cd43dd8448eb211c80319c')
    assert.notEqual(spanId, 'b7ad6b7169203331')
    assert.equal(sampled, true)
    const line = JSON.parse(lines[0] ?? '{}') as Record<string, unknown>
    assert.deepEqual([line['trace_id'], line['span_id']], [traceId, spanId])
    assert.equal(answer.headers['traceparent'], undefined)
  })

  test('begins here when there is none, or none that is valid', async () => {
    const { http } = serve([traced])
    const ids = new Set<unknown>()
    for (const headers of [
      {},
      { traceparent: 'nonsense' },
      { traceparent: traceparent.replace('00-', 'ff-') },
    ])
      ids.add(
        ((await http.inject({ url: '/traced', headers })).json() as Record<string, unknown>)[
          'traceId'
        ],
      )
    assert.equal(ids.size, 3)
    assert.ok(!ids.has('0af7651916cd43dd8448eb211c80319c'))
  })

  test('is in a line for every request, if that is asked for', async () => {
    const { http, lines } = serve([aRoute({ path: '/a/{id}' })], { logRequests: true })
    await http.inject({
      url: '/a/secret-id',
      headers: { traceparent, authorization: 'Bearer secret' },
    })
    const {
      message,
      method,
      route: path,
      status,
      trace_id: traceId,
    } = JSON.parse(lines[0] ?? '{}') as Record<string, unknown>
    assert.deepEqual(
      { message, method, path, status },
      { message: 'request', method: 'GET', path: '/a/{id}', status: 200 },
    )
    assert.equal(traceId, '0af7651916cd43dd8448eb211c80319c')
    assert.ok(!lines.join('').includes('secret'))
  })
})

describe('draining', () => {
  test('refuses what comes, but for routes that say otherwise, and finishes what is owed', async () => {
    const { promise, resolve } = Promise.withResolvers<ReturnType<typeof json>>()
    let isAsked = false
    const { http } = serve([
      aRoute({ path: '/work', handle: () => ((isAsked = true), promise) }),
      aRoute({ path: '/livez', whileDraining: true }),
    ])
    const owed = http.inject({ url: '/work' })
    await until(() => isAsked)
    http.beginDraining()
    const refused = await http.inject({ url: '/work' })
    assert.equal(codeOf(refused), '503 draining')
    assert.equal(refused.headers['retry-after'], '1')
    assert.equal(refused.headers['connection'], 'close')
    assert.equal((await http.inject({ url: '/livez' })).status, 200)
    assert.equal(codeOf(await http.inject({ url: '/nothing' })), '503 draining')
    resolve(json(200, 'done'))
    const answer = await owed
    assert.deepEqual([answer.status, answer.headers['connection']], [200, 'close'])
  })

  test('an address that cannot be had is an accident with a remedy', async () => {
    const { http } = serve([])
    await assert.rejects(http.listen({ host: '192.0.2.1', port: 1 }), (error) => {
      assert.ok(error instanceof Accident)
      assert.equal(error.code, 'address-unavailable')
      assert.match(error.message, /192\.0\.2\.1:1/)
      return true
    })
  })
})
