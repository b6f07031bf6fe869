/**
 * Secrets that are looked for wherever a test leaves something, after steps have done everything with
 * them that a careless one could do. What was looked through is not empty: the same steps are seen to
 * have had the secrets, and what hides them is found in their place.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'

import { putSecret } from '../../src/probe/secrets/file.ts'
import { MAIN, shell } from '../server/processes.ts'
import { directory, type Files } from './bundles.ts'
import { E2E_MS_MAX, station } from './e2e.ts'

/** From the file, from the environment, and what the topics are used with. */
const TOKEN = `tok/CANARY7f3a9+"x"&<y>='z'`
const API_KEY = `käy\\CANARYb51c0"\n-line-CANARYb51c1`
const PASSWORD = 'pass-CANARYd0e44'
const SECRETS = [TOKEN, API_KEY, PASSWORD]
/** What is left of them whatever they were put through, as long as it was text. */
const CORES = ['CANARY7f3a9', 'CANARYb51c0', 'CANARYb51c1', 'CANARYd0e44']

const DIRECTIVE = `topics:
  - { topic: orders, role: producer, clientPrincipal: svc-orders }
  - { topic: orders, role: consumer, clientPrincipal: svc-orders }
secrets: [token, 'env:api-key']
`

const feature = (url: string): string => `Feature: secrets
  Scenario: a call that is answered with what it carried
    Given the request header "authorization" is the secret "token"
    When I GET "${url}/echo"
    Then the response status should be 418
  Scenario: a call to somewhere else
    Given the request header "authorization" is the secret "token"
    When I GET "http://127.0.0.1:1/"
  Scenario: an event that has it everywhere
    Given the secrets are produced
    When I should receive an event from topic "orders" within 60 seconds
    Then I print the event
    And the event should match JSONPath "$.token" with value "something else"
  Scenario: a step that prints
    Given the secrets are printed
  Scenario: a step that fails
    Given a step fails with the secrets
  Scenario: a step that compares
    Given a step compares the secrets
`

const STEPS = `import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { ask, Given, type World } from 'flytower/steps'

async function secrets(): Promise<string[]> {
  return [await ask('secret', { name: 'token' }), await ask('secret', { name: 'env:api-key' })]
}

function forms(value: string): string[] {
  const bytes = Buffer.from(value)
  return [
    value,
    JSON.stringify({ value }),
    JSON.stringify(JSON.stringify({ value })),
    inspect({ value }),
    bytes.toString('base64'),
    bytes.toString('base64url'),
    Buffer.from('user:' + value).toString('base64'),
    Buffer.from('me:' + value + '@').toString('base64'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    encodeURIComponent(value),
    new URLSearchParams({ value }).toString(),
    'https://user:' + encodeURIComponent(value) + '@host/path',
  ]
}

Given('the secrets are printed', async function (this: World) {
  for (const value of await secrets())
    for (const form of forms(value)) {
      console.log('printed', form)
      console.error('printed', form)
      const half = Math.floor(form.length / 2)
      await new Promise((done) => process.stdout.write(form.slice(0, half), done))
      await new Promise((done) => process.stdout.write(form.slice(half) + '\\n', done))
      this.log(form)
      this.attach(form, 'text/plain')
      this.attach(Buffer.from('bytes ' + form), 'application/octet-stream')
      this.attach(JSON.stringify({ [form]: form }), 'application/json')
    }
})
Given('a step fails with the secrets', async () => {
  throw new Error((await secrets()).flatMap(forms).join(' '), { cause: new Error((await secrets()).join()) })
})
Given('a step compares the secrets', async () => {
  assert.deepEqual({ secrets: await secrets() }, { secrets: [] })
})
Given('the secrets are produced', async () => {
  const [token = '', key = ''] = await secrets()
  await ask('produce', {
    topic: 'orders',
    type: 'order.placed',
    correlation: token,
    headers: { authorization: token, plain: Buffer.from(key).toString('base64') },
    value: { token, nested: { [token]: forms(key) } },
  })
})
`

const RUN_ONLY: Files = {
  'features/run.feature': 'Feature: f\n  Scenario: a step that prints\n    Given it prints\n',
  'topic-directive.yaml': "secrets: ['env:api-key']\n",
  'steps/run.ts': `import { ask, Given } from 'flytower/steps'
Given('it prints', async () => {
  const key = await ask('secret', { name: 'env:api-key' })
  console.log(key)
  throw new Error(key)
})
`,
}

