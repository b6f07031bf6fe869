import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { directory } from '../../../test/probe/bundles.ts'
import { SECRET_CHARS_MAX, SECRET_FIELDS_MAX } from './fields.ts'
import {
  fileSecrets,
  listSecrets,
  PASSPHRASE_CHARS_MIN,
  passphraseFrom,
  putSecret,
  readSecretFile,
  removeSecret,
  type SecretFileOptions,
} from './file.ts'

const PASSPHRASE = 'correct horse battery'
const { signal } = new AbortController()

function fileIn(path: string, passphrase = PASSPHRASE): SecretFileOptions {
  return { path: join(path, 'secrets.json'), passphrase: async () => passphrase }
}

const changed = (base64: string): string => {
  const bytes = Buffer.from(base64, 'base64')
  bytes[0]! ^= 1
  return bytes.toString('base64')
}

describe('secret file', () => {
  test('what is put is resolved, listed by name and removed', async () => {
    using home = directory()
    const file = fileIn(home.path)
    await putSecret(file, 'svc/orders', { username: 'u', password: 'hunter22' })
    await putSecret(file, 'api-key', { value: 'k-123456' })
    const source = fileSecrets(file)
    assert.equal(
      (await source.resolve('svc/orders', { signal })).get('password')?.reveal(),
      'hunter22',
    )
    assert.deepEqual(await listSecrets(file), [
      { name: 'api-key', fields: ['value'] },
      { name: 'svc/orders', fields: ['password', 'username'] },
    ])

    assert.equal(await removeSecret(file, 'api-key'), true)
    assert.equal(await removeSecret(file, 'api-key'), false)
    assert.equal(await removeSecret(file, 'constructor'), false)
    await assert.rejects(source.resolve('api-key', { signal }), { code: 'secret-not-found' })
  })

  test('the file shows neither names nor values, is read by its owner alone and says which form it has', async () => {
    using home = directory()
    const file = fileIn(home.path)
    await putSecret(file, 'svc', { password: 'hunter22' })
    const text = readFileSync(file.path, 'utf8')
    const other = readFileSync(file.path, 'utf8')
    for (const word of ['svc', 'password', 'hunter22', PASSPHRASE])
      assert.equal(text.includes(word), false)
    assert.equal(statSync(file.path).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(home.path), ['secrets.json'])
    assert.equal(JSON.parse(text)['flytower-secrets'], 1)

    await putSecret(file, 'svc', { password: 'hunter22' })
    assert.notEqual(JSON.parse(readFileSync(file.path, 'utf8')).data, JSON.parse(other).data)
  })

  test('a wrong passphrase, a changed byte or header, and a later version are refused', async () => {
    using home = directory()
    const file = fileIn(home.path)
    await putSecret(file, 'svc', { password: 'hunter22' })
    const whole = JSON.parse(readFileSync(file.path, 'utf8'))
    const refusal = { code: 'secrets-unavailable', message: /^the secret file cannot be used: / }
    await assert.rejects(readSecretFile(fileIn(home.path, 'another passphrase')), refusal)

    const { scrypt } = whole
    for (const wrong of [
      { ...whole, data: changed(whole.data) },
      { ...whole, iv: changed(whole.iv) },
      { ...whole, tag: changed(whole.tag) },
      { ...whole, tag: whole.tag.slice(0, 8) },
      { ...whole, scrypt: { ...scrypt, salt: changed(scrypt.salt) } },
      { ...whole, scrypt: { ...scrypt, N: scrypt.N / 2 } },
      { ...whole, scrypt: { ...scrypt, N: 2 ** 40 } },
      { ...whole, scrypt: undefined },
      { ...whole, 'flytower-secrets': 2 },
      { other: 1 },
    ]) {
      writeFileSync(file.path, JSON.stringify(wrong))
      await assert.rejects(readSecretFile(file), refusal, JSON.stringify(wrong))
    }
    writeFileSync(file.path, 'not json')
    await assert.rejects(readSecretFile(file), refusal)
    writeFileSync(file.path, JSON.stringify(whole, undefined, 4))
    assert.deepEqual(await readSecretFile(file), { svc: { password: 'hunter22' } })
  })

  test('a secret that cannot be is not put, and the file stays as it is', async () => {
    using home = directory()
    const file = fileIn(home.path)
    await putSecret(file, 'a', { ['f'.repeat(10)]: 'x'.repeat(SECRET_CHARS_MAX) })
    for (const [name, fields] of [
      ['../a', { value: 'long enough' }],
      ['', { value: 'long enough' }],
      ['a b', { value: 'long enough' }],
      ['a', {}],
      ['a', { value: '' }],
      ['a', { token: 'long enough', pin: '427' }],
      ['a', { value: 'x'.repeat(SECRET_CHARS_MAX + 1) }],
      [
        'a',
        Object.fromEntries(
          Array.from({ length: SECRET_FIELDS_MAX + 1 }, (_, n) => [`f${n}`, 'long enough']),
        ),
      ],
    ] as const)
      await assert.rejects(putSecret(file, name, fields), { code: 'bad-secret' }, name)
    const short = fileIn(home.path, 'x'.repeat(PASSPHRASE_CHARS_MIN - 1))
    using empty = directory()
    await assert.rejects(
      putSecret({ ...short, path: join(empty.path, 's') }, 'a', { v: 'long enough' }),
      {
        code: 'secrets-unavailable',
      },
    )
    assert.deepEqual(readdirSync(empty.path), [])
    assert.deepEqual(await listSecrets(file), [{ name: 'a', fields: ['ffffffffff'] }])
  })

  test('a passphrase comes from the environment, or from the first line of a file', async () => {
    using home = directory({ key: `${PASSPHRASE}\r\nmore` })
    const file = join(home.path, 'key')
    assert.equal(await passphraseFrom({ variable: undefined, file })(), PASSPHRASE)
    assert.equal(
      await passphraseFrom({ variable: 'from the variable', file })(),
      'from the variable',
    )
    for (const from of [
      { variable: '', file: undefined },
      { variable: undefined, file: join(home.path, 'nothing') },
    ])
      await assert.rejects(passphraseFrom(from)(), { code: 'secrets-unavailable' })
  })

  test('an object’s own words are no secrets', async () => {
    using home = directory()
    const file = fileIn(home.path)
    await putSecret(file, 'a', { value: 'long enough' })
    for (const name of ['constructor', '__proto__', 'toString'])
      await assert.rejects(fileSecrets(file).resolve(name, { signal }), {
        code: 'secret-not-found',
      })
  })
})
