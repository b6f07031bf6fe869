/** Bodies that are handed on in pieces, answers of bytes, and words for paths that nobody has. */
import assert from 'node:assert/strict'
import { request as send } from 'node:http'
import { describe, test, type TestContext } from 'node:test'

import { aRoute, codeOf, serve, until } from '../../test/http/serving.ts'
import { loopbackAuthenticator } from './auth.ts'
import type { InjectedAnswer } from './http.ts'
import { json, type Reply, type Route } from './route.ts'
import { createHttp } from './server.ts'
import { lineLog, silentLog, systemClock } from '../std/index.ts'

const ZIP = { 'content-type': 'application/zip' }

async function bytesOf(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

const taking = (bodyBytesMax: number): Route =>
  aRoute({
    method: 'PUT',
    path: '/archive',
    upload: ['application/zip'],
    bodyBytesMax,
    handle: async ({ pieces }) => json(200, (await bytesOf(pieces)).toString('hex')),
  })

describe('an upload', () => {
  test('is handed on as it came, byte for byte, and is no JSON', async () => {
    const { http } = serve([taking(1_000)])
    const body = Buffer.from(Array.from({ length: 256 }, (_, n) => n))
    const answer = await http.inject({ method: 'PUT', url: '/archive', headers: ZIP, body })
    assert.deepEqual([answer.status, answer.json()], [200, body.toString('hex')])
  })

  test('may be as large as its route says, whatever other bodies may be, and not a byte more', async () => {
    const { http } = serve([taking(100)], { limits: { bodyBytes: 10 } })
    const put = (bytes: number): Promise<InjectedAnswer> =>
      http.inject({ method: 'PUT', url: '/archive', headers: ZIP, body: Buffer.alloc(bytes) })
    assert.equal((await put(100)).status, 200)
    assert.equal(codeOf(await put(101)), '413 body-too-large')
  })

  test('of another type, of none, or packed again is refused', async () => {
    const { http } = serve([taking(100)])
    for (const headers of [
      {},
      { 'content-type': 'application/json' },
      { 'content-type': 'application/zip; q=1' },
      { ...ZIP, 'content-encoding': 'gzip' },
    ]) {
      const answer = await http.inject({
        method: 'PUT',
        url: '/archive',
        headers,
        body: Buffer.from('x'),
      })
      assert.equal(codeOf(answer), '415 unsupported-media-type', JSON.stringify(headers))
    }
  })

  test('that its route does not want to the end is answered all the same', async () => {
    const refusing = aRoute({
      method: 'PUT',
      path: '/archive',
      upload: ['application/zip'],
      async handle({ pieces }) {
        for await (const piece of pieces) return json(409, piece.length > 0)
        return json(200, false)
      },
    })
    const { http } = serve([refusing])
    const body = Buffer.alloc(1_000_000)
    const answer = await http.inject({ method: 'PUT', url: '/archive', headers: ZIP, body })
    assert.deepEqual([answer.status, answer.json()], [409, true])
  })
})

describe('an upload on a socket', { timeout: 30_000 }, () => {
  type Sent = Readonly<{ answer: Promise<string>; write(bytes: number): void; end(): void }>

  async function listening(t: TestContext, routes: readonly Route[], lines: string[] = []) {
    const http = createHttp({
      routes,
      authenticator: loopbackAuthenticator(),
      log: lineLog((line) => lines.push(line), { clock: systemClock }),
      clock: systemClock,
      info: { title: 'Test', version: '1' },
    })
    t.after(() => http.close(0))
    const { port } = await http.listen({ host: '127.0.0.1', port: 0 })
    const put = (): Sent & Readonly<{ leave(): void }> => {
      const headers = { ...ZIP, 'transfer-encoding': 'chunked' }
      const asked = send({ port, host: '127.0.0.1', method: 'PUT', path: '/archive', headers })
      const answer = new Promise<string>((resolve, reject) => {
        asked.on('error', reject)
        asked.on('response', (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
          response.on('end', () => resolve(`${response.statusCode} ${text}`))
        })
      })
      return {
        answer,
        write: (bytes) => void asked.write(Buffer.alloc(bytes)),
        end: () => void asked.end(),
        leave: () => void asked.destroy(),
      }
    }
    return { http, put }
  }

  test('of unknown length is read up to the limit, and refused when it passes it', async (t) => {
    const { put } = await listening(t, [taking(1_000)])
    const fits = put()
    fits.write(400)
    fits.write(600)
    fits.end()
    assert.match(await fits.answer, /^200 /)
    const passes = put()
    passes.write(1_000)
    passes.write(1)
    passes.end()
    assert.match(await passes.answer, /^413 .*"body-too-large"/)
  })

  test('whose sender leaves ends in its route, and is no failure of the server', async (t) => {
    const lines: string[] = []
    let begun = false
    let ended: unknown
    let isAborted: (() => boolean) | undefined
    const slow = aRoute({
      method: 'PUT',
      path: '/archive',
      upload: ['application/zip'],
      async handle({ pieces, signal }) {
        isAborted = () => signal.aborted
        try {
          for await (const piece of pieces) begun ||= piece.length > 0
        } catch (error) {
          ended = error
          throw error
        }
        return json(200, 'all of it')
      },
    })
    const { put, http } = await listening(t, [slow], lines)
    const sent = put()
    sent.write(10)
    await until(() => begun)
    sent.leave()
    await assert.rejects(sent.answer)
    await until(() => ended !== undefined && isAborted?.() === true)
    const inFlight = (): number | undefined => {
      const metric = http.metrics().find(({ name }) => name.endsWith('requests_in_flight'))
      return metric?.type === 'gauge' ? metric.samples[0]?.value : undefined
    }
    await until(() => inFlight() === 0)
    assert.deepEqual(lines, [])
  })
})

async function* file(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('<p>')
  yield Buffer.from([0xc3, 0xa9])
  yield Buffer.from('</p>')
}

describe('an answer of bytes', () => {
  test('is written as it is, piece by piece, with the type that it was given', async () => {
    const page = aRoute({
      path: '/page',
      handle: (): Reply => ({
        status: 200,
        headers: { 'content-type': 'text/html', 'content-security-policy': 'sandbox' },
        stream: file(),
      }),
    })
    const { http } = serve([page], { log: silentLog })
    const { status, headers, text } = await http.inject({ url: '/page' })
    assert.deepEqual([status, text], [200, '<p>é</p>'])
    assert.equal(headers['content-type'], 'text/html')
    assert.equal(headers['content-security-policy'], 'sandbox')
    const head = await http.inject({ method: 'HEAD', url: '/page' })
    assert.deepEqual([head.status, head.text], [200, ''])
  })
})

const spoken = (code: string, status: number): Reply => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: { said: code },
})

describe('words for paths that nobody has', () => {
  const speaking = aRoute({
    path: '/api/health',
    speaksBelow: '/api/',
    refuse: ({ code }, status) => spoken(code, status),
  })

  test('are those of the route that speaks below, and of nobody else', async () => {
    const { http } = serve([speaking, aRoute({ path: '/other' })])
    const said = async (method: string, url: string): Promise<unknown[]> => {
      const { status, headers, text } = await http.inject({ method, url })
      return [status, headers['content-type'], text.includes('"said"')]
    }
    assert.deepEqual(await said('GET', '/api/nothing'), [404, 'application/json', true])
    assert.deepEqual(await said('POST', '/api/health'), [405, 'application/json', true])
    assert.deepEqual(await said('GET', '/api/%zz'), [400, 'application/json', true])
    assert.deepEqual(await said('GET', '/apish'), [404, 'application/problem+json', false])
    assert.deepEqual(await said('POST', '/other'), [405, 'application/problem+json', false])
  })

  test('come with the methods that the path does take', async () => {
    const { http } = serve([speaking])
    const { headers } = await http.inject({ method: 'PUT', url: '/api/health' })
    assert.equal(headers['allow'], 'GET, HEAD, OPTIONS')
  })
})
