import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'

import { Accident } from '../../std/index.ts'
import { environmentSecrets, secretVariable } from './environment.ts'
import { secret } from './secret.ts'
import type { SecretSource } from './secrets.ts'
import { onceEach, secretSources } from './sources.ts'

const { signal } = new AbortController()

function counting(): SecretSource & { readonly asked: string[] } {
  const asked: string[] = []
  return {
    asked,
    async resolve(name) {
      asked.push(name)
      await Promise.resolve()
      if (name === 'broken' && asked.length === 1) throw new Error('broken')
      return new Map([['value', secret(name, `value of ${name}`)]])
    },
  }
}

describe('environment', () => {
  test('a secret is a variable, with fields where it is an object', async () => {
    assert.equal(secretVariable('svc-orders.eu/1'), 'FLYTOWER_SECRET_SVC_ORDERS_EU_1')
    const source = environmentSecrets({
      FLYTOWER_SECRET_API_KEY: 'k-11',
      FLYTOWER_SECRET_SVC: '{"username":"u","password":"{pw}"}',
      FLYTOWER_SECRET_PIN: '{"token":"long enough","pin":"427"}',
      FLYTOWER_SECRET_SHORT: '427',
      FLYTOWER_SECRET_ODD: '{not json',
      FLYTOWER_SECRET_EMPTY: '',
    })
    const fields = async (name: string): Promise<unknown> =>
      [...(await source.resolve(name, { signal }))].map(([field, one]) => [field, one.reveal()])
    assert.deepEqual(await fields('api-key'), [['value', 'k-11']])
    assert.deepEqual(await fields('svc'), [
      ['username', 'u'],
      ['password', '{pw}'],
    ])
    assert.deepEqual(await fields('odd'), [['value', '{not json']])
    for (const [name, words] of [
      ['pin', /the secret pin cannot be used: its field pin is too short/],
      ['short', /its field value is too short/],
    ] as const)
      await assert.rejects(source.resolve(name, { signal }), (error) => {
        assert.ok(error instanceof Accident && error.code === 'bad-secret')
        assert.match(error.message, words)
        assert.equal(inspect(error).includes('427'), false)
        return true
      })
    for (const name of ['empty', 'nothing'])
      await assert.rejects(fields(name), {
        code: 'secret-not-found',
        message: /set FLYTOWER_SECRET_/,
      })
  })
})

describe('sources', () => {
  // It fails when `stores` are not looked up by the prefix.
  test('probe-V3: file, environment and Vault are stores side by side, and a name can say which', async () => {
    const stores = { file: counting(), env: counting(), vault: counting() }
    const source = secretSources({ default: 'file', stores })
    await source.resolve('a', { signal })
    await source.resolve('env:b', { signal })
    await source.resolve('vault:team/c', { signal })
    assert.deepEqual(
      [stores.file.asked, stores.env.asked, stores.vault.asked],
      [['a'], ['b'], ['team/c']],
    )

    const some = secretSources({ default: 'env', stores: { env: stores.env } })
    for (const [name, words] of [
      ['file:a', /the store file is not set up.*probe\.secrets\.file.*FLYTOWER_SECRETS_PASSPHRASE/],
      ['vault:a', /the store vault is not set up.*probe\.vault\.address/],
      ['other:a', /there is no store other.*use one of env/],
      ['constructor:a', /there is no store constructor/],
    ] as const)
      await assert.rejects(some.resolve(name, { signal }), { code: 'bad-secret', message: words })
  })

  // It fails without `known` in `onceEach`.
  test('probe-V2: in one run a secret is asked for once, by however many at the same time', async () => {
    const store = counting()
    const source = onceEach(store)
    const both = await Promise.all([
      source.resolve('a', { signal }),
      source.resolve('a', { signal }),
    ])
    await source.resolve('a', { signal })
    assert.equal(both[0], both[1])
    assert.deepEqual(store.asked, ['a'])
  })

  test('what failed is asked for again', async () => {
    const store = counting()
    const source = onceEach(store)
    await assert.rejects(source.resolve('broken', { signal }))
    await source.resolve('broken', { signal })
    assert.deepEqual(store.asked, ['broken', 'broken'])
  })
})
