/**
 * A broker with the SQS wire, asked without a socket, in either protocol: what is given and what comes back have
 * the names and kinds of AWS JSON. The query protocol is written and read here by tables of its own.
 */
import { createSystem } from '../../src/kernel/index.ts'
import { memoryJournal } from '../../src/journal/index.ts'
import type { RawReply, RawRequest, RawService } from '../../src/http/index.ts'
import { createBroker, sqsWire, type Broker, type SqsOptions } from '../../src/broker/index.ts'
import { afterIo, silentLog } from '../../src/std/index.ts'
import { virtualClock, type VirtualClock } from '../../src/testkit/index.ts'

export type Protocol = 'json' | 'query'
export const PROTOCOLS: readonly Protocol[] = ['json', 'query']

export type Answer = Readonly<{
  status: number
  /** The code of an error as clients get to see it, in both protocols. */
  code?: string
  message?: string
  /** Of AWS JSON only. */
  type?: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests know what they asked for
  output: any
  headers: Readonly<Record<string, string>>
  text: string
}>

export type Ask = (action: string, input?: Readonly<Record<string, unknown>>) => Promise<Answer>

export interface Sqs extends AsyncDisposable {
  readonly wire: RawService
  readonly broker: Broker
  readonly clock: VirtualClock
  /** An ask in one protocol. */
  in(protocol: Protocol, headers?: Readonly<Record<string, string>>): Ask
  send(request: Partial<RawRequest>): Promise<RawReply>
  /** Turns the clock and lets everything happen that follows. */
  pass(ms: number): Promise<void>
}

export const HOST = 'localhost:9324'
export const ACCOUNT = '000000000000'

export function urlOf(name: string): string {
  return `http://${HOST}/${ACCOUNT}/${name}`
}

export function arnOf(name: string): string {
  return `arn:aws:sqs:local:${ACCOUNT}:${name}`
}

export async function sqs(options: Partial<SqsOptions> = {}): Promise<Sqs> {
  const clock = virtualClock()
  const system = createSystem({ clock, log: silentLog })
  const journal = await memoryJournal({ clock })
  const broker = await createBroker({ system, journal })
  const wire = sqsWire({ broker, clock, options: { keys: 'off', ...options } })

  async function send(request: Partial<RawRequest>): Promise<RawReply> {
    const { signal } = new AbortController()
    const whole = {
      method: 'POST',
      url: '/',
      headers: {},
      body: Buffer.alloc(0),
      signal,
      ...request,
    }
    return wire.answer({ ...whole, headers: { host: HOST, ...whole.headers } })
  }

  return {
    wire,
    broker,
    clock,
    send,
    in:
      (protocol, headers = {}) =>
      async (action, input = {}) =>
        protocol === 'json'
          ? fromJson(
              await send({
                ...jsonRequest(action, input),
                headers: { ...jsonRequest(action, input).headers, ...headers },
              }),
            )
          : fromXml(
              await send({ ...queryRequest(action, input), headers: { ...FORM, ...headers } }),
            ),
    async pass(ms) {
      await settled()
      clock.advance(ms)
      await settled()
    },
    async [Symbol.asyncDispose]() {
      await broker.close()
      await journal.close()
      await system[Symbol.asyncDispose]()
    },
  }
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }

export function jsonRequest(
  action: string,
  input: unknown,
): Readonly<{ headers: Record<string, string>; body: Buffer }> {
  return {
    headers: {
      'x-amz-target': `AmazonSQS.${action}`,
      'content-type': 'application/x-amz-json-1.0',
    },
    body: Buffer.from(JSON.stringify(input)),
  }
}

export function queryRequest(
  action: string,
  input: Readonly<Record<string, unknown>>,
): Readonly<{ headers: Record<string, string>; body: Buffer }> {
  const fields = new URLSearchParams({ Action: action, Version: '2012-11-05' })
  for (const [name, value] of Object.entries(input)) flatten(fields, action, name, value)
  return { headers: FORM, body: Buffer.from(fields.toString()) }
}

/** Everything that does not wait for time has happened. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await new Promise<void>((resolve) => afterIo(resolve))
}

function fromJson(reply: RawReply): Answer {
  const headers = headersOf(reply)
  const { __type: type, message, ...output } = JSON.parse(reply.text)
  const code = headers['x-amzn-query-error']?.replace(/;.*/, '')
  return {
    status: reply.status,
    ...(code !== undefined && { code, message, type }),
    output,
    headers,
    text: reply.text,
  }
}

const LISTS: Readonly<Record<string, string>> = {
  AttributeNames: 'AttributeName',
  MessageSystemAttributeNames: 'MessageSystemAttributeName',
  MessageAttributeNames: 'MessageAttributeName',
  TagKeys: 'TagKey',
  AWSAccountIds: 'AWSAccountId',
  Actions: 'ActionName',
}

const MAPS: Readonly<Record<string, readonly [string, string]>> = {
  Attributes: ['Attribute', 'Name'],
  tags: ['Tag', 'Key'],
  Tags: ['Tag', 'Key'],
  MessageAttributes: ['MessageAttribute', 'Name'],
  MessageSystemAttributes: ['MessageSystemAttribute', 'Name'],
}

