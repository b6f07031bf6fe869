import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'

import { Accident, fault } from '../../std/index.ts'
import type { TopicDirective } from '../bundle/directive.ts'
import { secretNotFound } from './accidents.ts'
import { credentialsFor, type Security } from './credentials.ts'
import { fieldsOf } from './fields.ts'
import { createMask, MASKED_CHARS_MIN } from './mask.ts'
import type { SecretSource } from './secrets.ts'

const { signal } = new AbortController()

type Stored = Readonly<Record<string, Readonly<Record<string, string>> | Error>>

function sourceOf(stored: Stored): SecretSource & { readonly asked: string[] } {
  const asked: string[] = []
  return {
    asked,
    async resolve(name) {
      asked.push(name)
      const fields = stored[name]
      if (fields instanceof Error) throw fields
      if (fields === undefined) throw secretNotFound(name, 'the test', 'put it there')
      return fieldsOf(name, fields)
    },
  }
}

function topic(
  name: string,
  principal?: string,
  more: Partial<TopicDirective> = {},
): TopicDirective {
  return {
    topic: name,
    role: 'producer',
    clientPrincipal: principal,
    eventFilters: [],
    metadata: {},
    bootstrapServers: undefined,
    keyFormat: 'none',
    valueFormat: 'json',
    schema: undefined,
    from: 'latest',
    create: undefined,
    line: 7,
    ...more,
  }
}

async function one(fields: Readonly<Record<string, string>>): Promise<unknown> {
  const source = sourceOf({ svc: fields })
  const { credentials } = await credentialsFor(
    { topics: [topic('t', 'svc')], secrets: [] },
    source,
    createMask(),
    signal,
  )
  const credential = credentials.get('t/producer')
  assert.ok(credential)
  return Object.fromEntries(
    Object.entries(credential).map(([key, value]) => [
      key,
      typeof value === 'object' ? `revealed ${value.reveal()}` : value,
    ]),
  )
}

