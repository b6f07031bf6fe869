import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { Accident, fault, silentLog, systemClock } from '../../std/index.ts'
import { virtualClock } from '../../testkit/index.ts'
import { run } from '../cli.ts'
import { compose, type Server } from '../compose.ts'
import { loadConfig } from '../config.ts'
import type { Io } from '../io.ts'
import {
  createQueue,
  listQueues,
  pauseQueue,
  peekMessages,
  purgeQueue,
  receiveMessages,
  redriveMessages,
  sendMessage,
  tailMessages,
  type QueueCall,
} from './queue.ts'
import type { QueueServer } from './queue-server.ts'

type Json = Readonly<Record<string, unknown>>

type Desk = QueueCall & Readonly<{ said: () => string; server: QueueServer }> & AsyncDisposable

/** Asks a server in this process, without a socket. */
async function desk(over: Partial<{ json: boolean; clock: Io['clock'] }> = {}): Promise<Desk> {
  const flags = [{ name: 'data.directory', value: 'memory', flag: '--memory' }]
  const { config } = await loadConfig({ directory: tmpdir(), environment: {}, flags })
  const running = await compose(config, { log: silentLog, version: '1' })
  let out = ''
  return {
    server: overInjection(running),
    json: over.json ?? false,
    io: { ...ioOf((text) => (out += text)), clock: over.clock ?? systemClock },
    said() {
      const text = out
      out = ''
      return text
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}

function overInjection({ http }: Server): QueueServer {
  return {
    async ask(method, path, { body, query = {} } = {}) {
      const fields = Object.entries(query).filter(([, value]) => value !== undefined)
      const text = fields.map(([name, value]) => `${name}=${String(value)}`).join('&')
      const url = text === '' ? path : `${path}?${text}`
      const answer = await http.inject({ method, url, ...(body !== undefined && { body }) })
      const told = answer.json() as Json
      if (answer.status < 400) return told
      throw new Accident(fault('server-refused', String(told['detail']), { reason: told['code'] }))
    },
  }
}

function ioOf(out: (text: string) => void): Io {
  return {
    out,
    err: () => undefined,
    isWatched: false,
    environment: {},
    directory: tmpdir(),
    clock: systemClock,
    self: 'flytower',
    versions: { product: '1', node: 'v24.12.0' },
  }
}

async function withDead(at: Desk): Promise<void> {
  await createQueue(at, 'jobs', { settings: ['maxReceives=1'], tags: [] })
  for (const body of ['one', 'two']) await sendMessage(at, 'jobs', { body })
  const held = await at.server.ask('POST', '/queues/jobs/deliveries', { body: { max: 2 } })
  const settlements = (held['deliveries'] as Json[]).map(({ receipt }) => ({
    type: 'nack',
    receipt,
    reason: 'no',
  }))
  await at.server.ask('POST', '/queues/jobs/settlements', { body: { settlements } })
  at.said()
}

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'queue-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

describe('queue ls', () => {
  test('shows queues with what is in them', async () => {
    await using at = await desk()
    await listQueues(at, '')
    assert.equal(at.said(), 'there are no queues\n')
    for (const name of ['orders', 'jobs']) await createQueue(at, name, { settings: [], tags: [] })
    await sendMessage(at, 'jobs', { body: 'x' })
    await pauseQueue(at, 'orders', { receive: true, send: true })
    at.said()

    assert.equal(await listQueues(at, ''), 0)
    const [head, jobs, orders] = at.said().trimEnd().split('\n')
    assert.match(head!, /^queue +ready +delayed +leased +oldest +paused$/)
    assert.match(jobs!, /^jobs +1 +0 +0 +\d+s$/)
    assert.match(orders!, /^orders +0 +0 +0 +receive\+send$/)
    await listQueues(at, 'or')
    assert.equal(at.said().split('\n').length, 3)
  })
})

describe('queue create', () => {
  test('takes settings as JSON or as they are', async () => {
    await using at = await desk({ json: true })
    const settings = [
      'maxReceives=3',
      'deadLetterQueue=dead',
      'backoff={"baseMs":50}',
      'overflow=block',
    ]
    assert.equal(await createQueue(at, 'jobs', { settings, tags: ['team=a=b'] }), 0)
    const { config, tags } = JSON.parse(at.said()) as { config: Json; tags: Json }
    const { maxReceives, deadLetterQueue, overflow } = config
    assert.deepEqual([maxReceives, deadLetterQueue, overflow], [3, 'dead', 'block'])
    assert.deepEqual([tags, (config['backoff'] as Json)['baseMs']], [{ team: 'a=b' }, 50])
    const wrong = createQueue(at, 'jobs', { settings: ['maxReceives'], tags: [] })
    await assert.rejects(wrong, { code: 'bad-usage' })
  })

  test('says where dead letters go', async () => {
    await using at = await desk()
    await createQueue(at, 'jobs', { settings: [], tags: [] })
    await createQueue(at, 'none', { settings: ['deadLetterQueue=false'], tags: [] })
    assert.equal(at.said(), 'jobs is there; dead letters go to jobs_dlq\nnone is there\n')
  })
})

describe('queue send, receive and peek', () => {
  test('show what was sent, and take it only when told', async () => {
    await using at = await desk()
    await createQueue(at, 'jobs', { settings: [], tags: [] })
    at.said()
    await sendMessage(at, 'jobs', { body: 'line 1\nline 2' })
    const id = at.said().trim()
    assert.match(id, /^[0-9a-f-]{36}$/)
    await peekMessages(at, 'jobs', { limit: 10, isDead: false })
    assert.equal(at.said(), `${id}  ready, received 0 times\n  line 1\n  line 2\n`)

    await receiveMessages(at, 'jobs', { max: 1, waitMs: 0, deletes: true })
    assert.match(at.said(), new RegExp(`^${id} .*received 1 times\n.*\n.*\n  receipt \\S+\n$`))
    await peekMessages(at, 'jobs', { limit: 10, isDead: false })
    await receiveMessages(at, 'jobs', { max: 1, waitMs: 0, deletes: true })
    assert.equal(at.said(), 'there are no messages\nnothing came\n')
  })

  test('cut what is long, and say what was there before', async () => {
    await using at = await desk()
    await createQueue(at, 'line.fifo', { settings: [], tags: [] })
    const message = { body: 'x'.repeat(201), group: 'g', dedupId: '1' }
    await sendMessage(at, 'line.fifo', message)
    await sendMessage(at, 'line.fifo', message)
    assert.match(at.said(), /, which was there already\n$/)
    await peekMessages(at, 'line.fifo', { limit: 10, isDead: false })
    assert.match(at.said(), /\n {2}x{200}…\n$/)
  })

  test('leave a message that was not deleted in the hands of whoever received it', async () => {
    await using at = await desk({ json: true })
    await createQueue(at, 'jobs', { settings: [], tags: [] })
    await sendMessage(at, 'jobs', { body: 'x' })
    at.said()
    await receiveMessages(at, 'jobs', { max: 1, waitMs: 0, deletes: false })
    const { deliveries } = JSON.parse(at.said()) as { deliveries: Json[] }
    assert.equal(deliveries[0]?.['receives'], 1)
    await peekMessages(at, 'jobs', { limit: 10, state: 'leased', isDead: false })
    assert.equal((JSON.parse(at.said()) as { messages: Json[] }).messages.length, 1)
  })

  test('say when a message was shown and could not be deleted', async () => {
    await using at = await desk()
    await createQueue(at, 'jobs', { settings: [], tags: [] })
    await sendMessage(at, 'jobs', { body: 'x' })
    const { server } = at
    const failing: QueueServer = {
      ask: async (method, path, sent) =>
        path.endsWith('/settlements')
          ? { settled: [{ ok: false, detail: 'the disk is full' }] }
          : server.ask(method, path, sent),
    }
    const call = { ...at, server: failing }
    const received = receiveMessages(call, 'jobs', { max: 1, waitMs: 0, deletes: true })
    await assert.rejects(received, { message: /the disk is full/ })
  })
})

describe('queue tail', () => {
  test('shows what is there, then what comes', async () => {
    const clock = virtualClock()
    await using at = await desk({ clock })
    await createQueue(at, 'jobs', { settings: [], tags: [] })
    for (const body of ['one', 'two']) await sendMessage(at, 'jobs', { body })
    at.said()
    const asked = Promise.withResolvers<void>()
    const { server } = at
    let pages = 0
    const counting: QueueServer = {
      async ask(method, path, sent) {
        const answer = await server.ask(method, path, sent)
        if (++pages === 2) asked.resolve()
        return answer
      },
    }
    const tailing = tailMessages({ ...at, server: counting }, 'jobs', { count: 3 })
    await asked.promise // it has found that there are no more, and waits
    await sendMessage({ ...at, io: ioOf(() => undefined) }, 'jobs', { body: 'three' })
    clock.advance(250)
    assert.equal(await tailing, 0)
    assert.deepEqual(at.said().match(/^ {2}\w+$/gm), ['  one', '  two', '  three'])
  })

  test('is a line of JSON for each where machines read it', async () => {
    await using at = await desk({ json: true })
    await createQueue(at, 'jobs', { settings: [], tags: [] })
    for (const body of ['one', 'two', 'three']) await sendMessage(at, 'jobs', { body })
    at.said()
    await tailMessages(at, 'jobs', { count: 2 })
    const lines = at.said().trimEnd().split('\n')
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as Json)['body']),
      ['one', 'two'],
    )
  })
})

