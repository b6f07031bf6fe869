import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { Accident, isFault, lineLog, silentLog } from '../std/index.ts'
import { virtualClock, type VirtualClock } from '../testkit/index.ts'
import type { Principal } from './auth.ts'
import {
  KEY_SET_BYTES_MAX,
  KEYS_FRESH_MS,
  KEYS_LOADING_MS_MAX,
  KEYS_MAX,
  KEYS_PAUSE_MS,
  KEYS_STALE_MS_MAX,
  keySet,
  keySetFile,
  keySetUrl,
} from './jwks.ts'
import {
  jwtAuthenticator,
  remember,
  TOKEN_CHARS_MAX,
  TOKEN_CHECKED_MS,
  TOKEN_SKEW_MS,
} from './jwt.ts'
import { defaultPolicy } from './policy.ts'

const pair = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const otherPair = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const weakPair = generateKeyPairSync('rsa', { modulusLength: 1_024 })

function jwkOf(key: KeyObject, extra: object = {}): object {
  return { ...key.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256', ...extra }
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const NOW_S = virtualClock().now() / 1_000
const HEADER = { alg: 'RS256', typ: 'JWT', kid: 'k1' }
const CLAIMS = {
  iss: 'https://issuer.example',
  aud: 'stock',
  exp: NOW_S + 3_600,
  sub: 'u-1',
  name: 'Ada',
  job: 'Warehouse Manager',
}

function token(claims: object = {}, header: object = {}, key: KeyObject = pair.privateKey): string {
  const signed = `${part({ ...HEADER, ...header })}.${part({ ...CLAIMS, ...claims })}`
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`
}

type Said = Principal | Readonly<{ ok: false; message: string }>

function issuer(
  keys: readonly object[] = [jwkOf(pair.publicKey)],
  clock: VirtualClock = virtualClock(),
): {
  clock: VirtualClock
  loads: () => number
  ask: (token: string) => Promise<Said>
} {
  let loads = 0
  const source = keySet(
    async () => {
      loads++
      return JSON.stringify({ keys })
    },
    { clock, log: silentLog },
  )
  const jwt = jwtAuthenticator({
    issuer: CLAIMS.iss,
    audience: CLAIMS.aud,
    keys: source,
    policy: defaultPolicy,
    clock,
  })
  return { clock, loads: () => loads, ask: async (sent) => jwt.authenticate(`Bearer ${sent}`) }
}

async function refusalOf(said: Promise<Said>): Promise<string> {
  const answer = await said
  assert.ok(isFault(answer), JSON.stringify(answer))
  assert.equal(answer.code, 'unauthenticated')
  return answer.message
}

async function isAccepted(said: Promise<Said>): Promise<boolean> {
  return !isFault(await said)
}

describe('a JSON Web Token', () => {
  test('says who is calling; the job says what they may do, the location where', async () => {
    const { ask } = issuer()
    const said = await ask(token())
    assert.ok(!isFault(said) && 'subject' in said)
    assert.equal(said.subject, 'u-1')
    assert.equal(said.name, 'Ada')
    assert.equal(said.via, 'jwt')
    assert.ok(said.permissions.has('stock:movement:write'))
    assert.equal('places' in said, false)
    for (const [location, places] of [
      ['a', ['a']],
      [
        ['a', 'b'],
        ['a', 'b'],
      ],
      [[], []],
    ] as const) {
      const scoped = await ask(token({ location }))
      assert.ok('subject' in scoped)
      assert.deepEqual(scoped.places, places)
    }
    const cleaner = await ask(token({ job: 'Cleaner' }))
    assert.ok('subject' in cleaner)
    assert.equal(cleaner.permissions.size, 0)
  })

  test('of another algorithm is refused: none, HS256 with the public key, RS512, PS256, and none at all', async () => {
    const { ask } = issuer()
    const unsigned = `${part({ alg: 'none' })}.${part(CLAIMS)}.`
    const body = `${part({ ...HEADER, alg: 'HS256' })}.${part(CLAIMS)}`
    const pem = pair.publicKey.export({ type: 'spki', format: 'pem' })
    const hmac = `${body}.${createHmac('sha256', pem).update(body).digest('base64url')}`
    const resigned = `${part({ ...HEADER, alg: 'RS512' })}.${part(CLAIMS)}`
    const rs512 = `${resigned}.${sign('RSA-SHA512', Buffer.from(resigned), pair.privateKey).toString('base64url')}`
    for (const bad of [
      unsigned,
      hmac,
      rs512,
      token({}, { alg: 'PS256' }),
      token({}, { alg: 'nOnE' }),
      token({}, { alg: null }),
    ])
      assert.match(await refusalOf(ask(bad)), /RS256/)
  })

  test('with something critical in its header is refused', async () => {
    const { ask } = issuer()
    for (const crit of [['b64'], ['exp'], [], null])
      assert.match(await refusalOf(ask(token({}, { crit, b64: true }))), /RS256/)
  })

  test('of another key is refused: unknown id, no id among several, another signer, a key of its own', async () => {
    const { ask } = issuer([jwkOf(pair.publicKey), jwkOf(otherPair.publicKey, { kid: 'k2' })])
    assert.match(await refusalOf(ask(token({}, { kid: 'k3' }))), /does not have/)
    assert.match(await refusalOf(ask(token({}, { kid: undefined }))), /does not have/)
    assert.match(await refusalOf(ask(token({}, { kid: '__proto__' }))), /does not have/)
    assert.match(await refusalOf(ask(token({}, { kid: 'k2' }))), /not signed by the issuer/)
    assert.match(
      await refusalOf(ask(token({}, { jwk: jwkOf(otherPair.publicKey) }, otherPair.privateKey))),
      /not signed by the issuer/,
    )
    assert.ok(await isAccepted(ask(token({}, { kid: 'k2' }, otherPair.privateKey))))
  })

  test('without a key id is checked with the only key there is', async () => {
    assert.ok(await isAccepted(issuer().ask(token({}, { kid: undefined }))))
  })

  test('that was changed anywhere is refused', async () => {
    const { ask } = issuer()
    const good = token()
    const [header, payload, signature] = good.split('.')
    for (const bad of [
      `${header}.${part({ ...CLAIMS, job: 'System Administrator' })}.${signature}`,
      `${header}.${payload}.`,
      `${header}.${payload}.${signature!.slice(0, -2)}`,
      `${header}.${payload}.${signature}==`,
      `${header}.${payload}.${signature}A`,
      `${part({ ...HEADER, typ: 'x' })}.${payload}.${signature}`,
      `${header}.${payload}`,
      `${good}.x`,
      '..',
      'a.b.c',
      'nothing',
    ])
      await refusalOf(ask(bad))
    assert.ok(await isAccepted(ask(good)))
  })

  test('must have every claim, of the right kind', async () => {
    const { ask } = issuer()
    for (const name of ['iss', 'aud', 'exp', 'sub', 'name', 'job'])
      assert.match(await refusalOf(ask(token({ [name]: undefined }))), /lacks a claim/)
    for (const claims of [
      { exp: '9' },
      { exp: null },
      { exp: -1 },
      { exp: 1e300 },
      { nbf: 'x' },
      { sub: '' },
      { name: 5 },
      { job: ['x'] },
      { location: 5 },
      { location: [5] },
      { aud: 5 },
    ])
      assert.match(await refusalOf(ask(token(claims))), /lacks a claim/)
  })

  test('must be by this issuer and for this audience', async () => {
    const { ask } = issuer()
    assert.match(
      await refusalOf(ask(token({ iss: 'https://issuer.example.evil' }))),
      /another issuer/,
    )
    assert.match(await refusalOf(ask(token({ aud: 'stocks' }))), /somebody else/)
    assert.match(await refusalOf(ask(token({ aud: ['x', 'y'] }))), /somebody else/)
    assert.ok(await isAccepted(ask(token({ aud: ['x', 'stock'] }))))
  })

  test('is valid from its time to its end, with the skew and no more', async () => {
    const { ask, clock } = issuer()
    const skewS = TOKEN_SKEW_MS / 1_000
    assert.ok(await isAccepted(ask(token({ exp: NOW_S - skewS + 0.001 }))))
    assert.match(await refusalOf(ask(token({ exp: NOW_S - skewS }))), /expired/)
    assert.ok(await isAccepted(ask(token({ nbf: NOW_S + skewS }))))
    assert.match(await refusalOf(ask(token({ nbf: NOW_S + skewS + 0.001 }))), /not valid yet/)
    const short = token({ exp: NOW_S + 10 })
    assert.ok(await isAccepted(ask(short)))
    clock.advance(10_000 + TOKEN_SKEW_MS)
    assert.match(await refusalOf(ask(short)), /expired/, 'though it was checked a moment ago')
  })

  test('may be so long and no longer', async () => {
    const { ask } = issuer()
    const room = Math.floor((TOKEN_CHARS_MAX - token({ pad: '' }).length) / 4) * 3
    const filled = (chars: number): string => token({ pad: 'x'.repeat(chars) })
    const fits = filled(room)
    assert.ok(fits.length <= TOKEN_CHARS_MAX && fits.length > TOKEN_CHARS_MAX - 5)
    assert.ok(await isAccepted(ask(fits)))
    assert.match(await refusalOf(ask(filled(room + 6))), /not a JSON Web Token/)
  })

  test('is checked once a while, so that a key that was withdrawn stops counting', async () => {
    const keys = [jwkOf(pair.publicKey)]
    const { ask, clock } = issuer(keys)
    const good = token()
    assert.ok(await isAccepted(ask(good)))
    keys[0] = jwkOf(otherPair.publicKey, { kid: 'k2' })
    clock.advance(KEYS_FRESH_MS + 1)
    await ask(token({ sub: 'another' })) // whoever comes next makes the keys be renewed
    await ask(token({ sub: 'one more' }))
    assert.match(await refusalOf(ask(good)), /does not have/)
    assert.ok(KEYS_FRESH_MS > TOKEN_CHECKED_MS)
  })

  test('is checked again after a while', async () => {
    let checks = 0
    const key = pair.publicKey
    const clock = virtualClock()
    const jwt = jwtAuthenticator({
      issuer: CLAIMS.iss,
      audience: CLAIMS.aud,
      keys: { find: () => (checks++, key) },
      policy: defaultPolicy,
      clock,
    })
    const good = `Bearer ${token()}`
    await jwt.authenticate(good)
    await jwt.authenticate(good)
    assert.equal(checks, 1)
    clock.advance(TOKEN_CHECKED_MS)
    await jwt.authenticate(good)
    assert.equal(checks, 2)
  })
})

test('what is remembered has a bound, and the oldest is forgotten', () => {
  const kept = new Map([
    ['a', 1],
    ['b', 2],
  ])
  remember(kept, 'c', 3, 3)
  assert.deepEqual([...kept.keys()], ['a', 'b', 'c'])
  remember(kept, 'd', 4, 3)
  assert.deepEqual([...kept.keys()], ['b', 'c', 'd'])
  remember(kept, 'b', 5, 3)
  assert.deepEqual(
    [...kept],
    [
      ['c', 3],
      ['d', 4],
      ['b', 5],
    ],
  )
})

const find = async (source: ReturnType<typeof keySet>, id?: string): Promise<boolean> =>
  (await source.find(id)) !== undefined

const pad = (chars: number): string => `{"keys":[]${' '.repeat(chars)}}`

describe('the keys of an issuer', () => {
  test('that are not for this are left out: other kinds, other uses, too short', async () => {
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
    const { ask } = issuer([
      jwkOf(ec),
      jwkOf(pair.publicKey, { kid: 'enc', use: 'enc' }),
      jwkOf(pair.publicKey, { kid: 'ps', alg: 'PS256' }),
      jwkOf(weakPair.publicKey, { kid: 'weak' }),
      { kty: 'oct', k: 'c2VjcmV0', kid: 'oct' },
      jwkOf(pair.publicKey, { kid: 'good' }),
    ])
    for (const kid of ['k1', 'enc', 'ps', 'oct']) await refusalOf(ask(token({}, { kid })))
    await refusalOf(ask(token({}, { kid: 'weak' }, weakPair.privateKey)))
    assert.ok(await isAccepted(ask(token({}, { kid: 'good' }))))
  })

  test('are asked for again when an id is not known, but only after the pause', async () => {
    const { ask, clock, loads } = issuer()
    assert.ok(await isAccepted(ask(token())))
    for (let n = 0; n < 10; n++) await refusalOf(ask(token({}, { kid: `made-up-${n}` })))
    assert.equal(loads(), 1)
    clock.advance(KEYS_PAUSE_MS)
    await refusalOf(ask(token({}, { kid: 'made-up' })))
    assert.equal(loads(), 2)
  })

  test('are fetched once for all who wait', async () => {
    const { ask, loads } = issuer()
    assert.ok(
      (await Promise.all([1, 2, 3].map((n) => isAccepted(ask(token({ sub: `${n}` })))))).every(
        Boolean,
      ),
    )
    assert.equal(loads(), 1)
  })

  test('go on being used while the issuer is away, for a day at most', async () => {
    const clock = virtualClock()
    const lines: string[] = []
    let isAway = false
    const source = keySet(
      async () => {
        if (isAway) throw new Error('away')
        return JSON.stringify({ keys: [jwkOf(pair.publicKey)] })
      },
      { clock, log: lineLog((line) => lines.push(line), { clock }) },
    )
    assert.ok(await find(source, 'k1'))
    isAway = true
    clock.advance(KEYS_STALE_MS_MAX)
    assert.ok(await find(source, 'k1'))
    clock.advance(1)
    await assert.rejects(
      async () => source.find('k1'),
      (error) => error instanceof Accident && error.code === 'keys-unavailable',
    )
    assert.match(lines[0] ?? '', /cannot be had/)
    isAway = false
    clock.advance(KEYS_PAUSE_MS)
    assert.ok(await find(source, 'k1'))
  })

  test('that were never had are an accident, and so is a set that is none', async () => {
    for (const text of [
      '',
      '[]',
      '{"keys":5}',
      JSON.stringify({ keys: Array.from({ length: KEYS_MAX + 1 }, () => ({})) }),
    ]) {
      const source = keySet(async () => text, { clock: virtualClock(), log: silentLog })
      await assert.rejects(async () => source.find('k1'), { code: 'keys-unavailable' })
    }
    const empty = keySet(
      async () => JSON.stringify({ keys: Array.from({ length: KEYS_MAX }, () => ({})) }),
      {
        clock: virtualClock(),
        log: silentLog,
      },
    )
    assert.equal(await find(empty, 'k1'), false)
  })

  test('come from a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jwks-'))
    try {
      const path = join(folder, 'keys.json')
      writeFileSync(path, JSON.stringify({ keys: [jwkOf(pair.publicKey)] }))
      assert.ok(await find(keySet(keySetFile(path), { clock: virtualClock(), log: silentLog })))
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('come from a URL that answers itself, in bounds', async () => {
    const shell = pad(0).length
    const pages: Record<string, readonly [number, string, Record<string, string>?]> = {
      '/good': [200, JSON.stringify({ keys: [jwkOf(pair.publicKey)] })],
      '/locked': [200, '{}'],
      '/gone': [404, '{"keys":[]}'],
      '/elsewhere': [302, '', { location: '/good' }],
      '/largest': [200, pad(KEY_SET_BYTES_MAX - shell)],
      '/too-large': [200, pad(KEY_SET_BYTES_MAX - shell + 1)],
    }
    let sent: string | undefined
    const server = createServer((request, response) => {
      const [status, text, headers] = pages[request.url ?? ''] ?? [500, '']
      if (request.url === '/locked') sent = request.headers.authorization
      response.writeHead(status, headers).end(text)
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    server.listen(0, '127.0.0.1', resolve)
    await promise
    try {
      const address = server.address()
      const port = typeof address === 'object' ? address?.port : undefined
      const load = (path: string): Promise<string> =>
        keySetUrl(`http://127.0.0.1:${port}${path}`)(virtualClock())
      assert.match(await load('/good'), /"kid":"k1"/)
      assert.equal((await load('/largest')).length, KEY_SET_BYTES_MAX)
      await keySetUrl(`http://ann:p%40ss@127.0.0.1:${port}/locked`)(virtualClock())
      assert.equal(sent, `Basic ${Buffer.from('ann:p@ss').toString('base64')}`)
      for (const path of ['/gone', '/elsewhere', '/too-large'])
        await assert.rejects(load(path), path)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  test('are not waited for longer than the limit', async () => {
    const server = createServer(() => {})
    const { promise, resolve } = Promise.withResolvers<void>()
    server.listen(0, '127.0.0.1', resolve)
    await promise
    try {
      const address = server.address()
      const port = typeof address === 'object' ? address?.port : undefined
      const clock = virtualClock()
      const loading = keySetUrl(`http://127.0.0.1:${port}/`)(clock)
      assert.equal(clock.next, KEYS_LOADING_MS_MAX)
      clock.advance(KEYS_LOADING_MS_MAX)
      await assert.rejects(loading, { name: 'AbortError' })
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})
