import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, fault } from '../std/index.ts'
import { aRoute, codeOf, principals, serve } from '../../test/http/serving.ts'
import type { Authenticator } from './auth.ts'
import type { Http, InjectedAnswer } from './http.ts'
import { json } from './route.ts'
import { shape, whole } from './shape.ts'

const ask = (
  http: Http,
  who: string | undefined,
  url = '/places/here',
  body: unknown = { a: 1 },
): Promise<InjectedAnswer> =>
  http.inject({
    method: 'POST',
    url,
    body,
    ...(who !== undefined && { headers: { authorization: who } }),
  })

describe('access', () => {
  const scoped = aRoute({
    method: 'POST',
    path: '/places/{place}',
    access: { permission: 'stock:count:write', places: ({ place = '' }) => [place] },
    body: shape({ a: whole(1, 2) }),
    handle: ({ principal }) => json(200, principal.subject),
  })
  const authenticator = principals({
    nobody: {},
    writer: { permissions: new Set(['*:write']) },
    local: { permissions: new Set(['stock:*']), places: ['here', 'there'] },
  })
  test('is judged in its order: who, what, where, and only then what was sent', async () => {
    const { http } = serve([scoped], { authenticator })
    const refused = await ask(http, undefined)
    assert.equal(codeOf(refused), '401 unauthenticated')
    assert.equal(refused.headers['www-authenticate'], 'Bearer')
    assert.equal(codeOf(await ask(http, 'nobody')), '403 forbidden')
    assert.equal(codeOf(await ask(http, 'local', '/places/elsewhere')), '403 out-of-scope')
    assert.equal(codeOf(await ask(http, 'local', '/places/here', { a: 3 })), '400 bad-input')
    assert.equal((await ask(http, 'local', '/places/there')).json(), 'local')
    assert.equal((await ask(http, 'writer', '/places/anywhere')).json(), 'writer')
    for (const body of ['{', 'x'.repeat(2_000_000)]) {
      assert.equal(codeOf(await ask(http, undefined, '/places/here', body)), '401 unauthenticated')
      assert.equal(codeOf(await ask(http, 'nobody', '/places/here', body)), '403 forbidden')
      assert.equal(codeOf(await ask(http, 'local', '/places/x', body)), '403 out-of-scope')
    }
  })

  test('asks nobody who they are where it is open', async () => {
    const open = aRoute({ path: '/open', handle: ({ principal }) => json(200, principal.via) })
    const { http } = serve([open], { authenticator })
    assert.equal((await http.inject({ url: '/open' })).json(), 'open')
  })

  test('waits for an authenticator that takes its time, and fails with it', async () => {
    const later: Authenticator = { authenticate: async (who) => authenticator.authenticate(who) }
    const { http } = serve([scoped], { authenticator: later })
    assert.equal((await ask(http, 'writer')).status, 200)
    assert.equal(codeOf(await ask(http, 'x')), '401 unauthenticated')
    const broken: Authenticator = { authenticate: () => Promise.reject(new Error('broken')) }
    assert.equal(
      codeOf(await ask(serve([scoped], { authenticator: broken }).http, 'x')),
      '500 internal',
    )
    const keyless: Authenticator = {
      authenticate: () =>
        Promise.reject(new Accident(fault('keys-unavailable', 'no keys', { remedy: 'wait' }))),
    }
    assert.equal(
      codeOf(await ask(serve([scoped], { authenticator: keyless }).http, 'x')),
      '503 keys-unavailable',
    )
  })

  test('without credentials is for this machine, not for pages of other sites (OWASP: CSRF, DNS rebinding)', async () => {
    const { http } = serve([scoped])
    const from = (headers: Record<string, string>): Promise<InjectedAnswer> =>
      http.inject({ method: 'POST', url: '/places/here', body: { a: 1 }, headers })
    for (const host of ['localhost', 'localhost:8470', '127.0.0.1:8470', '127.8.8.8', '[::1]:8470'])
      assert.equal((await from({ host })).status, 200, host)
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '10.0.0.1',
      'evil.example:8470',
    ])
      assert.equal(codeOf(await from({ host })), '403 forbidden', host)
    assert.equal((await from({ host: 'localhost:1', origin: 'http://localhost:1' })).status, 200)
    for (const origin of ['http://evil.example', 'null', 'http://localhost:2', 'http://localhost'])
      assert.equal(codeOf(await from({ host: 'localhost:1', origin })), '403 forbidden', origin)
  })
})
