import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { describe, test } from 'node:test'

import { BODIES_BYTES_DEFAULT, HOME, queue } from '../broker/index.ts'
import { memoryJournal } from '../journal/index.ts'
import { createSystem } from '../kernel/index.ts'
import { silentLog, systemClock } from '../std/index.ts'
import { brokerFeature } from './broker-feature.ts'
import { compose, type Server } from './compose.ts'
import type { Config } from './config-keys.ts'
import { loadConfig, writtenConfig } from './config.ts'

type Settings = Readonly<Record<string, unknown>>

async function configOf(settings: Settings): Promise<Config> {
  const flags = Object.entries({ 'data.directory': 'memory', ...settings }).map(
    ([name, value]) => ({
      name,
      value: typeof value === 'string' ? value : JSON.stringify(value),
      flag: '--set',
    }),
  )
  const { config } = await loadConfig({ directory: tmpdir(), environment: {}, flags })
  return config
}

async function composed(settings: Settings = {}): Promise<Server> {
  return compose(await configOf(settings), { log: silentLog, version: '1.2.3' })
}

const TOKEN = { name: 'ann', sha256: 'a'.repeat(64), roles: ['admin'] }
const KEY = { accessKeyId: 'AKID', secretAccessKey: 'hush' }

async function hasWire(settings: Settings): Promise<boolean> {
  await using journal = await memoryJournal()
  await using system = createSystem()
  const config = await configOf(settings)
  const parts = { config, system, journal, clock: systemClock, log: silentLog }
  const feature = await brokerFeature(parts)
  await feature.close()
  return feature.wire !== undefined
}

describe('the broker in the server', () => {
  test('serves queues, and is in the server for programs', async () => {
    await using server = await composed()
    const { http } = server
    const made = await http.inject({ method: 'PUT', url: '/queues/jobs' })
    assert.equal(made.status, 201, made.text)
    const sent = await queue(server.broker, 'jobs').send({ id: 1 })
    assert.ok(sent.ok)
    const { text } = await http.inject({ url: '/queues/jobs/messages' })
    assert.match(text, /"body":"{\\"id\\":1}"/)
    const document = (await http.inject({ url: '/openapi.json' })).json() as {
      paths: Record<string, unknown>
    }
    assert.ok('/queues/{queue}/messages' in document.paths)
  })

  test('is where the config says', async () => {
    await using server = await composed({ 'broker.region': 'eu-1', 'broker.account': '42' })
    const made = await server.http.inject({ method: 'PUT', url: '/queues/jobs' })
    const { account, region } = made.json() as Settings
    assert.deepEqual([account, region], ['42', 'eu-1'])
  })

  test('is told by the config what it would do without one', async () => {
    const config = await configOf({})
    const { 'broker.account': account, 'broker.region': region } = config
    assert.deepEqual({ account, region }, HOME)
    assert.equal(config['broker.bodiesMax'], BODIES_BYTES_DEFAULT)
  })

  test('gives its figures, none of them by queue', async () => {
    await using server = await composed()
    await server.http.inject({ method: 'PUT', url: '/queues/secret-name' })
    await server.http.inject({
      method: 'POST',
      url: '/queues/secret-name/messages',
      body: { body: 'x' },
    })
    const { text } = await server.http.inject({ url: '/metrics' })
    assert.match(text, /^flytower_broker_queues 1$/m)
    assert.match(text, /^# TYPE flytower_broker_queues gauge$/m)
    assert.match(text, /^flytower_broker_sent_total 1$/m)
    assert.match(text, /^flytower_broker_ready 1$/m)
    assert.match(text, /^flytower_broker_message_bytes 1$/m)
    assert.match(text, /^# TYPE flytower_broker_message_bytes gauge$/m)
    assert.doesNotMatch(text, /secret-name/)
  })

  test('is one of the checks, and down when it is closed', async () => {
    await using journal = await memoryJournal()
    await using system = createSystem()
    const parts = {
      config: await configOf({}),
      system,
      journal,
      clock: systemClock,
      log: silentLog,
    }
    const feature = await brokerFeature(parts)
    assert.deepEqual(await feature.health(), [{ name: 'broker', up: true }])
    await feature.close()
    assert.deepEqual(await feature.health(), [{ name: 'broker', up: false, note: 'it is closed' }])
  })

  test('lets nobody in by the SQS wire who would have to say at the routes who they are', async () => {
    assert.equal(await hasWire({}), true)
    assert.equal(await hasWire({ 'auth.tokens': [TOKEN] }), false)
    assert.equal(await hasWire({ 'auth.tokens': [TOKEN], 'broker.sqs.keys': [KEY] }), true)
  })

  test('keeps its keys to itself', async () => {
    const policy = [{ effect: 'allow', actions: ['*'], queues: ['orders-*'] }]
    const config = await configOf({ 'broker.sqs.keys': [{ ...KEY, account: '7', policy }] })
    assert.deepEqual(writtenConfig(config)['broker.sqs.keys'], [
      { accessKeyId: 'AKID', secretAccessKey: '***', account: '7', policy },
    ])
    await assert.rejects(configOf({ 'broker.sqs.keys': [{ accessKeyId: 'AKID' }] }), {
      code: 'bad-config',
    })
  })
})
