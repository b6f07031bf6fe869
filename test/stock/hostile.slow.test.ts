/**
 * Clients that mean no good, over real HTTP: those that never finish, that send too much, that send
 * what is no JSON or JSON that would change every object, and that ask for files. Each is refused
 * with the documented answer, and meanwhile a client that behaves is served as if it were alone.
 *
 * A machine that others use too may make that one wait, and everybody. So what was seen while it had
 * to wait counts only if it has to wait each time.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'

import { systemClock } from '../../src/std/index.ts'
import { at } from '../acceptance/client.ts'
import { passing } from '../acceptance/until.ts'
import { post, raw, request, type RawAnswer } from './raw-http.ts'
import { serve, type Served } from './served.ts'
import { TRAVERSALS } from './traversals.ts'
import { DESTINATION, PLACE, PRODUCT, WRITES } from './writes.ts'

const BODY_BYTES = 64 * 1024
const REQUEST_MS = 2_000
const SLOW_CLIENTS = 50
/** Objects and lists within each other. */
const DEPTH_MAX = 64
/** How long one who behaves may have to wait, on a machine that others use too. */
const WAIT_MS_MAX = 2_000
const ROUNDS = 8

const [DELIVERY, SALE] = WRITES
const SALES = SALE!.path(PLACE, PRODUCT)

/** `slowestMs` is Infinity where one was not served at all. */
type Well = { served: number; slowestMs: number; stop(): Promise<void> }

let served: Served
let well: Well
let requests = 0

/** Tests of what is done beside a client that behaves. */
const beside = { test: testBeside }

before(async () => {
  served = await serve({
    'http.bodyMax': `${BODY_BYTES / 1024}KiB`,
    'http.requestTimeout': `${REQUEST_MS}ms`,
  })
  await served.place(PLACE)
  await served.place(DESTINATION)
})

after(async () => served[Symbol.asyncDispose]())

describe('clients that never finish', () => {
  beside.test(
    `${SLOW_CLIENTS} that send a body byte by byte are told that they took too long`,
    async () => {
      const body = JSON.stringify(SALE!.body('slow'))
      const head = request('POST', SALES, [
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
      ])
      const pieces = [head, ...body.split('')]
      const answers = await Promise.all(
        Array.from({ length: SLOW_CLIENTS }, () =>
          raw(served.server.url, { pieces, pauseMs: 100 }),
        ),
      )
      for (const answer of answers) {
        // It has not come as far as the stock, which would have a word for it.
        refused(answer, 408, 408, 'request-overdue')
        assert.ok(answer.tookMs >= REQUEST_MS && answer.tookMs < 10_000, `${answer.tookMs} ms`)
      }
    },
  )

  beside.test('one that sends a header byte by byte is told so, or is hung up on', async () => {
    const pieces = `GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: ${'y'.repeat(1_000)}`
    const answer = await raw(served.server.url, { pieces, pauseMs: 100 })
    assert.ok(answer.status === 408 || answer.status === 0, answer.head)
    assert.ok(answer.tookMs < 15_000, `${answer.tookMs} ms`)
  })
})

