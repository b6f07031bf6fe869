/** Who is let in by brokers of Kafka and how, and topics that are created and deleted there. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createServer } from 'node:http'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import type { Credentials } from '../../src/probe/events/events.ts'
import { kafkaClusters } from '../../src/probe/events/kafka.ts'
import { createMask } from '../../src/probe/secrets/mask.ts'
import { lineLog, systemClock } from '../../src/std/index.ts'
import { never } from './cluster-conformance.ts'
import { guardedBroker, type GuardedBroker, type GuardedBrokerOptions } from './guarded-broker.ts'

const USER = 'someone'
const RIGHT = 'open-sesame'
const WRONG = 'wrong-guess'
const TOKEN = 'the-token'

/** A key and a certificate that nobody has signed. */
const tls = ((): { key: string; cert: string } => {
  const directory = mkdtempSync(join(tmpdir(), 'certificate-'))
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')]
  const request = 'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost'.split(' ')
  const where = ['-keyout', key, '-out', cert, '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync('openssl', [...request, ...where], { stdio: 'ignore' })
  const read = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  rmSync(directory, { recursive: true })
  return read
})()

function secretOf(value: string): {
  name: string
  reveal(): string
  toJSON(): string
  toString(): string
} {
  return {
    name: 'kafka',
    reveal: () => value,
    toJSON: () => '[secret]',
    toString: () => '[secret]',
  }
}

async function create(
  broker: GuardedBroker,
  credentials: Credentials,
  ca?: string,
): Promise<string[]> {
  const lines: string[] = []
  await using clusters = kafkaClusters({
    clusters: [broker],
    ...(ca !== undefined && { ca }),
    clock: systemClock,
    log: lineLog((line) => lines.push(line), { level: 'debug' }),
    newMask: createMask,
  })
  const cluster = clusters.open(undefined)
  try {
    assert.equal(await cluster.createTopic('orders', 3, credentials), true)
    assert.equal(broker.topics.get('orders'), 3)
    assert.equal(await cluster.createTopic('orders', 9, credentials), false)
    assert.equal(broker.topics.get('orders'), 3)
    const options = { credentials, signal: never }
    await using producer = await cluster.producer({ topic: 'orders', ...options })
    assert.ok(producer)
    await assert.rejects(cluster.producer({ topic: 'other', ...options }), {
      code: 'no-such-topic',
    })
    assert.equal(broker.topics.size, 1) // nothing is created by being named
    await cluster.deleteTopic('orders', credentials)
    assert.equal(broker.topics.size, 0)
    await assert.rejects(cluster.deleteTopic('orders', credentials), { code: 'no-such-topic' })
  } finally {
    assert.ok(lines.length > 0)
    for (const value of [RIGHT, WRONG, TOKEN])
      assert.ok(!lines.some((line) => line.includes(value)))
  }
  return lines
}

describe('a broker of Kafka', { concurrency: true, timeout: 60_000 }, () => {
  // Fails when `createTopic` or `deleteTopic` in kafka.ts does nothing, or when naming a topic creates it.
  for (const type of ['plain', 'scram-sha-256', 'scram-sha-512'] as const)
    for (const hasTls of [false, true]) {
      const mechanism = type.toUpperCase() as GuardedBrokerOptions['mechanism']
      test(`probe-K8: lets in with ${type} ${hasTls ? 'over TLS' : 'in the clear'} who has the secret, creates and deletes topics`, async () => {
        await using broker = await guardedBroker({
          mechanism,
          username: USER,
          password: RIGHT,
          ...(hasTls && { tls }),
        })
        const credentials = (password: string): Credentials => ({
          type,
          username: USER,
          password: secretOf(password),
          tls: hasTls,
        })
        await create(broker, credentials(RIGHT), tls.cert)
        await assert.rejects(create(broker, credentials(WRONG), tls.cert), {
          code: 'topic-denied',
        })
        assert.equal(broker.topics.size, 0)
      })
    }

  test('lets in with a token, which is asked for with the secret of the client', async () => {
    const endpoint = createServer((request, answer) => {
      const isRight =
        request.headers.authorization === `Basic ${Buffer.from(`me:${RIGHT}`).toString('base64')}`
      answer.writeHead(isRight ? 200 : 401).end(`{"access_token":"${TOKEN}","expires_in":300}`)
    })
    await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve))
    const tokenEndpoint = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/token`
    await using broker = await guardedBroker({
      mechanism: 'OAUTHBEARER',
      username: '',
      password: TOKEN,
      tls,
    })
    const credentials = (secret: string): Credentials => ({
      type: 'oauthbearer',
      clientId: 'me',
      clientSecret: secretOf(secret),
      tokenEndpoint,
      scope: undefined,
    })
    await create(broker, credentials(RIGHT), tls.cert)
    await assert.rejects(create(broker, credentials(WRONG), tls.cert), {
      code: 'topic-denied',
    })
    endpoint.closeAllConnections()
    await new Promise((resolve) => endpoint.close(resolve))
  })

  test('with a certificate that nobody vouches for is not told anything', async () => {
    await using broker = await guardedBroker({
      mechanism: 'PLAIN',
      username: USER,
      password: RIGHT,
      tls,
    })
    const credentials: Credentials = {
      type: 'plain',
      username: USER,
      password: secretOf(RIGHT),
      tls: true,
    }
    await assert.rejects(create(broker, credentials), {
      code: 'events-unavailable',
      message: /certificate/,
    })
  })
})
