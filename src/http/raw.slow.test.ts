/** A wire of its own beside the routes, over real connections. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { describe, test } from 'node:test'

import { silentLog, systemClock } from '../std/index.ts'
import { loopbackAuthenticator } from './auth.ts'
import type { Http } from './http.ts'
import type { RawReply, RawRequest, RawService } from './raw.ts'
import { json, route } from './route.ts'
import { createHttp } from './server.ts'

const BODY_BYTES_MAX = 100

type Answered = Readonly<{ status: number; headers: IncomingMessage['headers']; text: string }>

interface Scene extends AsyncDisposable {
  readonly http: Http
  ask(path: string, body?: string | Buffer, headers?: Record<string, string>): Promise<Answered>
  readonly agent: Agent
  readonly port: number
}

function reply(status: number, text: string): RawReply {
  return { status, head: ['content-type', 'text/odd'], text, label: 'odd' }
}

/** Takes everything that says it is odd. */
function oddService(answer: RawService['answer']): RawService {
  return {
    labels: ['odd'],
    bodyBytesMax: BODY_BYTES_MAX,
    answerMsMax: 30_000,
    accepts: ({ headers }) => headers['x-odd'] !== undefined,
    answer,
    refuse: (_, { code }, status) => reply(status, `odd ${code}`),
  }
}

async function scene(answer: RawService['answer']): Promise<Scene> {
  const plain = route({
    method: 'POST',
    path: '/plain',
    summary: '',
    tag: '',
    access: 'open',
    answers: {},
    handle: () => json(200, 'plain'),
  })
  const http = createHttp({
    routes: [plain],
    authenticator: loopbackAuthenticator(),
    log: silentLog,
    clock: systemClock,
    info: { title: 'odd', version: '0' },
    raw: oddService(answer),
  })
  const { port } = await http.listen({ host: '127.0.0.1', port: 0 })
  const agent = new Agent({ keepAlive: true })
  return {
    http,
    agent,
    port,
    async ask(path, body = '', headers = { 'x-odd': '1' }) {
      const sent = httpRequest({ host: '127.0.0.1', port, path, method: 'POST', agent, headers })
      sent.end(body)
      const response = await responseTo(sent)
      response.setEncoding('utf8')
      let text = ''
      for await (const chunk of response) text += String(chunk)
      return { status: response.statusCode ?? 0, headers: response.headers, text }
    },
    async [Symbol.asyncDispose]() {
      agent.destroy()
      await http.close(0)
    },
  }
}

async function responseTo(sent: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response
}

function requestsCounted(http: Http): number {
  const metric = http.metrics().find(({ name }) => name.endsWith('_requests_total'))!
  const samples = metric.type === 'histogram' ? [] : metric.samples
  return samples
    .filter(({ labels }) => labels?.['route'] === 'odd')
    .reduce((sum, { value }) => sum + value, 0)
}

describe('a wire beside the routes', () => {
  test('is asked for what it accepts, and the routes for the rest', async () => {
    await using on = await scene(({ url, body }) => reply(200, `${url} ${body.toString()}`))
    assert.equal((await on.ask('/x?y', 'body')).text, '/x?y body')
    assert.equal(
      (await on.ask('/plain', '{}', { 'content-type': 'application/json' })).text,
      '"plain"',
    )
    assert.equal((await on.ask('/x', '', {})).status, 404)
    assert.equal(requestsCounted(on.http), 1)
  })

  test('keeps connections for longer than load balancers do', async () => {
    await using on = await scene(async () => reply(200, 'ü'))
    const { headers, text } = await on.ask('/')
    assert.equal(headers['keep-alive'], 'timeout=65')
    assert.equal(headers['content-length'], '2')
    assert.equal(text, 'ü')
  })

  test('reads a body up to its limit, in however many pieces', async () => {
    await using on = await scene(({ body }) => reply(200, String(body.length)))
    const most = 'x'.repeat(BODY_BYTES_MAX)
    assert.equal((await on.ask('/', most)).text, String(BODY_BYTES_MAX))
    const chunked = { 'x-odd': '1', 'transfer-encoding': 'chunked' }
    assert.equal((await on.ask('/', most, chunked)).text, String(BODY_BYTES_MAX))
    for (const headers of [{ 'x-odd': '1' }, chunked]) {
      const { status, text } = await on.ask('/', `${most}x`, headers)
      assert.equal(status, 413)
      assert.equal(text, 'odd body-too-large')
    }
    const sent = httpRequest({
      host: '127.0.0.1',
      port: on.port,
      path: '/',
      method: 'POST',
      agent: on.agent,
      headers: chunked,
    })
    for (let piece = 0; piece < 10; piece++) sent.write('x'.repeat(10))
    sent.end()
    const response = await responseTo(sent)
    assert.equal(response.statusCode, 200)
    response.resume()
  })

  test('that fails is answered for', async () => {
    for (const answer of [
      () => {
        throw new Error('at once')
      },
      async () => {
        throw new Error('later')
      },
    ]) {
      await using on = await scene(answer)
      const { status, text } = await on.ask('/')
      assert.equal(status, 500)
      assert.equal(text, 'odd internal')
    }
  })

  test('learns that a caller has left', async () => {
    const asked = Promise.withResolvers<RawRequest>()
    await using on = await scene(async (request) => {
      asked.resolve(request)
      await once(request.signal, 'abort')
      return reply(200, 'too late')
    })
    const sent = httpRequest({
      host: '127.0.0.1',
      port: on.port,
      method: 'POST',
      headers: { 'x-odd': '1' },
    })
    sent.on('error', () => {})
    sent.end()
    const { signal } = await asked.promise
    sent.destroy()
    if (!signal.aborted) await once(signal, 'abort')
    assert.ok(signal.aborted)
  })

  test('lets go of who waits when the server drains, and takes nobody any more', async () => {
    const asked = Promise.withResolvers<void>()
    await using on = await scene(async ({ signal }) => {
      const left = once(signal, 'abort')
      asked.resolve()
      await left
      return reply(200, 'nothing')
    })
    const waiting = on.ask('/')
    await asked.promise
    on.http.beginDraining()
    const { status, text, headers } = await waiting
    assert.deepEqual([status, text, headers.connection], [200, 'nothing', 'close'])
    const late = await on.ask('/')
    assert.deepEqual([late.status, late.text], [503, 'odd draining'])
  })
})