describe('credentials', () => {
  // It fails without a `case` of `credentialFrom`.
  test('probe-V4: each mechanism is named by the fields of its secret', async () => {
    assert.deepEqual(await one({ username: 'u', password: 'hunter22' }), {
      type: 'plain',
      username: 'u',
      password: 'revealed hunter22',
      tls: true,
    })
    for (const mechanism of ['scram-sha-256', 'SCRAM-SHA-512'])
      assert.deepEqual(await one({ mechanism, password: 'hunter22', tls: 'false' }), {
        type: mechanism.toLowerCase(),
        username: 'svc',
        password: 'revealed hunter22',
        tls: false,
      })
    const oauth = { clientSecret: 'hunter22', tokenEndpoint: 'https://id.example.com/token' }
    assert.deepEqual(await one(oauth), {
      type: 'oauthbearer',
      clientId: 'svc',
      clientSecret: 'revealed hunter22',
      tokenEndpoint: 'https://id.example.com/token',
      scope: undefined,
    })
    assert.deepEqual(
      await one({ ...oauth, clientId: 'c', scope: 'a b', mechanism: 'OAuthBearer' }),
      {
        type: 'oauthbearer',
        clientId: 'c',
        clientSecret: 'revealed hunter22',
        tokenEndpoint: 'https://id.example.com/token',
        scope: 'a b',
      },
    )
  })

  test('a secret that says too little or something odd is refused, without its value', async () => {
    for (const [fields, words] of [
      [{ username: 'u' }, /it has no field password/],
      [{ password: 'abc' }, /too short to be told from other text/],
      [{ password: 'hunter22', mechanism: 'kerberos' }, /its mechanism is not known/],
      [{ password: 'hunter22', tls: 'yes' }, /tls is neither true nor false/],
      [{ clientSecret: 'hunter22' }, /tokenEndpoint is no URL/],
      [
        { clientSecret: 'hunter22', tokenEndpoint: 'file:///etc/passwd' },
        /tokenEndpoint is no URL/,
      ],
    ] as const)
      await assert.rejects(one(fields), (error) => {
        assert.ok(error instanceof Accident && error.code === 'bad-secret')
        assert.match(error.message, words)
        assert.match(error.message, /^the topic t has no credential as producer \(line 7\)/)
        assert.equal(inspect(error).includes('hunter22'), false)
        return true
      })
  })

  // It fails when `together` is not thrown: topics without a credential would be left out.
  test('probe-K5: a topic whose credential is not there is an error that names it, and all of them', async () => {
    const source = sourceOf({ known: { password: 'hunter22' } })
    const topics = [topic('a', 'unknown'), topic('b', 'known'), topic('c', 'other', { line: 9 })]
    await assert.rejects(
      credentialsFor({ topics, secrets: ['api'] }, source, createMask(), signal),
      (error) => {
        assert.ok(error instanceof Accident && error.code === 'secret-not-found')
        assert.deepEqual(error.detail['problems'], [
          'the topic a has no credential as producer (line 7): there is no secret unknown in the test',
          'the topic c has no credential as producer (line 9): there is no secret other in the test',
          'there is no secret api in the test',
        ])
        assert.match(error.message, /^the topic a has no credential .* \(and 2 more\)/)
        return true
      },
    )
  })

  test('a topic without a principal goes without a credential, and nothing is asked', async () => {
    const source = sourceOf({})
    const { credentials } = await credentialsFor(
      { topics: [topic('a'), topic('a', undefined, { role: 'consumer' })], secrets: [] },
      source,
      createMask(),
      signal,
    )
    assert.deepEqual(
      [...credentials],
      [
        ['a/producer', { type: 'none' }],
        ['a/consumer', { type: 'none' }],
      ],
    )
    assert.deepEqual(source.asked, [])
  })

  test('probe-V2: topics of one principal share one request', async () => {
    const source = sourceOf({ svc: { password: 'hunter22' } })
    const topics = ['a', 'b', 'c'].map((name) => topic(name, 'svc'))
    const { credentials } = await credentialsFor(
      { topics, secrets: ['svc'] },
      source,
      createMask(),
      signal,
    )
    assert.equal(credentials.size, 3)
    assert.deepEqual(source.asked, ['svc'])
  })

  test('values are known to the mask, and what is no secret stays readable', async () => {
    const mask = createMask()
    const source = sourceOf({
      svc: { username: 'svc-user', password: 'hunter22', extra: 'also-hidden' },
      api: { key: 'k-123456', username: 'eu' },
    })
    const security: Security = await credentialsFor(
      { topics: [topic('a', 'svc')], secrets: ['api'] },
      source,
      mask,
      signal,
    )
    assert.equal(
      mask.text('svc-user hunter22 also-hidden k-123456 eu'),
      'svc-user [secret] [secret] [secret] eu',
    )
    assert.equal(security.secrets.get('api')?.get('username')?.reveal(), 'eu')
    assert.equal(inspect(security, { depth: 9 }).includes('hunter22'), false)
  })

  test('a secret with a field that is too short to hide is refused', async () => {
    const directive = { topics: [], secrets: ['card'] }
    for (const field of ['value', 'pin']) {
      const resolved = async (text: string): Promise<unknown> => {
        const source = sourceOf({ card: { token: 'long enough', [field]: text } })
        return credentialsFor(directive, source, createMask(), signal)
      }
      await resolved('x'.repeat(MASKED_CHARS_MIN))
      await assert.rejects(resolved('x'.repeat(MASKED_CHARS_MIN - 1)), {
        code: 'bad-secret',
        message: new RegExp(`its field ${field} is too short`),
      })
    }
  })

  test('what may be better next time is thrown before what is wrong, and bugs before both', async () => {
    const passing = new Accident(fault('secrets-unavailable', 'sealed', { isTransient: true }))
    const topics = [topic('a', 'unknown'), topic('b', 'svc')]
    await assert.rejects(
      credentialsFor({ topics, secrets: [] }, sourceOf({ svc: passing }), createMask(), signal),
      { code: 'secrets-unavailable' },
    )
    await assert.rejects(
      credentialsFor(
        { topics, secrets: [] },
        sourceOf({ svc: new TypeError('bug') }),
        createMask(),
        signal,
      ),
      TypeError,
    )
  })
})