describe('queue redrive and purge', () => {
  test('show dead letters with why they died, and take them back', async () => {
    await using at = await desk()
    await withDead(at)
    await peekMessages(at, 'jobs', { limit: 1, isDead: true })
    assert.match(at.said(), /last failure: no\n {2}one\n$/)
    assert.equal(await redriveMessages(at, 'jobs', { waits: true }), 0)
    assert.equal(at.said(), '2 of 2 moved, completed\n')
    await peekMessages(at, 'jobs', { limit: 1, isDead: true })
    assert.equal(at.said(), 'there are no dead letters\n')
  })

  test('need not be waited for', async () => {
    await using at = await desk({ json: true })
    await withDead(at)
    assert.equal(await redriveMessages(at, 'jobs', { search: 'two', waits: false }), 0)
    assert.equal((JSON.parse(at.said()) as Json)['state'], 'running')
  })

  test('end with trouble where the move has failed', async () => {
    await using at = await desk()
    const failed = { task: 't', state: 'failed', moved: 1, toMove: 2, reason: 'the disk is full' }
    const server: QueueServer = { ask: async () => failed }
    assert.equal(await redriveMessages({ ...at, server }, 'jobs', { waits: true }), 1)
    assert.equal(at.said(), '1 of 2 moved, failed: the disk is full\n')
  })

  test('delete messages, or dead letters', async () => {
    await using at = await desk()
    await withDead(at)
    await sendMessage(at, 'jobs', { body: 'x' })
    at.said()
    await purgeQueue(at, 'jobs', { isDead: false, includeLeased: false })
    await purgeQueue(at, 'jobs', { isDead: true, includeLeased: false })
    assert.equal(at.said(), '1 messages are gone\n2 messages are gone\n')
  })
})

