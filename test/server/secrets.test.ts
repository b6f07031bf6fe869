/** Secrets go through every part of a server, and are found nowhere that anybody reads. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'

import { serverLog } from '../../src/server/index.ts'
import { composed } from './composed.ts'

const CANARY = 'canary'

test('a secret is in no log, answer, figure or document', async () => {
  const lines: string[] = []
  const log = serverLog({ level: 'info', format: 'json', write: (line) => void lines.push(line) })
  const token = `${CANARY}-token`
  const sha256 = createHash('sha256').update(token).digest('hex')
  await using server = await composed(
    {
      'auth.tokens': [{ name: 'ann', sha256, roles: ['admin'] }],
      'auth.jwt.issuer': 'https://issuer.example',
      'auth.jwt.audience': 'stock',
      'auth.jwt.keys': `http://ann:${CANARY}@127.0.0.1:1/keys`,
      'stock.locations.source': 'remote',
      'stock.locations.url': `http://ann:${CANARY}@127.0.0.1:1/places`,
      'stock.locations.attempts': 1,
      'stock.locations.failures': 1,
      'log.requests': true,
    },
    log,
  )
  const jwt = [{ alg: 'RS256', kid: 'k' }, { sub: CANARY }, CANARY].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const answers: string[] = []
  const ask = async (authorization: string, url: string, body?: object): Promise<number> => {
    const told = await server.http.inject({
      method: body === undefined ? 'GET' : 'POST',
      url,
      headers: { authorization, cookie: `session=${CANARY}` },
      ...(body !== undefined && { body }),
    })
    answers.push(JSON.stringify(told.headers), told.text)
    return told.status
  }
  const sale = { requestId: 'r-1', quantity: 1, soldAt: '2026-01-01T00:00:00Z', note: CANARY }

  const good = `Bearer ${token}`
  for (let n = 0; n < 2; n++)
    // the second time the service is left alone
    assert.equal(await ask(good, '/locations/A/products/p/sales', sale), 502)
  assert.equal(await ask(good, '/locations/A/products/p/sales', { ...sale, soldAt: CANARY }), 400)
  assert.equal(await ask(`Bearer ${CANARY}`, '/pots'), 401)
  assert.equal(await ask(`Basic ${CANARY}`, '/pots'), 401)
  assert.ok((await ask(`Bearer ${jwt.join('.')}`, '/pots')) >= 400)
  for (const url of ['/readyz?verbose', '/metrics', '/openapi.json', '/docs'])
    assert.ok([200, 503].includes(await ask(good, url)), url)

  assert.ok(lines.some((line) => line.includes('is left alone')))
  assert.ok(lines.some((line) => line.includes('the keys of the issuer cannot be had')))
  const told = [...lines, ...answers].filter(
    (each) => each.includes(CANARY) || each.includes(sha256),
  )
  assert.deepEqual(told, [])
})
