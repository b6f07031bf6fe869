import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { silentLog } from '../std/index.ts'
import { aRoute, codeOf, echo, JSON_TYPE, serve } from '../../test/http/serving.ts'
import type { InjectedAnswer } from './http.ts'
import { PARAM_CHARS_MAX } from './limits.ts'
import { json, type Route } from './route.ts'
import { listOf, optional, shape, text, whole } from './shape.ts'

const bodyOf = (bytes: number): string => JSON.stringify({ a: 'x'.repeat(bytes - 8) })
const taking = (path: string, bodyBytesMax?: number): Route =>
  aRoute({
    method: 'POST',
    path,
    body: shape({ a: text({ max: 1_000 }) }),
    ...(bodyBytesMax !== undefined && { bodyBytesMax }),
  })

const manyHeaders = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, '1']))

describe('a request', () => {
  test('is read into what the shapes say, and answered with what the route says', async () => {
    const { http } = serve([echo])
    const answer = await http.inject({
      method: 'POST',
      url: '/things/1/parts/2?deep=true&more=x',
      body: { name: 'bolt', size: 3, more: 1 },
    })
    assert.equal(answer.status, 201)
    assert.deepEqual(answer.json(), {
      params: { id: '1', part: '2' },
      query: { deep: true },
      body: { name: 'bolt', size: 3 },
    })
  })

  test('with bad input is refused with all of it named, query and body together', async () => {
    const { http } = serve([echo])
    const answer = await http.inject({
      method: 'POST',
      url: '/things/1/parts/2?deep=yes',
      body: { name: '', color: 1 },
    })
    assert.equal(codeOf(answer), '400 bad-input')
    const { missing, invalid } = answer.json() as Record<string, unknown>
    assert.deepEqual({ missing, invalid }, { missing: ['size'], invalid: ['deep', 'name'] })
  })

  test('with parameters that the shape refuses is bad input', async () => {
    const checked = aRoute({
      path: '/n/{n}',
      params: shape({ n: text({ max: 3, pattern: /^\d+$/ }) }),
      handle: ({ params }) => json(200, params.n),
    })
    const { http } = serve([checked])
    assert.equal((await http.inject({ url: '/n/12' })).json(), '12')
    assert.equal(codeOf(await http.inject({ url: '/n/abc' })), '400 bad-input')
  })

  test('without a body, or with an empty one, lacks every field', async () => {
    const { http } = serve([echo])
    for (const sent of [{}, { headers: JSON_TYPE, body: '' }, { headers: JSON_TYPE }]) {
      const answer = await http.inject({ method: 'POST', url: '/things/1/parts/2', ...sent })
      assert.equal(codeOf(answer), '400 bad-input')
      assert.deepEqual((answer.json() as Record<string, unknown>)['missing'], ['name', 'size'])
    }
  })

  test('without a body lacks it also where every field may be left out', async () => {
    const { http } = serve([
      aRoute({ method: 'PUT', path: '/a', body: shape({ a: optional(text({ max: 9 })) }) }),
    ])
    const put = (body?: string) =>
      http.inject({
        method: 'PUT',
        url: '/a',
        headers: JSON_TYPE,
        ...(body !== undefined && { body }),
      })
    for (const body of [undefined, '', 'null']) {
      const answer = await put(body)
      assert.equal(codeOf(answer), '400 bad-input')
      assert.deepEqual((answer.json() as Record<string, unknown>)['missing'], ['body'])
    }
    assert.equal((await put('{}')).status, 200)
  })

  test('with a body that is no JSON is refused', async () => {
    const { http } = serve([echo])
    for (const body of [
      '{"name":',
      'name=bolt',
      '{"__proto__":{}}',
      '['.repeat(65) + ']'.repeat(65),
    ])
      assert.equal(
        codeOf(
          await http.inject({ method: 'POST', url: '/things/1/parts/2', headers: JSON_TYPE, body }),
        ),
        '400 bad-json',
      )
  })

  test('with a body of another kind is refused: type, charset, compression, two types', async () => {
    const { http } = serve([echo])
    const good = { name: 'bolt', size: 3 }
    const send = (headers: Record<string, string | string[]>): Promise<InjectedAnswer> =>
      http.inject({ method: 'POST', url: '/things/1/parts/2', headers, body: JSON.stringify(good) })
    for (const type of [
      'application/json',
      'Application/JSON;charset=UTF-8',
      'application/json; charset="utf-8"',
    ])
      assert.equal((await send({ 'content-type': type })).status, 201, type)
    for (const type of [
      'text/plain',
      'application/xml',
      'application/jsonx',
      'application/json; charset=utf-16',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application',
      ';',
      'application/json, text/plain',
    ])
      assert.equal(codeOf(await send({ 'content-type': type })), '415 unsupported-media-type', type)
    assert.equal(codeOf(await send({})), '415 unsupported-media-type', 'none at all')
    assert.equal(
      codeOf(await send({ ...JSON_TYPE, 'content-encoding': 'gzip' })),
      '415 unsupported-media-type',
    )
    assert.equal((await send({ ...JSON_TYPE, 'content-encoding': 'identity' })).status, 201)
  })

  test('may have a body up to the limit and not a byte more', async () => {
    const { http } = serve([taking('/server'), taking('/route', 50)], {
      limits: { bodyBytes: 100 },
    })
    const send = (url: string, bytes: number): Promise<InjectedAnswer> =>
      http.inject({ method: 'POST', url, headers: JSON_TYPE, body: bodyOf(bytes) })
    assert.equal((await send('/server', 100)).status, 200)
    assert.equal(codeOf(await send('/server', 101)), '413 body-too-large')
    assert.equal((await send('/route', 50)).status, 200)
    assert.equal(codeOf(await send('/route', 51)), '413 body-too-large')
  })

  test('may have so many headers and no more', async () => {
    const { http } = serve([aRoute({ path: '/a' })], { limits: { headers: 20 } })
    // The injected request brings two of its own: host and connection.
    assert.equal((await http.inject({ url: '/a', headers: manyHeaders(18) })).status, 200)
    assert.equal(
      codeOf(await http.inject({ url: '/a', headers: manyHeaders(19) })),
      '431 header-too-large',
    )
  })

  test('for a path that nobody has is told so, whatever its method and body', async () => {
    const { http } = serve([echo])
    for (const method of ['GET', 'POST', 'DELETE', 'PROPFIND', 'OPTIONS'])
      assert.equal(
        codeOf(
          await http.inject({ method, url: '/nothing', ...(method === 'POST' && { body: 'x' }) }),
        ),
        '404 no-such-route',
      )
    assert.equal(codeOf(await http.inject({ url: '/things/1/parts/2/' })), '404 no-such-route')
  })

  test('with a method that the path does not take is told which it does', async () => {
    const { http } = serve([
      echo,
      aRoute({ path: '/things/{id}/parts/{part}' }),
      aRoute({ method: 'DELETE', path: '/x:y' }),
    ])
    for (const method of ['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND']) {
      const answer = await http.inject({ method, url: '/things/1/parts/%2F?q=1' })
      assert.equal(codeOf(answer), '405 method-not-allowed')
      assert.equal(answer.headers['allow'], 'POST, GET, HEAD, OPTIONS')
    }
    const options = await http.inject({ method: 'OPTIONS', url: '/x:y' })
    assert.equal(options.status, 204)
    assert.equal(options.headers['allow'], 'DELETE, OPTIONS')
    assert.equal(options.headers['access-control-allow-origin'], undefined)
  })

  test('for the head of something gets the head alone', async () => {
    const { http } = serve([aRoute({ path: '/a' })])
    const answer = await http.inject({ method: 'HEAD', url: '/a' })
    assert.equal(answer.status, 200)
    assert.equal(answer.text, '')
    assert.equal(answer.headers['content-length'], String('{"ok":true}'.length))
  })
})

