/**
 * The server on real sockets: callers that are slow, large, rude or many. Limits are small, so that
 * time is short; nobody sleeps, every wait is for something that the server does.
 */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { describe, test, type TestContext } from 'node:test'

import { silentLog, systemClock } from '../std/index.ts'
import { aRoute, principals, serve, until } from '../../test/http/serving.ts'
import { loopbackAuthenticator } from './auth.ts'
import type { Http, HttpOptions } from './http.ts'
import { CONNECTIONS_SURPLUS_MAX, type HttpLimits } from './limits.ts'
import { json, type Reply, type Route } from './route.ts'
import { createHttp } from './server.ts'
import { shape, text } from './shape.ts'

type Served = Readonly<{ http: Http; port: number }>

async function listening(
  t: TestContext,
  routes: readonly Route[],
  limits: Partial<HttpLimits> = {},
  options: Partial<HttpOptions> = {},
): Promise<Served> {
  const http = createHttp({
    routes,
    authenticator: loopbackAuthenticator(),
    log: silentLog,
    clock: systemClock,
    info: { title: 'Test', version: '1' },
    limits,
    ...options,
  })
  t.after(() => http.close(0))
  const { port } = await http.listen({ host: '127.0.0.1', port: 0 })
  return { http, port }
}

/** A connection that is written to by hand, and everything that came back on it. */
class Wire {
  readonly socket: Socket
  received = ''
  isClosed = false

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1' })
    this.socket.setEncoding('utf8')
    this.socket.on('data', (chunk: string) => (this.received += chunk))
    this.socket.on('error', () => {}) // a reset is an answer as well
    this.socket.on('close', () => (this.isClosed = true))
  }

  send(data: string): this {
    this.socket.write(data)
    return this
  }

  async answered(pattern: RegExp): Promise<string> {
    await until(() => pattern.test(this.received) || this.isClosed)
    assert.match(this.received, pattern)
    return this.received
  }

  async closed(): Promise<string> {
    await until(() => this.isClosed)
    return this.received
  }
}