function flatten(fields: URLSearchParams, action: string, name: string, value: unknown): void {
  const last = name.split('.').at(-1)!
  const prefix = name.slice(0, name.length - last.length)
  if (Array.isArray(value)) {
    const item = last === 'Entries' ? `${action}RequestEntry` : (LISTS[last] ?? last)
    // Chance may have given it another prototype.
    for (let index = 0; index < value.length; index++)
      flatten(fields, action, `${prefix}${item}.${index + 1}`, value[index])
  } else if (typeof value === 'object' && value !== null) {
    const map = MAPS[last]
    if (map === undefined)
      for (const [key, inner] of Object.entries(value))
        flatten(fields, action, `${name}.${key}`, inner)
    else
      for (const [index, [key, inner]] of Object.entries(value).entries()) {
        fields.set(`${prefix}${map[0]}.${index + 1}.${map[1]}`, key)
        flatten(fields, action, `${prefix}${map[0]}.${index + 1}.Value`, inner)
      }
  } else if (value !== undefined)
    fields.set(name, typeof value === 'string' ? value : JSON.stringify(value))
}

type Node = Readonly<{ name: string; children: readonly Node[]; text: string }>

/** Enough of XML to read what is well-formed and has no attributes that matter; throws for the rest. */
export function parseXml(text: string): Node {
  let at = text.indexOf('?>') + 2
  const node = (): Node => {
    const open = /^<([A-Za-z0-9]+)(?: xmlns="[^"<]*")?(\/)?>/.exec(text.slice(at, at + 200))
    if (open === null) throw new Error(`no element at ${text.slice(at, at + 60)}`)
    at += open[0].length
    const name = open[1]!
    if (open[2] !== undefined) return { name, children: [], text: '' }
    const children: Node[] = []
    let content = ''
    for (;;) {
      if (text.startsWith(`</${name}>`, at)) {
        at += name.length + 3
        return { name, children, text: content }
      }
      if (text[at] === '<') children.push(node())
      else {
        const end = text.indexOf('<', at)
        if (end === -1) throw new Error('an element that does not end')
        content += unescaped(text.slice(at, end))
        at = end
      }
    }
  }
  const root = node()
  if (at !== text.length) throw new Error('something behind the end')
  return root
}

function unescaped(text: string): string {
  if (/[>"'\r]/.test(text)) throw new Error(`not escaped: ${text}`)
  return text.replace(/&([^;]*);/g, (_, name: string) => {
    const known: Record<string, string> = {
      amp: '&',
      lt: '<',
      gt: '>',
      quot: '"',
      apos: "'",
      '#xD': '\r',
    }
    if (known[name] === undefined) throw new Error(`no entity: ${name}`)
    return known[name]
  })
}

function fromXml(reply: RawReply): Answer {
  const root = parseXml(reply.text)
  const shared = { status: reply.status, headers: headersOf(reply), text: reply.text }
  if (root.name === 'ErrorResponse') {
    const said = root.children.find(({ name }) => name === 'Error')!
    const [code, message] = ['Code', 'Message'].map((name) => textIn(said, name)!)
    return { ...shared, code: code!, message: message!, output: {} }
  }
  const result = root.children.find(({ name }) => name.endsWith('Result'))
  return { ...shared, output: result === undefined ? {} : structureOf(result) }
}

const ITEMS: Readonly<Record<string, string>> = {
  QueueUrl: 'QueueUrls',
  Message: 'Messages',
  BatchResultErrorEntry: 'Failed',
  SendMessageBatchResultEntry: 'Successful',
  DeleteMessageBatchResultEntry: 'Successful',
  ChangeMessageVisibilityBatchResultEntry: 'Successful',
  ListMessageMoveTasksResultEntry: 'Results',
}

const ENTRIES: Readonly<Record<string, string>> = {
  Attribute: 'Attributes',
  MessageAttribute: 'MessageAttributes',
  Tag: 'Tags',
}

const NUMBERS =
  /^(?:ApproximateNumberOfMessages(?:Moved|ToMove)|StartedTimestamp|MaxNumberOfMessagesPerSecond)$/

function structureOf(of: Node): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  const isList = /^List(?:Queues|DeadLetterSourceQueues)Result$/.test(of.name)
  for (const child of of.children) {
    const list = child.name === 'QueueUrl' && !isList ? undefined : ITEMS[child.name]
    const listName = of.name.startsWith('ListDeadLetter') ? 'queueUrls' : list
    const map = ENTRIES[child.name]
    const value = child.children.length > 0 ? structureOf(child) : scalarOf(child)
    if (list !== undefined && child.name !== 'Message') push(found, listName!, value)
    else if (child.name === 'Message' && child.children.length > 0) push(found, 'Messages', value)
    else if (map !== undefined) {
      const inner = child.children.find(({ name }) => name === 'Value')!
      const key = textIn(child, 'Name') ?? textIn(child, 'Key')!
      const map2 = (found[map] ??= {}) as Record<string, unknown>
      map2[key] = inner.children.length > 0 ? structureOf(inner) : inner.text
    } else found[child.name] = value
  }
  return found
}

function scalarOf({ name, text }: Node): unknown {
  if (NUMBERS.test(name)) return Number(text)
  return name === 'SenderFault' ? text === 'true' : text
}

function push(found: Record<string, unknown>, name: string, value: unknown): void {
  ;((found[name] ??= []) as unknown[]).push(value)
}

function textIn(of: Node, name: string): string | undefined {
  return of.children.find((child) => child.name === name)?.text
}

function headersOf({ head }: RawReply): Record<string, string> {
  const found: Record<string, string> = {}
  for (let at = 0; at < head.length; at += 2) found[head[at]!.toLowerCase()] = head[at + 1]!
  return found
}
