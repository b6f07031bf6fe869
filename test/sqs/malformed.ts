/**
 * Malformed requests by the thousand at a server with its data on disk, and what must hold however many there are:
 * it never says that it has failed, every refusal is one of those on the page, in the words of the protocol, and
 * what is there at the end, and after a start again, is what the answers have promised.
 *
 *   SQS_SEED=123 node --test test/sqs/malformed.slow.test.ts
 *
 * sends the requests of one seed again.
 */
import assert from 'node:assert/strict'
import { Agent, request as httpRequest } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { inspect } from 'node:util'

import type { Broker } from '../../src/broker/index.ts'
import { sqsErrors } from '../../src/broker/sqs/errors.ts'
import {
  freshSeed,
  isFault,
  random,
  silentLog,
  type Log,
  type Random,
} from '../../src/std/index.ts'
import { composed } from '../server/composed.ts'
import { jsonRequest, parseXml } from './calls.ts'
import { drawn, QUEUES, type Handle, type Mutated } from './mutations.ts'

const CLIENTS = 24
/** Of so many, one is bytes that may not be HTTP at all. */
const RAW_ONE_IN = 20

type Heard = Readonly<{
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  text: string
}>

/** What the answers have promised. */
class Promised {
  readonly sent: Set<string> = new Set()
  readonly deleted: Set<string> = new Set()
  /** What a changed request may have deleted. */
  readonly perhaps: Set<string> = new Set()
  /** By handle. */
  readonly #held = new Map<string, string>()
  readonly #unused: Handle[] = []

  takeHandle(): Handle | undefined {
    return this.#unused.pop()
  }

  note({ action, isRight, queue, handle }: Mutated, { status, text }: Heard): void {
    if (status !== 200) return
    const ids = [...text.matchAll(/"MessageId":"([^"]+)"|<MessageId>([^<]+)</g)].map(
      ([, json, xml]) => json ?? xml!,
    )
    if (action.startsWith('SendMessage')) for (const id of ids) this.sent.add(id)
    if (action === 'ReceiveMessage') {
      for (const id of ids) assert.ok(this.sent.has(id), `${id} was never sent`)
      const handles = text.matchAll(/"ReceiptHandle":"([^"]+)"|<ReceiptHandle>([^<]+)</g)
      if (isRight)
        for (const [at, [, json, xml]] of [...handles].entries()) {
          this.#held.set(json ?? xml!, ids[at]!)
          this.#unused.push({ handle: json ?? xml!, queue })
        }
    }
    const id = this.#held.get(handle)
    if (!action.startsWith('DeleteMessage') || id === undefined) return
    const isCertain = isRight && !/"Failed"|<BatchResultErrorEntry>/.test(text)
    ;(isCertain ? this.deleted : this.perhaps).add(id)
  }
}

export async function withstands(t: TestContext, count: number): Promise<void> {
  const seed = Number(process.env['SQS_SEED'] ?? freshSeed())
  t.diagnostic(`seed ${seed}`)
  const directory = mkdtempSync(join(tmpdir(), 'malformed-'))
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  const errors: string[] = []
  const log: Log = {
    ...silentLog,
    error: (message, fields) => void errors.push(`${message} ${inspect(fields)}`),
    child: () => log,
  }
  try {
    const server = await composed({ 'data.directory': directory }, log)
    const { url } = await server.start()
    const ask = (request: Asked): Promise<Heard> => asked(agent, url, request)
    const promised = new Promised()
    const codes = new Map<string, number>()
    const failures: string[] = []
    try {
      await prepare(ask)
      await campaign({ draw: random(seed), count, ask, url, promised, codes, failures })
      t.diagnostic(JSON.stringify(Object.fromEntries([...codes].toSorted(([, a], [, b]) => b - a))))
      assert.deepEqual(failures.slice(0, 5), [], `${failures.length} of seed ${seed}`)
      assert.deepEqual(errors, [])
      assert.ok(codes.size > 15, 'too few kinds of answers')
      await stillServes(ask)
    } finally {
      agent.destroy()
      await server.stop()
    }
    await keeps(directory, promised, t)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

type Asked = Pick<Mutated, 'method' | 'path' | 'headers' | 'body'>
type Asking = (request: Asked) => Promise<Heard>

function asked(agent: Agent, url: string, { method, path, headers, body }: Asked): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url,
      { agent, method, path, headers: { ...headers, 'content-length': body.length } },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (part: string) => (text += part))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        )
        response.on('error', reject)
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