const HOST = 'host: localhost\r\n'
const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\n${HOST}${headers}\r\n`
const post = (path: string, body: string, headers = ''): string =>
  `POST ${path} HTTP/1.1\r\n${HOST}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`

const escaped = (said: string): string => said.replaceAll(/[\\.]/g, String.raw`\$&`)
const bodyOf = (bytes: number): string => JSON.stringify({ a: 'x'.repeat(bytes - 8) })
const many = (count: number): string =>
  Array.from({ length: count }, (_, n) => `x-${n}: 1\r\n`).join('')

const hello = aRoute({ path: '/hello', handle: () => json(200, 'hello') })
const ids = aRoute({ path: '/ids/{id}', handle: ({ params }) => json(200, params.id) })
const taking = aRoute({
  method: 'POST',
  path: '/take',
  body: shape({ a: text({ max: 1_000_000 }) }),
  handle: ({ body }) => json(200, body.a.length),
})

async function isServing({ port }: Served): Promise<void> {
  const wire = new Wire(port).send(get('/hello', 'connection: close\r\n'))
  assert.match(await wire.closed(), /^HTTP\/1\.1 200 [\s\S]*"hello"$/)
}

function figure({ http }: Served, name: string, label?: string): number {
  const metric = http.metrics().find((one) => one.name === `flytower_http_${name}`)
  assert.ok(metric !== undefined && metric.type !== 'histogram')
  const sample = metric.samples.find(
    ({ labels }) => label === undefined || labels?.['code'] === label,
  )
  return sample?.value ?? 0
}

describe('a caller that is slow', { timeout: 60_000 }, () => {
  test('with its headers, or says nothing at all, is told and closed while others are served', async (t) => {
    const served = await listening(t, [hello], { headerMs: 300, requestMs: 10_000 })
    const silent = new Wire(served.port)
    const half = new Wire(served.port).send('GET /hello HTTP/1.1\r\nhost: local')
    await isServing(served)
    for (const wire of [half, silent]) {
      const answer = await wire.closed()
      assert.match(answer, /^HTTP\/1\.1 408 /)
      assert.match(answer, /"code":"request-overdue"/)
    }
    assert.ok(figure(served, 'refusals_total', 'request-overdue') >= 2)
  })

  test('with its body is told and closed', async (t) => {
    const served = await listening(t, [hello, taking], { headerMs: 300, requestMs: 600 })
    const wire = new Wire(served.port).send(post('/take', '{"a":"x"}').slice(0, -3))
    await isServing(served)
    assert.match(await wire.closed(), /^HTTP\/1\.1 408 [\s\S]*request-overdue/)
  })

  test('in taking a stream holds up its own and nobody else’s', async (t) => {
    let made = 0
    async function* endless(): AsyncGenerator<string> {
      for (;;) {
        made++
        yield 'x'.repeat(65_536)
      }
    }
    const live = aRoute({
      path: '/live',
      handle: (): Reply => ({ status: 200, stream: endless() }),
    })
    const served = await listening(t, [hello, live])
    const wire = new Wire(served.port)
    wire.socket.pause()
    wire.send(get('/live'))
    let before = -1
    await until(() => made > 0)
    while (made !== before) {
      before = made
      for (let n = 0; n < 20; n++) await isServing(served)
    }
    assert.ok(made < 1_000, `${made} pieces are waiting for one caller`)
    wire.socket.resume()
    await until(() => made > before)
    wire.socket.destroy()
    await until(() => figure(served, 'requests_in_flight') === 0)
  })

  test('in taking nothing of an ordinary answer costs its own connection only', async (t) => {
    const large = aRoute({ path: '/large', handle: () => json(200, 'x'.repeat(8_000_000)) })
    const served = await listening(t, [hello, large])
    const wires = Array.from({ length: 5 }, () => new Wire(served.port))
    for (const wire of wires) {
      wire.socket.pause()
      wire.send(get('/large'))
    }
    for (let n = 0; n < 10; n++) await isServing(served)
    await served.http.close(0)
    for (const { socket } of wires) socket.resume()
    await Promise.all(wires.map((wire) => wire.closed()))
  })

  test('and leaves while its answer is made is noticed', async (t) => {
    let signal: AbortSignal | undefined
    const { promise, resolve } = Promise.withResolvers<Reply>()
    const slow = aRoute({
      path: '/slow',
      handle(call) {
        signal = call.signal
        return promise
      },
    })
    const served = await listening(t, [hello, slow], { requestMs: 600_000 })
    const wire = new Wire(served.port).send(get('/slow'))
    await until(() => signal !== undefined)
    wire.socket.destroy()
    await until(() => signal?.aborted === true)
    await until(() => figure(served, 'requests_in_flight') === 0)
    resolve(json(200, 'too late'))
    await isServing(served)
  })
})

describe('what is too large', { timeout: 60_000 }, () => {
  test('in its body is refused at the limit, and the connection goes on', async (t) => {
    const served = await listening(t, [hello, taking], { bodyBytes: 100_000 })
    const wire = new Wire(served.port).send(post('/take', bodyOf(100_000)))
    await wire.answered(/200 OK[\s\S]*99992/)
    wire.send(post('/take', bodyOf(100_001)))
    await wire.answered(/413 [\s\S]*"body-too-large"/)
    wire.send(get('/hello'))
    await wire.answered(/"hello"/)
  })

  test('in a body of unknown length is refused when it passes the limit', async (t) => {
    const served = await listening(t, [hello, taking], { bodyBytes: 1_000 })
    const head = `POST /take HTTP/1.1\r\n${HOST}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
    const wire = new Wire(served.port).send(head)
    for (let n = 0; n < 3; n++) wire.send(`1f4\r\n${'x'.repeat(500)}\r\n`)
    await wire.answered(/413 [\s\S]*"body-too-large"/)
    await isServing(served)
  })

  test('in its headers is refused: one past the size, one past the number', async (t) => {
    const served = await listening(t, [hello], { headerBytes: 4_096, headers: 10 })
    const large = new Wire(served.port).send(get('/hello', `x: ${'y'.repeat(4_096)}\r\n`))
    assert.match(await large.closed(), /^HTTP\/1\.1 431 [\s\S]*"header-too-large"/)
    const fits = new Wire(served.port).send(get('/hello', `x: ${'y'.repeat(3_800)}\r\n`))
    await fits.answered(/"hello"/)
    await new Wire(served.port).send(get('/hello', many(9))).answered(/"hello"/)
    await new Wire(served.port)
      .send(get('/hello', many(10)))
      .answered(/431 [\s\S]*"header-too-large"/)
    await new Wire(served.port)
      .send(get('/hello', many(200)))
      .answered(/431 [\s\S]*"header-too-large"/)
  })
})