describe('a path', () => {
  const plain = aRoute({ path: '/ids/{id}', handle: ({ params }) => json(200, params.id) })
  const action = aRoute({
    method: 'POST',
    path: '/ids/{id}:stop',
    handle: ({ params }) => json(200, params.id),
  })

  test('is decoded once: an encoded slash stays in its part, an encoded percent is a percent', async () => {
    const { http } = serve([plain, action])
    for (const id of [
      'a/b',
      'a%2Fb',
      '%',
      '100%25',
      '../../etc/passwd',
      'a b',
      'ü😀',
      '?#&=+',
      'a:stop',
      '__proto__',
      'constructor',
      'a\\b',
      '\0',
    ]) {
      const answer = await http.inject({ url: `/ids/${encodeURIComponent(id)}` })
      assert.deepEqual([answer.status, answer.json()], [200, id])
      const stopped = await http.inject({
        method: 'POST',
        url: `/ids/${encodeURIComponent(id)}:stop`,
      })
      assert.deepEqual([stopped.status, stopped.json()], [200, id])
    }
  })

  test('gives back any id that was encoded properly', async () => {
    const { http } = serve([plain])
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }), async (id) => {
        fc.pre(id.isWellFormed())
        const answer = await http.inject({ url: `/ids/${encodeURIComponent(id)}` })
        assert.deepEqual([answer.status, answer.json()], [200, id])
      }),
      { numRuns: 200 },
    )
  })

  test('that is not encoded properly is bad input, and never a failure', async () => {
    const { http, lines } = serve([plain, action])
    for (const path of [
      '/ids/%',
      '/ids/%zz',
      '/ids/%e0%a4%a',
      '/ids/a%',
      '/ids/%ff%fe',
      '/%',
      '/nothing/%zz',
      '/ids/%c0%ae%c0%ae%2f',
    ])
      assert.equal(codeOf(await http.inject({ url: path })), '400 bad-input', path)
    assert.deepEqual(lines, [])
  })

  test('that climbs leads nowhere (OWASP: path traversal)', async () => {
    const { http } = serve([plain])
    const dots = [
      '%2e%2e',
      '..%2f',
      '%2e%2e%2f',
      '..%5c',
      '....//',
      '%252e%252e%252f',
      '..;/',
      '.%00./',
    ]
    for (const dot of dots)
      for (const tail of ['etc/passwd', 'ids/1', ''])
        for (const path of [`/${dot}/${tail}`, `/ids/${dot}/${tail}`, `//${dot}${tail}`]) {
          const { status, text: said } = await http.inject({ url: path })
          assert.ok([200, 400, 404].includes(status), `${path} ${status}`)
          if (status === 200) assert.ok(!/root:/.test(said))
        }
  })

  test('may have a part as long as the limit and no longer', async () => {
    const { http } = serve([plain])
    const id = 'x'.repeat(PARAM_CHARS_MAX)
    assert.equal((await http.inject({ url: `/ids/${id}` })).json(), id)
    assert.equal(codeOf(await http.inject({ url: `/ids/${id}x` })), '400 bad-input')
  })
})