async function prepare(ask: Asking): Promise<void> {
  const dead = JSON.stringify({
    deadLetterTargetArn: 'arn:aws:sqs:local:000000000000:fuzz-dead',
    maxReceiveCount: 1_000,
  })
  for (const QueueName of [...QUEUES, 'fuzz-conf', 'fuzz-waste']) {
    const Attributes = QueueName.endsWith('.fifo')
      ? { FifoQueue: 'true' }
      : QueueName === 'fuzz-frail'
        ? { RedrivePolicy: dead }
        : {}
    const made = await ask({
      method: 'POST',
      path: '/',
      ...jsonRequest('CreateQueue', { QueueName, Attributes }),
    })
    assert.equal(made.status, 200, made.text)
  }
}

async function campaign({
  draw,
  count,
  ask,
  url,
  promised,
  codes,
  failures,
}: Readonly<{
  draw: Random
  count: number
  ask: Asking
  url: string
  promised: Promised
  codes: Map<string, number>
  failures: string[]
}>): Promise<void> {
  let left = count
  const surroundings = { draw, origin: url, takeHandle: () => promised.takeHandle() }
  const client = async (): Promise<void> => {
    while (left > 0) {
      const request = drawn(surroundings)
      if (!request.isRight) left -= 1
      const isRaw = !request.isRight && left % RAW_ONE_IN === 0
      const noted = isRaw
        ? await rawOutcome(url, request, draw)
        : await outcome(ask, request, promised)
      codes.set(noted.code, (codes.get(noted.code) ?? 0) + 1)
      if (noted.trouble !== undefined) failures.push(`${noted.trouble}: ${shown(request)}`)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
}

type Outcome = Readonly<{ code: string; trouble?: string }>

async function outcome(ask: Asking, request: Mutated, promised: Promised): Promise<Outcome> {
  try {
    const heard = await ask(request)
    const code = judged(request, heard)
    promised.note(request, heard)
    return { code }
  } catch (error) {
    return { code: 'trouble', trouble: String(error) }
  }
}

/** The code of a refusal, or that it was none; throws where the answer has not the shape it must have. */
function judged(request: Mutated, heard: Heard): string {
  const { status, headers, text } = heard
  assert.ok(status >= 200 && status < 500, `${status} ${text}`)
  const type = String(headers['content-type'])
  const isSqs = type === 'application/x-amz-json-1.0' || type === 'text/xml'
  if (!isSqs || request.method === 'HEAD') {
    assert.ok(!request.isForSqs, `not an answer of SQS: ${status} ${type} ${text}`)
    return `other ${status}`
  }
  assert.ok(headers['x-amzn-requestid'] !== undefined)
  return type === 'text/xml' ? judgedXml(heard) : judgedJson(heard)
}

const BY_CODE = new Map(
  Object.values(sqsErrors).map((row) => [`${row.code} ${row.type}`, row] as const),
)
const CODES = new Set(Object.values(sqsErrors).map(({ code }) => code))

function judgedJson({ status, headers, text }: Heard): string {
  const { __type: type, ...answer } = JSON.parse(text)
  const said = String(headers['x-amzn-query-error'])
  if (status === 200) {
    assert.equal(said, 'undefined')
    for (const { Code } of answer.Failed ?? []) assert.ok(CODES.has(Code), Code)
    return 'right'
  }
  const code = said.replace(/;Sender$/, '')
  assert.equal(BY_CODE.get(`${code} ${type}`)?.status, status, `${said} ${text}`)
  assert.ok(typeof answer.message === 'string' && answer.message !== '')
  return code
}

function judgedXml({ status, text }: Heard): string {
  const root = parseXml(text)
  for (const [, code] of text.matchAll(/<Code>([^<]*)</g)) assert.ok(CODES.has(code!), code)
  if (status === 200) {
    assert.match(root.name, /Response$/)
    return 'right'
  }
  assert.equal(root.name, 'ErrorResponse')
  const [type, code, message] = root.children[0]!.children
  assert.equal(type?.text, 'Sender')
  assert.ok(message?.text !== '')
  const rows = Object.values(sqsErrors).filter((row) => row.code === code?.text)
  assert.ok(
    rows.some((row) => row.status === status),
    text,
  )
  return code!.text
}

/** Whatever comes back on a connection of its own, none of it is a failure. Messages come and go by others alone. */
async function rawOutcome(url: string, request: Mutated, draw: Random): Promise<Outcome> {
  const isHarmless = !/^(?:Send|Delete|Purge|Create)/.test(request.action)
  const action = isHarmless ? request.action : 'ListQueues'
  const target = `X-Amz-Target: AmazonSQS.${action}\r\n`
  const whole = Buffer.concat([
    Buffer.from(`POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${target}`),
    Buffer.from(
      `Content-Type: application/x-amz-json-1.0\r\nContent-Length: ${request.body.length}\r\n\r\n`,
    ),
    request.body,
  ])
  for (let changes = 1 + draw.below(3); changes > 0; changes--)
    whole[draw.below(Math.min(whole.length, 200))] = draw.below(256)
  const cut = draw.below(4) === 0 ? whole.subarray(0, draw.below(whole.length)) : whole
  const text = await rawAnswer(url, cut)
  const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 'closed'
  return /HTTP\/1\.1 5\d\d/.test(text)
    ? { code: 'trouble', trouble: `raw: ${text} to ${JSON.stringify(cut.toString('latin1'))}` }
    : { code: `raw ${status}` }
}

/** All that is answered until the end, of a connection that says no more than this. */
function rawAnswer(url: string, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const heard: Buffer[] = []
    const socket = connect(Number(port), hostname, () => socket.end(bytes))
    socket.on('data', (part) => heard.push(part))
    socket.on('error', () => {}) // it closes then
    socket.on('close', () => resolve(Buffer.concat(heard).toString('latin1')))
  })
}

