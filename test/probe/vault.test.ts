import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { secret } from '../../src/probe/secrets/secret.ts'
import type { SecretSource } from '../../src/probe/secrets/secrets.ts'
import {
  VAULT_ANSWER_MS_MAX,
  VAULT_BYTES_MAX,
  vaultSecrets,
} from '../../src/probe/secrets/vault.ts'
import { ATTEMPTS_MAX, createTrying, type Trying } from '../../src/probe/trying.ts'
import { Accident, afterIo, random } from '../../src/std/index.ts'
import { virtualClock, type VirtualClock } from '../../src/testkit/index.ts'
import { send, vaultServer, type VaultServer } from './vault-server.ts'

const TOKEN = 'hvs.root-token'
const CANARY = 'canary-value-0815'
const TURNS_MAX = 200_000
const { signal } = new AbortController()

type Scene = AsyncDisposable &
  VaultServer &
  Readonly<{ clock: VirtualClock; trying: Trying; source: SecretSource }>

async function scene(
  options: { mount?: string; namespace?: string; token?: string } = {},
): Promise<Scene> {
  const server = await vaultServer()
  const clock = virtualClock()
  const trying = createTrying({ clock, random: random(1) })
  const { token = TOKEN, ...rest } = options
  const source = vaultSecrets({
    address: server.address,
    token: async () => secret('token', token),
    clock,
    trying,
    ...rest,
  })
  return { ...server, clock, trying, source }
}

/** Turns the clock whenever somebody waits for it, and lets what is on the wire arrive. */
async function turning<T>(clock: VirtualClock, promise: Promise<T>, timersMs = 5_000): Promise<T> {
  const state = { isSettled: false }
  void promise.then(
    () => (state.isSettled = true),
    () => (state.isSettled = true),
  )
  for (let turns = 0; !state.isSettled; turns++) {
    assert.ok(turns < TURNS_MAX, 'it settles')
    await new Promise<void>((resolve) => afterIo(resolve))
    if (clock.next !== undefined && clock.next - clock.monotonic() <= timersMs + 1)
      clock.advance(clock.next - clock.monotonic())
  }
  return promise
}