describe('too much', () => {
  beside.test('of a body is refused before it is read, at one byte past the limit', async () => {
    const fits = sized(BODY_BYTES)
    const large = sized(BODY_BYTES + 1)
    refused(await sent(post(SALES, fits)), 400, 'BadRequest')
    refused(await sent(post(SALES, large)), 413, 'PayloadTooLarge', 'body-too-large')
    const announced = request('POST', SALES, [
      'Content-Type: application/json',
      'Content-Length: 1000000000',
    ])
    refused(await sent(announced), 413, 'PayloadTooLarge', 'body-too-large')
  })

  beside.test('of a body that does not say how long it is, is refused as well', async () => {
    const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`
    const headers = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
    const pieces = [request('POST', SALES, headers), ...Array.from({ length: 64 }, () => chunk)]
    const answer = await raw(served.server.url, { pieces, pauseMs: 1 })
    refused(answer, 413, 'PayloadTooLarge', 'body-too-large')
  })

  beside.test('of headers is refused', async () => {
    const large = await sent(request('GET', '/health/live', [`X: ${'y'.repeat(20_000)}`]))
    assert.equal(large.status, 431, large.head)
    const many = Array.from({ length: 200 }, (_, n) => `X-${n}: y`)
    const answer = await sent(request('GET', '/health/live', many))
    assert.equal(answer.status, 431, answer.head)
  })

  beside.test('of a path is refused', async () => {
    for (const length of [3_000, 20_000]) {
      const path = `/locations/${'x'.repeat(length)}/products/beans`
      const answer = await sent(request('GET', path))
      assert.ok([400, 404, 414, 431].includes(answer.status), answer.head)
    }
  })
})

describe('a body that is no JSON', () => {
  const TEXTS: Readonly<Record<string, string | Buffer>> = {
    'a brace': '{',
    'half a body': '{"requestId":"x","quantity":',
    'a bare word': 'hello',
    'NaN in it': '{"requestId":"x","quantity":NaN,"soldAt":"2024-12-13T12:00:00Z"}',
    'Infinity in it': '{"requestId":"x","quantity":Infinity}',
    'a comma too many': '{"requestId":"x",}',
    'single quotes': "{'requestId':'x'}",
    'a comment': '{/* */}',
    'two values': '{}{}',
    'bytes that are no UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    'a byte order mark of UTF-16': Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]),
    'one level too many': nested(DEPTH_MAX + 1),
    'a hundred thousand levels': '['.repeat(50_000),
  }

  for (const [name, text] of Object.entries(TEXTS))
    beside.test(`but ${name} is refused`, async () => {
      refused(await sent(post(SALES, text)), 400, 'BadRequest', 'bad-json')
    })

  beside.test('because it is empty lacks every field', async () => {
    refused(await sent(post(SALES, '')), 400, 'BadRequest', 'bad-input')
  })

  beside.test(
    'at the deepest that is allowed is read, and found wrong for what it is',
    async () => {
      refused(await sent(post(SALES, nested(DEPTH_MAX))), 400, 'BadRequest', 'bad-input')
    },
  )

  beside.test('or does not say that it is JSON, is refused', async () => {
    const body = JSON.stringify(SALE!.body('typed'))
    for (const type of ['text/plain', 'application/xml', 'multipart/form-data; boundary=x']) {
      const headers = [`Content-Type: ${type}`, `Content-Length: ${body.length}`]
      const answer = await sent(request('POST', SALES, headers, body))
      refused(answer, 415, 'UnsupportedMediaType', 'unsupported-media-type')
    }
  })

  beside.test('or is two requests in one by its lengths, is refused', async () => {
    const smuggled = request(
      'POST',
      SALES,
      ['Content-Type: application/json', 'Content-Length: 5', 'Transfer-Encoding: chunked'],
      '0\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n',
    )
    const answer = await sent(smuggled)
    assert.equal(answer.status, 400, answer.head)
    assert.doesNotMatch(answer.text, /flytower_/)
  })
})

describe('a body that would change every object', () => {
  for (const write of WRITES)
    beside.test(
      `of a ${write.name} is refused wherever it hides, and changes nothing`,
      async () => {
        const path = write.path(PLACE, PRODUCT)
        const { requestId, ...rest } = write.body(id())
        const right = JSON.stringify({ requestId, ...rest })
        const inherited = JSON.stringify({ ...rest, requestId: 'polluted', isAdmin: true })
        const hidden = [
          right.replace('{', `{"__proto__":${inherited},`),
          right.replace('{', `{"constructor":{"prototype":${inherited}},`),
          right.replace('{', `{"more":{"deep":[{"__proto__":${inherited}}]},`),
          right.replace('{', `{"\\u005f_proto__":${inherited},`),
          `{"__proto__":${inherited}}`,
          `[{"__proto__":${inherited}}]`,
        ]
        const events = await served.events()
        await well.stop()
        for (const body of hidden) {
          const answer = await sent(post(path, body))
          refused(answer, 400, 'BadRequest', 'bad-json')
        }
        const empty = await served.ask('POST', path, {})
        assert.equal(empty.status, 400, 'an empty body has inherited its fields')
        assert.ok((at(empty.json, 'missingFields') as string[]).includes('requestId'))
        assert.ok((await served.events()) >= events)
        const fate = await served.ask('GET', '/requests/polluted')
        assert.equal(fate.status, 404)
      },
    )

  const placed = new Set<string>()
  beside.test('as a name in a path, a query or a header is a name like any other', async () => {
    for (const name of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']) {
      const level = await served.ask('GET', `/locations/${name}/products/${name}`)
      assert.equal(level.status, placed.has(name) ? 200 : 404, level.text)
      const query = await served.ask('GET', `/locations/${PLACE}?${name}=1&${name}[x]=2`)
      assert.ok(query.status === 200 || query.status === 400, query.text)
      await served.place(name)
      placed.add(name)
      const body = DELIVERY!.body(id(), { product: name })
      const answer = await served.ask('POST', DELIVERY!.path(name, name), body)
      assert.equal(answer.status, 201, answer.text)
      const there = await served.ask('GET', `/locations/${name}/products/${name}`, undefined, {
        'consistency-token': answer.headers.get('consistency-token')!,
      })
      assert.equal(at(there.json, 'quantity'), Number(at(level.json, 'quantity') ?? 0) + 1)
    }
  })
})

describe('a path that leads out', () => {
  beside.test(
    `in ${TRAVERSALS.length} spellings, in every place of a path, reaches no file`,
    async () => {
      assert.ok(TRAVERSALS.length >= 500)
      const kept = filesOf(served.server.directory)
      const secrets = [
        'root:',
        '"data.directory"',
        'PATH=',
        '"dependencies"',
        '#!/usr/bin/env node',
      ]
      const places = [
        (text: string) => `/${text}`,
        (text: string) => `/locations/${text}/products/beans`,
        (text: string) => `/locations/${PLACE}/products/${text}`,
        (text: string) => `/pots/${text}`,
        (text: string) => `/docs/${text}`,
      ]
      const asked = TRAVERSALS.map((text, n) => places[n % places.length]!(text))
      const refusals = new Map<number, number>()
      for (let n = 0; n < asked.length; n += 20)
        await Promise.all(
          asked.slice(n, n + 20).map(async (path) => {
            const answer = await sent(request('GET', path))
            refusals.set(answer.status, (refusals.get(answer.status) ?? 0) + 1)
            const isLevel = answer.status === 200 && /"totalQuantity":0/.test(answer.text)
            assert.ok(
              (answer.status >= 400 && answer.status < 500) || isLevel,
              `${path} ${answer.head}`,
            )
            for (const secret of secrets) assert.ok(!answer.text.includes(secret), path)
          }),
        )
      assert.ok((refusals.get(404) ?? 0) + (refusals.get(400) ?? 0) > 300)
      assert.deepEqual(filesOf(served.server.directory), kept)
    },
  )

  beside.test(
    'as the name of a place or of a product is kept, and never becomes a file',
    async () => {
      const kept = filesOf(served.server.directory)
      for (const name of [
        '../../etc/passwd',
        '..\\..\\data',
        '/etc/passwd',
        '.',
        '..',
        'C:\\x',
        '~root',
      ]) {
        await served.place(`x${name}`)
        const path = DELIVERY!.path(encodeURIComponent(`x${name}`), '')
        const answer = await served.ask('POST', path, DELIVERY!.body(id(), { product: name }))
        assert.equal(answer.status, 201, answer.text)
      }
      assert.deepEqual(filesOf(served.server.directory), kept)
      assert.match(readFileSync('/etc/passwd', 'utf8'), /^root:/)
    },
  )
})

test('after all of it nothing has failed inside', () => {
  const failed = served.server.log.filter(({ level }) => level === 'error')
  assert.deepEqual(failed, [])
})

function testBeside(name: string, attack: () => Promise<void>): void {
  test(name, async (t) => {
    for (let round = 1; ; round += 1) {
      well = behave()
      const outcome = await attack().then(
        () => undefined,
        (error: unknown) => ({ error }),
      )
      await well.stop()
      assert.ok(well.served > 0, 'the client that behaves was not served')
      if (well.slowestMs < WAIT_MS_MAX || round === ROUNDS) {
        if (outcome !== undefined) throw outcome.error
        assert.ok(well.slowestMs < WAIT_MS_MAX, `it had to wait for ${well.slowestMs} ms`)
        return
      }
      t.diagnostic(`again: the client that behaves had to wait for ${well.slowestMs} ms`)
    }
  })
}

/** A client that sends one sale after the other, each of which is to be recorded soon. */
function behave(): Well {
  const over = new AbortController()
  const self: Well = { served: 0, slowestMs: 0, stop: async () => undefined }
  const running = (async () => {
    while (!over.signal.aborted) {
      const begunMs = systemClock.monotonic()
      const answer = await served.ask('POST', SALES, SALE!.body(id()))
      const isServed = answer.status === 201
      if (isServed) self.served += 1
      else assert.match(String(at(answer.json, 'code')), /^(request|answer)-overdue$/, answer.text)
      const tookMs = isServed ? systemClock.monotonic() - begunMs : Infinity
      self.slowestMs = Math.max(self.slowestMs, tookMs)
      await passing(5)
    }
  })()
  running.catch(() => undefined) // whoever stops it is told
  self.stop = () => {
    over.abort()
    return running
  }
  return self
}

function sent(bytes: Buffer): Promise<RawAnswer> {
  return raw(served.server.url, { pieces: [bytes] })
}

function refused(answer: RawAnswer, status: number, word: string | number, code?: string): void {
  assert.equal(answer.status, status, `${answer.head}\n${answer.text}`)
  assert.match(answer.head, /^content-type: application\/problem\+json/im)
  const problem = JSON.parse(answer.text) as Readonly<Record<string, unknown>>
  assert.equal(problem['status'], word, answer.text)
  if (code !== undefined) assert.equal(problem['code'], code, answer.text)
}

/** JSON of exactly so many bytes. */
function sized(bytes: number): string {
  const around = '{"more":""}'.length
  return `{"more":"${'x'.repeat(bytes - around)}"}`
}

function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth)
}

/** What there is in a directory, but for what a journal makes and removes by itself. */
function filesOf(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => !path.startsWith(join('data', '')))
    .toSorted()
}

function id(): string {
  requests += 1
  return `hostile-${requests}`
}