describe('what is no proper request', { timeout: 60_000 }, () => {
  test('is answered and closed: noise, two lengths, a length and chunks, no host', async (t) => {
    const served = await listening(t, [hello, taking])
    for (const noise of [
      'nonsense\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      `GET /hello HTTP/9.9\r\n${HOST}\r\n`,
      `POST /take HTTP/1.1\r\n${HOST}content-length: 3\r\ncontent-length: 4\r\n\r\nabcd`,
      `POST /take HTTP/1.1\r\n${HOST}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      `GET /hello HTTP/1.1\r\n${HOST}bad header: x\r\n\r\n`,
      'GET /hello HTTP/1.1\r\n\r\n',
    ])
      assert.match(await new Wire(served.port).send(noise).closed(), /^HTTP\/1\.1 400 /, noise)
    assert.ok(figure(served, 'refusals_total', 'bad-input') >= 5)
    await isServing(served)
  })

  test('with two content types or two authorizations is refused', async (t) => {
    const secured = aRoute({ path: '/secured', access: { permission: 'a:read' } })
    const authenticator = principals({ one: { permissions: new Set(['*']) } })
    const served = await listening(t, [hello, taking, secured], {}, { authenticator })
    await new Wire(served.port)
      .send(post('/take', '{"a":""}', 'Content-Type: text/plain\r\n'))
      .answered(/415 [\s\S]*"unsupported-media-type"/)
    await new Wire(served.port).send(get('/secured', 'authorization: one\r\n')).answered(/200 OK/)
    await new Wire(served.port)
      .send(get('/secured', 'authorization: one\r\nAuthorization: two\r\n'))
      .answered(/400 [\s\S]*"bad-input"/)
  })

  test('with a path that climbs stays within its part (OWASP: path traversal)', async (t) => {
    const served = await listening(t, [hello, ids])
    for (const [path, id] of [
      ['/ids/..', '..'],
      ['/ids/.', '.'],
      ['/ids/%2e%2e%2f%2e%2e%2fhello', '../../hello'],
      ['/ids/..%5c..%5chello', '..\\..\\hello'],
      ['/ids/%252e%252e%252f', '%2e%2e%2f'],
    ] as const)
      await new Wire(served.port)
        .send(get(path, 'connection: close\r\n'))
        .answered(new RegExp(`200 OK[\\s\\S]*${escaped(JSON.stringify(id))}$`))
    for (const path of ['/ids/../hello', '/ids/../../hello', '/../hello', '//hello', '/./hello'])
      await new Wire(served.port).send(get(path)).answered(/404 [\s\S]*"no-such-route"/)
  })
})

describe('too many connections', { timeout: 60_000 }, () => {
  test('are told so one past the limit, and beyond that closed and counted', async (t) => {
    const served = await listening(t, [hello], { connections: 3 })
    const wires: Wire[] = []
    for (let n = 0; n < 3; n++) {
      wires.push(new Wire(served.port).send(get('/hello')))
      await wires[n]!.answered(/"hello"/)
    }
    const surplus = new Wire(served.port).send(get('/hello'))
    assert.match(
      await surplus.closed(),
      /^HTTP\/1\.1 503 [\s\S]*retry-after: 1[\s\S]*"too-many-connections"/,
    )
    wires[0]!.send(get('/hello'))
    await wires[0]!.answered(/"hello"[\s\S]*"hello"/)

    const silent = Array.from({ length: CONNECTIONS_SURPLUS_MAX }, () => new Wire(served.port))
    await until(() => figure(served, 'connections') === 3 + CONNECTIONS_SURPLUS_MAX)
    const dropped = new Wire(served.port).send(get('/hello'))
    assert.equal(await dropped.closed(), '')
    assert.equal(figure(served, 'connections_dropped_total'), 1)

    for (const { socket } of [...silent, ...wires]) socket.destroy()
    await until(() => figure(served, 'connections') === 0)
    await isServing(served)
  })
})

describe('going down', { timeout: 60_000 }, () => {
  test('closes kept connections after their answer, and waits for what is owed', async (t) => {
    const { promise, resolve } = Promise.withResolvers<Reply>()
    let isAsked = false
    const slow = aRoute({ path: '/slow', handle: () => ((isAsked = true), promise) })
    const served = await listening(t, [hello, slow])
    const kept = new Wire(served.port).send(get('/hello'))
    await kept.answered(/"hello"/)
    const silent = new Wire(served.port)
    const owed = new Wire(served.port).send(get('/slow'))
    await until(() => isAsked)
    served.http.beginDraining()
    kept.send(get('/hello'))
    assert.match(await kept.closed(), /503 [\s\S]*connection: close[\s\S]*"draining"/)
    let isDown = false
    const closing = served.http.close(30_000).then(() => (isDown = true))
    await silent.closed()
    assert.equal(isDown, false)
    resolve(json(200, 'owed'))
    assert.match(await owed.closed(), /200 OK[\s\S]*connection: close[\s\S]*"owed"/)
    await closing
    const late = new Wire(served.port)
    assert.equal(await late.closed(), '')
  })

  test('closes kept connections that are idle at once', async (t) => {
    const served = await listening(t, [hello])
    const kept = new Wire(served.port).send(get('/hello'))
    await kept.answered(/"hello"/)
    await served.http.close(30_000)
    await kept.closed()
  })

  test('ends what is not answered in time', async (t) => {
    let isAsked = false
    const never = aRoute({
      path: '/never',
      handle() {
        isAsked = true
        return Promise.withResolvers<Reply>().promise
      },
    })
    const served = await listening(t, [never])
    const wire = new Wire(served.port).send(get('/never'))
    await until(() => isAsked)
    await served.http.close(50)
    assert.equal(await wire.closed(), '')
  })

  test('ends streams as if they were complete', async (t) => {
    const stream = {
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.withResolvers<IteratorResult<string>>().promise,
      }),
    }
    const live = aRoute({ path: '/live', handle: (): Reply => ({ status: 200, stream }) })
    const served = await listening(t, [live])
    const wire = new Wire(served.port).send(get('/live'))
    await wire.answered(/transfer-encoding: chunked/i)
    await served.http.close(30_000)
    assert.match(await wire.closed(), /\r\n0\r\n\r\n$/)
  })

  test('an address that is taken is an accident', async (t) => {
    const served = await listening(t, [hello])
    const { http } = serve([hello])
    await assert.rejects(http.listen({ host: '127.0.0.1', port: served.port }), {
      code: 'address-unavailable',
    })
  })
})
