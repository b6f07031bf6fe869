import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'

import { issuerOf, type Claims } from '../../test/acceptance/tokens.ts'
import { composed, type ComposedSettings } from '../../test/server/composed.ts'
import { defaultPolicy } from '../http/index.ts'
import type { Server } from './compose.ts'

const ISSUER = issuerOf('https://issuer.example', 'stock')
const STRANGER = issuerOf('https://issuer.example', 'stock')

let directory = ''
let settings: ComposedSettings = {}

before(() => {
  directory = mkdtempSync(join(tmpdir(), 'authenticating-'))
  const keys = join(directory, 'keys.json')
  writeFileSync(keys, JSON.stringify(ISSUER.keys))
  settings = {
    'auth.jwt.issuer': ISSUER.issuer,
    'auth.jwt.audience': ISSUER.audience,
    'auth.jwt.keys': keys,
  }
})

after(() => rmSync(directory, { recursive: true }))

function claims(job: string): Claims {
  return { sub: 'c-1', name: 'Kim', job }
}

type Asked = readonly [method: string, url: string, body?: unknown]

const SALE = { requestId: 's-1', quantity: 1, soldAt: '2026-01-01T00:00:00Z' }
const COUNT = { requestId: 'c-1', quantity: 1, reason: 'AdminOverride', countedAt: SALE.soldAt }
const PLACE = { roles: ['TrackedInventoryLocation'] }

/** One request for each right there is; the last is refused for its input by whoever looks at it. */
const ASKED: Readonly<Record<string, Asked>> = {
  'stock:location:write': ['PUT', '/locations/A', PLACE],
  'stock:movement:write': ['POST', '/locations/A/products/p/sales', SALE],
  'stock:count:write': ['POST', '/locations/A/products/p/counts', COUNT],
  'stock:level:read': ['GET', '/locations/A/products/p'],
  'stock:movement:read': ['GET', '/locations/A/products/p/history'],
  'stock:pot:read': ['GET', '/pots'],
  'stock:pot:write': ['POST', '/pots/p%7CA:passivate'],
  'server:metrics:read': ['GET', '/metrics'],
  'server:backup': ['POST', '/backups', { directory: 'relative' }],
}

async function statusOf(server: Server, token: string, asked: Asked): Promise<number> {
  const [method, url, body] = asked
  const headers = { authorization: `Bearer ${token}` }
  const told = await server.http.inject({
    method,
    url,
    headers,
    ...(body !== undefined && { body }),
  })
  return told.status
}

describe('auth.jwt', () => {
  test('lets in whoever shows a token of the issuer, and nobody else', async () => {
    await using server = await composed(settings)
    const level = ASKED['stock:pot:read']!
    const good = claims('System Administrator')

    assert.equal(await statusOf(server, ISSUER.sign(good), level), 200)
    for (const token of [
      STRANGER.sign(good),
      ISSUER.sign({ ...good, exp: 1 }),
      ISSUER.sign({ ...good, aud: 'somebody else' }),
      ISSUER.sign({ ...good, iss: 'https://elsewhere.example' }),
      ISSUER.sign({ ...good, job: undefined }),
      `${ISSUER.sign(good)}x`,
      'not-a-token',
    ])
      assert.equal(await statusOf(server, token, level), 401, token)
    assert.equal((await server.http.inject({ url: '/pots' })).status, 401)
  })

  test('gives each job of the built-in policy what it stands for, and nothing else', async () => {
    const data = join(directory, 'data') // backups are of what is on disk
    await using server = await composed({ ...settings, 'data.directory': data })
    const admin = ISSUER.sign(claims('System Administrator'))
    assert.equal(await statusOf(server, admin, ASKED['stock:location:write']!), 201)

    const may: Record<string, readonly string[]> = {}
    for (const job of [...Object.keys(defaultPolicy.jobs), 'Poet']) {
      const token = ISSUER.sign(claims(job))
      const granted: string[] = []
      for (const [right, asked] of Object.entries(ASKED)) {
        const status = await statusOf(server, token, asked)
        assert.ok(status < 300 || status === 400 || status === 403, `${job}, ${right}: ${status}`)
        if (status !== 403) granted.push(right)
      }
      may[job] = granted
    }

    const keeper = [
      'stock:movement:write',
      'stock:count:write',
      'stock:level:read',
      'stock:movement:read',
    ]
    assert.deepEqual(may, {
      'Regional Stock Auditor': ['stock:level:read', 'stock:movement:read'],
      'Store Stock Controller': keeper,
      'Warehouse Manager': keeper,
      'System Administrator': Object.keys(ASKED).filter((right) => right !== 'server:backup'),
      Poet: [],
    })
  })

  test('stands beside static tokens', async () => {
    const sha256 = createHash('sha256').update('vic-secret').digest('hex')
    const tokens = [{ name: 'vic', sha256, roles: ['viewer'] }]
    await using server = await composed({ ...settings, 'auth.tokens': tokens })
    const [pots, place] = [ASKED['stock:pot:read']!, ASKED['stock:location:write']!]

    assert.equal(await statusOf(server, 'vic-secret', pots), 200)
    assert.equal(await statusOf(server, 'vic-secret', place), 403)
    assert.equal(await statusOf(server, ISSUER.sign(claims('System Administrator')), place), 201)
    assert.equal(await statusOf(server, 'nobody', pots), 401)
  })

  test('is enough to listen beyond the machine’s own address', async () => {
    await (await composed({ ...settings, 'listen.host': '0.0.0.0' })).stop()
  })
})