describe('queue pause and resume', () => {
  test('say what is so from then on', async () => {
    await using at = await desk()
    await createQueue(at, 'jobs', { settings: [], tags: [] })
    at.said()
    await pauseQueue(at, 'jobs', { receive: true, send: false })
    await pauseQueue(at, 'jobs', { receive: false, send: false })
    assert.equal(at.said(), 'jobs is paused: receive\njobs goes on\n')
  })
})

describe('the command line of queues', () => {
  type Heard = { code: number; out: string; err: string }

  async function heard(args: readonly string[], directory = tmpdir()): Promise<Heard> {
    const said: Heard = { code: -1, out: '', err: '' }
    const io = ioOf((text) => (said.out += text))
    said.code = await run(args, { ...io, directory, err: (text) => (said.err += text) })
    return said
  }

  test('refuses what it does not understand, and ends with 2', async () => {
    for (const [args, why] of [
      [['queue', 'lst'], /Did you mean ls\?/],
      [['queue', 'send', 'jobs'], /missing required argument 'body'/],
      [['queue', 'send', 'jobs', 'x', '--priority', 'high'], /whole number from 0/],
      [['queue', 'receive', 'jobs', '--wait', '61s'], /duration such as/],
      [['queue', 'receive', 'jobs', '--max', '0'], /whole number from 1/],
      [['queue', 'ls', '--url', 'ftp://here'], /^bad-usage: .*http:\/\//s],
    ] as const) {
      const { code, err } = await heard(args)
      assert.match(err, why)
      assert.equal(code, 2)
    }
  })

  test('says when nobody answers, and ends with 1', async (t) => {
    const directory = folder(t)
    // Nobody listens at the port for discarding.
    const { code, err } = await heard([
      'queue',
      'ls',
      '--set',
      'listen.port=9',
      '--data',
      directory,
    ])
    assert.match(err, /^server-unreachable: nobody answers at http:\/\/127.0.0.1:9\/queues/)
    assert.equal(code, 1)
    const json = await heard(['queue', 'ls', '--url', 'http://127.0.0.1:9', '--json'], directory)
    assert.equal((JSON.parse(json.out) as Json)['code'], 'server-unreachable')
  })

  test('has help for every verb', async () => {
    const { out } = await heard(['queue', '--help'])
    for (const verb of [
      'ls',
      'create',
      'send',
      'receive',
      'peek',
      'tail',
      'redrive',
      'purge',
      'pause',
    ])
      assert.match(out, new RegExp(`^  ${verb} `, 'm'))
  })
})