async function stillServes(ask: Asking): Promise<void> {
  const sqs = (action: string, input: object): Promise<Heard> =>
    ask({ method: 'POST', path: '/', ...jsonRequest(action, input) })
  const { QueueUrl } = JSON.parse((await sqs('CreateQueue', { QueueName: 'after' })).text)
  await sqs('SendMessage', { QueueUrl, MessageBody: 'hello' })
  const got = JSON.parse((await sqs('ReceiveMessage', { QueueUrl })).text)
  assert.equal(got.Messages[0].Body, 'hello')
  const done = await sqs('DeleteQueue', { QueueUrl })
  assert.equal(done.status, 200)
}

/** Started again: what was sent and not deleted is there, and nothing else. */
async function keeps(directory: string, promised: Promised, t: TestContext): Promise<void> {
  await using server = await composed({ 'data.directory': directory })
  const there = await allIn(server.broker)
  const { sent, deleted, perhaps } = promised
  t.diagnostic(
    `${sent.size} sent, ${deleted.size} deleted, ${perhaps.size} perhaps, ${there.size} there`,
  )
  assert.deepEqual(
    [...there].filter((id) => !sent.has(id)),
    [],
    'never sent',
  )
  assert.deepEqual(
    [...deleted].filter((id) => there.has(id)),
    [],
    'deleted, and there',
  )
  const lost = [...sent].filter((id) => !there.has(id) && !deleted.has(id) && !perhaps.has(id))
  assert.deepEqual(lost, [], 'sent, and not there')
  assert.ok(sent.size > 100 && deleted.size > 50, 'too little was right')
}

async function allIn(broker: Broker): Promise<Set<string>> {
  const found = new Set<string>()
  const queues = broker.list({ account: '000000000000', region: 'local' }, { limit: 1_000 })
  assert.ok(queues.length < 1_000)
  for (const { name } of queues) {
    let after: number | undefined
    do {
      const page = await broker.browse(name, { limit: 100, ...(after !== undefined && { after }) })
      assert.ok(!isFault(page))
      for (const { messageId } of page.messages) {
        assert.ok(!found.has(messageId), `${messageId} is there twice`)
        found.add(messageId)
      }
      after = page.next
    } while (after !== undefined)
  }
  return found
}

function shown({ body, ...rest }: Mutated): string {
  return JSON.stringify({ ...rest, body: body.toString('utf8').slice(0, 1_500) })
}
