import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'

import { systemClock } from '../../std/index.ts'
import { HTTP_ANSWER_BYTES_MAX, httpHandlers } from './http-service.ts'
import type { HttpAnswer, HttpInput } from './services.ts'

const { signal } = new AbortController()

type Answering = (request: IncomingMessage, response: ServerResponse) => void

async function asking(
  answering: Answering,
  input: Omit<HttpInput, 'url'> & { path?: string },
  allow?: readonly string[],
  until: AbortSignal = signal,
): Promise<HttpAnswer> {
  const server = createServer(answering)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { path = '/', ...rest } = input
  try {
    const { http } = httpHandlers({
      allow: allow ?? [origin],
      clock: systemClock,
      signal: until,
    })
    return await http!({ ...rest, url: `${origin}${path}` })
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

function sending(bytes: number): Answering {
  return (_request, response) => response.end(Buffer.alloc(bytes, 'x'))
}

describe('calls by HTTP for steps', () => {
  test('bring back the answer as it is, whatever its status', async () => {
    let heard = ''
    const answer = await asking(
      (request, response) => {
        request.on('data', (chunk) => (heard += String(chunk)))
        request.on('end', () => {
          response.writeHead(418, { 'x-told': String(request.headers['x-asked']) }).end('tea')
        })
      },
      { method: 'POST', body: '{"a":1}', headers: { 'x-asked': 'yes' } },
    )
    assert.equal(heard, '{"a":1}')
    assert.equal(answer.status, 418)
    assert.equal(answer.headers['x-told'], 'yes')
    assert.equal(answer.body, 'tea')
    assert.ok(answer.millis >= 0)
  })

  test('do not follow a redirection, which could lead anywhere', async () => {
    const answer = await asking(
      (_request, response) => response.writeHead(302, { location: 'http://inside.test/' }).end(),
      { method: 'GET' },
    )
    assert.equal(answer.status, 302)
  })

  test('go only to origins that are allowed', async () => {
    assert.equal((await asking(sending(2), { method: 'GET' }, ['*'])).body, 'xx')
    for (const allow of [[], ['http://127.0.0.1'], ['https://127.0.0.1:443']])
      await assert.rejects(asking(sending(2), { method: 'GET' }, allow), { code: 'http-refused' })
    const { http } = httpHandlers({ allow: ['*'], clock: systemClock, signal })
    for (const url of ['', 'nonsense', 'file:///etc/passwd', 'data:,x'])
      await assert.rejects(http!({ method: 'GET', url }), { code: 'http-refused' })
  })

  test('take an answer at the limit and none over it', async () => {
    const whole = await asking(sending(HTTP_ANSWER_BYTES_MAX), { method: 'GET' })
    assert.equal(whole.body.length, HTTP_ANSWER_BYTES_MAX)
    await assert.rejects(asking(sending(HTTP_ANSWER_BYTES_MAX + 1), { method: 'GET' }), {
      code: 'http-refused',
    })
  })

  test('fail when nobody answers, when the answer is not whole in time, and when it breaks off', async () => {
    const { http } = httpHandlers({ allow: ['*'], clock: systemClock, signal })
    await assert.rejects(http!({ method: 'GET', url: 'http://127.0.0.1:1/' }), {
      code: 'http-failed',
    })
    await assert.rejects(
      asking((_request, response) => void response.write('half'), { method: 'GET', timeoutMs: 50 }),
      { code: 'http-failed' },
    )
    await assert.rejects(
      asking((request) => request.socket.destroy(), { method: 'GET' }),
      { code: 'http-failed' },
    )
  })

  test('end with the run that they are for', async () => {
    const run = new AbortController()
    const calling = asking(() => run.abort(), { method: 'GET' }, ['*'], run.signal)
    await assert.rejects(calling, { code: 'http-failed' })
  })
})