describe('anything that is sent', () => {
  test('is answered below 500, without a word in the log', async () => {
    const { http, lines } = serve([
      echo,
      aRoute({ path: '/list', query: shape({ a: optional(listOf(whole(0, 9), { max: 3 })) }) }),
    ])
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'POST', 'PUT', 'HEAD', 'OPTIONS', 'DELETE'),
        fc.oneof(
          fc.webPath().map((path) => `/${path.replace(/^\/+/, '')}`),
          fc.webQueryParameters().map((query) => `/list?${query}`),
          fc
            .string()
            .map((id) => `/things/${encodeURIComponent(id.toWellFormed())}/parts/%${id.length}`),
        ),
        fc.oneof(fc.string(), fc.json()),
        fc.constantFrom('application/json', 'text/plain', 'x'),
        async (method, url, body, type) => {
          const answer = await http.inject({ method, url, headers: { 'content-type': type }, body })
          assert.ok(answer.status < 500, `${method} ${url} ${answer.status}`)
        },
      ),
      { numRuns: 300 },
    )
    assert.deepEqual(lines, [])
  })

  test('is counted by template and class, never by what was sent', async () => {
    const { http } = serve([aRoute({ path: '/a/{id}' })], { log: silentLog })
    for (let n = 0; n < 50; n++) await http.inject({ url: `/a/${n}` })
    for (let n = 0; n < 50; n++) await http.inject({ url: `/x${n}` })
    const requests = http.metrics().find(({ name }) => name === 'flytower_http_requests_total')
    assert.deepEqual(requests?.samples, [
      { labels: { route: '/a/{id}', method: 'GET', status: '2xx' }, value: 50 },
      { labels: { route: 'none', method: 'any', status: '4xx' }, value: 50 },
    ])
  })
})
