/** Settings of the orchestrator that reach out of the process: each has the effect that is said of it. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { createServer as createSocketServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { directory } from '../../test/probe/bundles.ts'
import { DIRECTIVE } from '../../test/probe/fakes.ts'
import { passwordOf, portsOf, signal, type Values } from '../../test/server/probe-ports.ts'
import { putSecret } from '../probe/index.ts'

type Heard = AsyncDisposable &
  Readonly<{ url: string; port: number; requests: { url: string; headers: IncomingHttpHeaders }[] }>

/** Listens, writes down what it is asked, and refuses it. */
async function listener(): Promise<Heard> {
  const requests: { url: string; headers: IncomingHttpHeaders }[] = []
  const server = createServer((request, response) => {
    requests.push({ url: request.url ?? '', headers: request.headers })
    response.writeHead(403).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** What a fetch from S3 asks for first. */
async function askedOfS3(values: Values): Promise<{ url: string; headers: IncomingHttpHeaders }> {
  await using heard = await listener()
  process.env['AWS_ACCESS_KEY_ID'] ??= 'key-of-nobody'
  process.env['AWS_SECRET_ACCESS_KEY'] ??= 'secret-of-nobody'
  const endpoint = heard.url
  await using at = await portsOf({ 'probe.s3.endpoint': endpoint, ...values })
  using target = directory()
  const limits = at.ports.bundleLimits
  await assert.rejects(
    at.ports.storage.fetch('s3://bucket/tests', target.path, { limits, signal }),
    {
      code: 'storage-denied',
    },
  )
  return heard.requests[0]!
}

const TOPICS = [
  {
    topic: 'orders',
    role: 'producer',
    clientPrincipal: undefined,
    eventFilters: [],
    metadata: {},
    bootstrapServers: undefined,
    keyFormat: 'string',
    valueFormat: 'json',
    schema: undefined,
    from: 'latest',
    create: undefined,
    line: 1,
  },
] as const

/** Each fails without the line of `probe-feature.ts` that reads the setting. */
const EFFECTS: Readonly<Record<string, () => Promise<void>>> = {
  async 'probe.s3.endpoint'() {
    const { url } = await askedOfS3({ 'probe.s3.pathStyle': 'true' })
    assert.match(url, /^\/bucket/)
  },
  async 'probe.s3.region'() {
    const { headers } = await askedOfS3({ 'probe.s3.region': 'eu-north-1' })
    assert.match(headers.authorization ?? '', /\/eu-north-1\/s3\//)
  },
  async 'probe.secrets.file'() {
    using home = directory()
    const path = join(home.path, 'secrets.json')
    const passphrase = 'three words and a number'
    await putSecret({ path, passphrase: async () => passphrase }, 'svc', { password: 'from file' })
    const environment = { FLYTOWER_SECRETS_PASSPHRASE: passphrase }
    await using at = await portsOf({ 'probe.secrets.file': path }, environment)
    assert.equal(await passwordOf(at), 'from file')
  },
  async 'probe.secrets.passphraseFile'() {
    using home = directory({ passphrase: 'three words and a number\n' })
    const path = join(home.path, 'secrets.json')
    await putSecret({ path, passphrase: async () => 'three words and a number' }, 'svc', {
      password: 'from file',
    })
    const file = join(home.path, 'passphrase')
    const values = { 'probe.secrets.file': path, 'probe.secrets.passphraseFile': file }
    await using at = await portsOf(values)
    assert.equal(await passwordOf(at), 'from file')
    writeFileSync(file, 'other words and a number')
    await using wrong = await portsOf(values)
    await assert.rejects(passwordOf(wrong))
  },
  async 'probe.kafka.bootstrapServers'() {
    const heard = Promise.withResolvers<void>()
    const broker = createSocketServer((socket) => {
      heard.resolve()
      socket.destroy()
    })
    await new Promise<void>((resolve) => broker.listen(0, '127.0.0.1', resolve))
    const { port } = broker.address() as AddressInfo
    await using at = await portsOf({ 'probe.kafka.bootstrapServers': `127.0.0.1:${port}` })
    using evidence = directory()
    const security = {
      credentials: new Map([['orders/producer', { type: 'none' } as const]]),
      secrets: new Map(),
    }
    const [topic] = TOPICS
    const room = at.ports.openEvents({
      testId: 'a',
      bundle: { directory: '/', features: [], directive: { ...DIRECTIVE, topics: [topic] } },
      evidence: evidence.path,
      security,
      mask: at.ports.newMask(),
    })
    const leaving = new AbortController()
    const opening = room.openProducing(security, leaving.signal)
    await Promise.race([heard.promise, opening])
    leaving.abort()
    await opening.catch(() => undefined)
    await room.seal()
    broker.close()
  },
}

describe('the settings of the orchestrator', { timeout: 120_000 }, () => {
  for (const [name, shown] of Object.entries(EFFECTS))
    test(`probe-O9: ${name} has the effect that is said of it`, shown)
})