async function refused({ clock, source }: Scene, name = 'svc'): Promise<Accident> {
  const error: unknown = await turning(clock, source.resolve(name, { signal })).then(
    () => assert.fail('it is resolved'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof Accident, String(error))
  for (const text of [error.message, JSON.stringify(error.fault), String(error.cause)])
    assert.equal(text.includes(TOKEN) || text.includes(CANARY), false, 'nothing secret in errors')
  return error
}

describe('Vault', () => {
  test('a secret is read in its current version, with the headers that the API asks for', async () => {
    await using stage = await scene({ mount: 'kv/team', namespace: 'org/unit' })
    stage.state.mount = 'kv/team'
    stage.state.namespace = 'org/unit'
    stage.state.secrets['orders/svc-1'] = { username: 'u', password: CANARY, port: 9092, tls: true }

    const fields = await stage.source.resolve('orders/svc-1', { signal })
    assert.deepEqual(
      [...fields].map(([field, value]) => [field, value.reveal()]),
      [
        ['username', 'u'],
        ['password', CANARY],
        ['port', '9092'],
        ['tls', 'true'],
      ],
    )
    assert.equal(stage.state.requests[0]?.url, '/v1/kv/team/data/orders/svc-1')
    assert.equal(stage.clock.next, undefined)
  })

  test('what is not there, was deleted or may not be read is not asked for again', async () => {
    await using stage = await scene()
    stage.state.secrets = {
      gone: null,
      locked: { value: CANARY },
      wrong: { nested: { a: 1 } },
      empty: {},
    }
    stage.state.forbidden.push('locked')
    const cases: readonly (readonly [string, string, RegExp])[] = [
      ['nothing', 'secret-not-found', /mend the mount, the namespace or the name/],
      ['gone', 'secret-not-found', /was deleted/],
      ['locked', 'secret-denied', /policy/],
      ['wrong', 'bad-secret', /nested has no text/],
      ['empty', 'bad-secret', /it has 0 fields/],
      ['../sys/seal', 'bad-secret', /cannot be named so/],
      ['a//b', 'bad-secret', /cannot be named so/],
      ['a?b', 'bad-secret', /cannot be named so/],
    ]
    for (const [name, code, words] of cases) {
      const error = await refused(stage, name)
      assert.equal(error.code, code, name)
      assert.match(error.message, words)
      assert.equal(error.detail['isTransient'], false)
    }
    assert.equal(stage.state.requests.length, 5)
  })

  test('a wrong token, namespace or mount is told', async () => {
    await using wrongToken = await scene({ token: 'hvs.other-token' })
    wrongToken.state.secrets['svc'] = { value: CANARY }
    assert.equal((await refused(wrongToken)).code, 'secret-denied')
    await using wrongNamespace = await scene({ namespace: 'other' })
    wrongNamespace.state.secrets['svc'] = { value: CANARY }
    assert.equal((await refused(wrongNamespace)).code, 'secret-denied')
    await using wrongMount = await scene({ mount: 'other' })
    wrongMount.state.secrets['svc'] = { value: CANARY }
    assert.equal((await refused(wrongMount)).code, 'secret-not-found')
  })

  test('a store that is sealed is asked again until it is not, or tries are used up', async () => {
    await using stage = await scene()
    stage.state.secrets['svc'] = { value: CANARY }
    stage.state.isSealed = true
    const error = await refused(stage)
    assert.equal(error.code, 'secrets-unavailable')
    assert.match(error.message, /sealed/)
    assert.equal(stage.state.requests.length, ATTEMPTS_MAX)

    const waiting = stage.source.resolve('svc', { signal })
    stage.state.isSealed = false
    assert.equal((await turning(stage.clock, waiting)).get('value')?.reveal(), CANARY)
  })

  test('a store that has too much to do is left alone for as long as it asks', async () => {
    await using stage = await scene()
    stage.state.secrets['svc'] = { value: CANARY }
    stage.state.instead.push((response) =>
      send(response, 429, { errors: [] }, { 'retry-after': '3' }),
    )
    const start = stage.clock.monotonic()
    const fields = await turning(stage.clock, stage.source.resolve('svc', { signal }))
    assert.equal(fields.get('value')?.reveal(), CANARY)
    assert.equal(stage.clock.monotonic() - start, 3_000)
  })

  // It fails without the timer in `ask`.
  test('probe-V2: a store that does not answer is given up on in time', async () => {
    await using stage = await scene()
    for (let n = 0; n < ATTEMPTS_MAX; n++) stage.state.instead.push(() => undefined)
    const start = stage.clock.monotonic()
    const asking = stage.source.resolve('svc', { signal })
    const error: unknown = await turning(
      stage.clock,
      asking.catch((reason: unknown) => reason),
      VAULT_ANSWER_MS_MAX,
    )
    assert.ok(error instanceof Accident && error.code === 'secrets-unavailable')
    assert.match(error.message, /did not answer in time/)
    const tookMs = stage.clock.monotonic() - start
    assert.ok(tookMs >= VAULT_ANSWER_MS_MAX && tookMs < VAULT_ANSWER_MS_MAX * ATTEMPTS_MAX + 2_000)
  })

  test('a signal ends the wait for an answer', async () => {
    await using stage = await scene()
    stage.state.instead.push(() => undefined)
    const abort = new AbortController()
    const asking = stage.source.resolve('svc', { signal: abort.signal })
    while (stage.state.requests.length === 0) await new Promise<void>((resolve) => afterIo(resolve))
    abort.abort(new Error('given up'))
    await assert.rejects(asking, /given up/)
    assert.equal(stage.clock.next, undefined)
  })

  test('a redirection is not followed with the token', async () => {
    await using stage = await scene()
    await using other = await vaultServer()
    const location = `${other.address}/v1/secret/data/svc`
    stage.state.instead.push((response) => send(response, 307, '', { location }))
    const error = await refused(stage)
    assert.equal(error.code, 'secrets-unavailable')
    assert.match(error.message, /active node/)
    assert.equal(other.state.requests.length, 0)
  })

  test('what is no answer of Vault is refused, however long it is', async () => {
    await using stage = await scene()
    const answers: readonly (readonly [number, string, string])[] = [
      [200, 'not json', 'bad-secret'],
      [200, '[]', 'bad-secret'],
      [200, '{"data":{"value":"kv version 1"}}', 'bad-secret'],
      [400, '{"errors":["canary-value-0815"]}', 'secrets-unavailable'],
      [200, 'x'.repeat(VAULT_BYTES_MAX + 1), 'secrets-unavailable'],
    ]
    for (const [status, body, code] of answers) {
      stage.state.instead.push((response) => send(response, status, body))
      const error = await refused(stage)
      assert.equal(error.code, code)
      assert.equal(error.detail['isTransient'], false)
    }
    const long = JSON.stringify({ data: { data: { value: CANARY } } }).padEnd(VAULT_BYTES_MAX)
    stage.state.instead.push((response) => send(response, 200, long))
    assert.equal((await stage.source.resolve('svc', { signal })).get('value')?.reveal(), CANARY)
  })

  test('a store that is not there is transient', async () => {
    const clock = virtualClock()
    const trying = createTrying({ clock, random: random(1) })
    await using server = await vaultServer()
    const { address } = server
    await server[Symbol.asyncDispose]()
    const source = vaultSecrets({ address, token: async () => secret('t', TOKEN), clock, trying })
    await assert.rejects(turning(clock, source.resolve('svc', { signal })), {
      code: 'secrets-unavailable',
      message: /cannot be reached/,
    })
  })
})
