import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { aRoute, echo, serve } from '../../test/http/serving.ts'
import { openapiOf } from './openapi.ts'
import { optional, shape, text, whole } from './shape.ts'

const info = { title: 'T & <co>', version: '1.2' }

const item = aRoute({
  path: '/items/{id}:stop',
  summary: 'Stops <b>it</b>.',
  description: 'For & `<good>`.',
  access: { permission: 'item:write' },
  query: shape({ limit: optional(whole(1, 9), 5), after: text({ max: 9 }) }),
  answers: {
    200: { description: 'Stopped.', schema: { type: 'object' }, headers: { etag: 'its version' } },
    404: { description: 'No such item.' },
  },
})

type Document = Readonly<{ openapi: string; paths: Record<string, Record<string, Operation>> }>
type Operation = Readonly<{
  operationId: string
  parameters: readonly unknown[]
  requestBody?: unknown
  security?: unknown
  responses: Record<string, Record<string, unknown>>
}>

function documentOf(...routes: Parameters<typeof openapiOf>[0]): Document {
  return JSON.parse(JSON.stringify(openapiOf(routes, info))) as Document
}

describe('the OpenAPI document', () => {
  test('has each route with what it reads and what it needs', () => {
    const { openapi, paths } = documentOf(item, echo)
    assert.equal(openapi, '3.1.0')
    const stop = paths['/items/{id}:stop']!['get']!
    assert.equal(stop.operationId, 'getItemsByIdStop')
    assert.deepEqual(stop.security, [{ bearer: [] }])
    assert.deepEqual(stop.parameters, [
      { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
      {
        name: 'limit',
        in: 'query',
        required: false,
        schema: { type: 'integer', minimum: 1, maximum: 9, default: 5 },
      },
      { name: 'after', in: 'query', required: true, schema: { type: 'string', maxLength: 9 } },
    ])
    const post = paths['/things/{id}/parts/{part}']!['post']!
    assert.equal(post.security, undefined)
    assert.deepEqual(post.requestBody, {
      required: true,
      content: { 'application/json': { schema: echo.body?.schema } },
    })
  })

  test('has the answers of a route and those that the layer before it gives', () => {
    const { paths } = documentOf(item, echo, aRoute({ path: '/plain' }))
    const statuses = (path: string, method: string): string[] =>
      Object.keys(paths[path]![method]!.responses)
    assert.deepEqual(statuses('/items/{id}:stop', 'get'), [
      '200',
      '400',
      '401',
      '403',
      '404',
      '500',
      '503',
    ])
    assert.deepEqual(statuses('/things/{id}/parts/{part}', 'post'), [
      '200',
      '400',
      '413',
      '415',
      '500',
      '503',
    ])
    assert.deepEqual(statuses('/plain', 'get'), ['200', '500', '503'])
    const { responses } = paths['/items/{id}:stop']!['get']!
    assert.deepEqual(responses['200'], {
      description: 'Stopped.',
      content: { 'application/json': { schema: { type: 'object' } } },
      headers: { etag: { description: 'its version', schema: { type: 'string' } } },
    })
    assert.deepEqual(responses['404'], {
      description: 'No such item.',
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    })
  })

  test('is served, with itself in it, and names every operation once', async () => {
    const { http } = serve([item, echo], { info })
    const answer = await http.inject({ url: '/openapi.json' })
    assert.equal(answer.headers['content-type'], 'application/json')
    const { paths } = answer.json() as Document
    assert.ok('/openapi.json' in paths && '/docs' in paths)
    const ids = Object.values(paths).flatMap((path) =>
      Object.values(path).map((one) => one.operationId),
    )
    assert.equal(new Set(ids).size, ids.length)
  })
})

describe('the page', () => {
  test('shows every route, escaped, without a script or anything from elsewhere', async () => {
    const { http } = serve([item, echo], { info })
    const { text: page, headers } = await http.inject({ url: '/docs' })
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    for (const part of [
      'T &#38; &#60;co&#62;',
      'Stops &#60;b&#62;it',
      '/items/{id}:stop',
      'item:write',
      'No such item.',
      'For &#38; <code>&#60;good&#62;</code>.',
    ])
      assert.ok(page.includes(part), part)
    assert.ok(!/<script|<b>it|\bon\w+=|style="|https?:\/\//i.test(page))
    assert.match(headers['content-security-policy'] ?? '', /default-src 'none'; style-src 'self'/)
    for (const [, anchor] of page.matchAll(/href="#([^"]+)"/g))
      assert.ok(page.includes(`id="${anchor}"`), anchor)
  })

  test('has a stylesheet for light and dark, which is not sent twice', async () => {
    const { http } = serve([item])
    const { text: css, headers } = await http.inject({ url: '/docs/style.css' })
    assert.match(css, /color-scheme: light dark/)
    const again = await http.inject({
      url: '/docs/style.css',
      headers: { 'if-none-match': headers['etag'] ?? '' },
    })
    assert.deepEqual([again.status, again.text], [304, ''])
  })
})