test('no secret leaves a test, whatever its steps do', { timeout: E2E_MS_MAX }, async () => {
  using safe = directory({ passphrase: 'correct horse battery staple' })
  const file = { path: join(safe.path, 'secrets.json'), passphrase: async () => passphrase() }
  const passphrase = (): string => readFileSync(join(safe.path, 'passphrase'), 'utf8')
  await putSecret(file, 'token', { value: TOKEN })
  await putSecret(file, 'svc-orders', { username: 'svc-orders', password: PASSWORD })
  const heard: string[] = []
  await using echo = await echoing(heard)

  await using at = await station(
    {
      'log.level': 'debug',
      'log.requests': true,
      'probe.secrets.file': file.path,
      'probe.secrets.passphraseFile': join(safe.path, 'passphrase'),
      'probe.httpAllow': [echo.url, 'http://127.0.0.1:1'],
    },
    { FLYTOWER_SECRET_API_KEY: API_KEY },
  )
  const bundle = at.bundle({
    'features/secrets.feature': feature(echo.url),
    'topic-directive.yaml': DIRECTIVE,
    'steps/secrets.ts': STEPS,
  })
  const testId = await at.start(bundle, { 'test-type': 'canary' })
  const status = await at.ended(testId)
  assert.equal(status.outcome, 'failed', status.error)
  assert.deepEqual(heard, [TOKEN], 'the call carried the secret')

  const evidence = await at.evidence(testId)
  const log = String(evidence.get('run.log'))
  assert.ok(log.split('[secret]').length > 50, 'the log has what hides secrets')
  assert.match(String(evidence.get('events.jsonl')), /\[secret\]/)
  assert.match(JSON.stringify(status), /\[secret\]/)

  const left = new Map<string, Buffer | string>(evidence)
  left.set('log of the server', at.server.log.map((line) => JSON.stringify(line)).join('\n'))
  left.set('said by the server', at.server.said.join('\n'))
  left.set('feed', JSON.stringify(at.changes))
  for (const path of [
    `/api/v1/test/${testId}/status`,
    `/api/v1/test/${testId}/history`,
    `/api/v1/test/${testId}/evidence`,
    `/api/v1/tests`,
    `/api/v1/queue/status?testId=${testId}`,
    '/metrics',
    '/health',
  ]) {
    const response = await fetch(at.url + path)
    assert.equal(response.status, 200, path)
    left.set(path, await response.text())
  }
  await at.tidied()
  await at.server.stop('SIGTERM')
  for (const name of filesOf(at.directory)) left.set(name, readFileSync(join(at.directory, name)))
  assert.ok(left.has('data/journal.db'))
  assert.ok(left.size > 20, `${left.size} things were looked through`)
  assert.deepEqual(hitsIn(left), [])
})

test('no secret leaves a run without a server', { timeout: E2E_MS_MAX }, async () => {
  using place = directory()
  const bundle = join(place.path, 'bundle')
  for (const [name, content] of Object.entries(RUN_ONLY)) {
    mkdirSync(join(bundle, name, '..'), { recursive: true })
    writeFileSync(join(bundle, name), content)
  }
  const { code, out, err } = await shell(
    `FLYTOWER_SECRET_API_KEY="$(cat <<'END'\n${API_KEY}\nEND\n)" '${process.execPath}' '${MAIN}' run '${bundle}'`,
  )
  assert.equal(code, 1, out + err)
  assert.match(out, /\[secret\]/)
  const left = new Map<string, Buffer | string>([
    ['out', out],
    ['err', err],
  ])
  for (const name of filesOf(place.path)) left.set(name, readFileSync(join(place.path, name)))
  assert.ok(left.has('bundle/evidence/run.log'))
  assert.deepEqual(hitsIn(left), [])
})

/** Where a secret is, with what is around it. */
function hitsIn(left: ReadonlyMap<string, Buffer | string>): string[] {
  const wanted = [...CORES, ...SECRETS.flatMap(encodings)]
  return Array.from(left).flatMap(([name, content]) =>
    wanted.flatMap((form) => {
      const found = content.indexOf(form)
      if (found < 0) return []
      return [`${name}: ${String(content.slice(Math.max(0, found - 80), found + 80))}`]
    }),
  )
}

/** In base64 as it falls at each of three places; the ends depend on what is beside. */
function encodings(value: string): string[] {
  const bytes = Buffer.from(value)
  const within = [0, 1, 2].map((before) =>
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .slice(4, -4),
  )
  const hex = bytes.toString('hex')
  return [
    hex,
    hex.toUpperCase(),
    ...within,
    ...within.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
  ]
}

function filesOf(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1))
}

async function echoing(heard: string[]): Promise<AsyncDisposable & Readonly<{ url: string }>> {
  const server: Server = createServer((request, response) => {
    const { authorization = '' } = request.headers
    heard.push(authorization)
    response.setHeader('x-echo', authorization)
    response.end(JSON.stringify({ heard: authorization }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
