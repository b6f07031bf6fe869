/**
 * `queue …`: looks at the queues of a running server and works with them, over its HTTP API.
 *
 * For people a table or a line for each message; with `--json` what the server answered, and for `tail` a line
 * of JSON for each message.
 */
import { Accident, fault, type Clock } from '../../std/index.ts'
import { EXIT, type Io } from '../io.ts'
import type { QueueServer } from './queue-server.ts'

/** What every verb has: the server, how to answer, and where. */
export type QueueCall = Readonly<{ server: QueueServer; json: boolean; io: Io }>

type Json = Readonly<Record<string, unknown>>

/** How often a task and the end of a queue are looked at. */
const LOOK_MS = 250
const PAGE = 100
const BODY_CHARS_SHOWN = 200

/** All of them with an empty prefix. */
export async function listQueues(call: QueueCall, prefix: string): Promise<number> {
  const queues: Json[] = []
  for (let after: unknown; ;) {
    const query = { prefix: prefix === '' ? undefined : prefix, after, limit: PAGE, stats: true }
    const page = await call.server.ask('GET', '/queues', { query })
    queues.push(...listIn(page, 'queues'))
    after = page['next']
    if (after === undefined) break
  }
  const rows = queues.map((queue) => {
    const { ready, delayed, leased, oldestAgeMs } = fieldsOf(queue['stats'])
    const { receive, send } = fieldsOf(queue['paused'])
    const paused = [receive === true && 'receive', send === true && 'send'].filter(Boolean)
    const age = Number(ready) > 0 ? `${Math.round(Number(oldestAgeMs) / 1_000)}s` : ''
    return [queue['name'], ready, delayed, leased, age, paused.join('+')]
  })
  const head = ['queue', 'ready', 'delayed', 'leased', 'oldest', 'paused']
  return answer(
    call,
    { queues },
    queues.length === 0 ? 'there are no queues' : table([head, ...rows]),
  )
}

export async function createQueue(
  call: QueueCall,
  name: string,
  { settings, tags }: Readonly<{ settings: readonly string[]; tags: readonly string[] }>,
): Promise<number> {
  const body = {
    config: Object.fromEntries(settings.map(pairOf).map(([key, text]) => [key, valueOf(text)])),
    tags: Object.fromEntries(tags.map(pairOf)),
  }
  const made = await call.server.ask('PUT', pathOf(name), { body })
  const { deadLetterQueue } = fieldsOf(made['config'])
  const dead = deadLetterQueue === undefined ? '' : `; dead letters go to ${said(deadLetterQueue)}`
  return answer(call, made, `${name} is there${dead}`)
}

export async function sendMessage(call: QueueCall, name: string, message: Json): Promise<number> {
  const sent = await call.server.ask('POST', pathOf(name, '/messages'), { body: message })
  const duplicate = sent['duplicate'] === true ? ', which was there already' : ''
  return answer(call, sent, `${said(sent['messageId'])}${duplicate}`)
}

export async function receiveMessages(
  call: QueueCall,
  name: string,
  { deletes, ...asked }: Readonly<{ max: number; waitMs: number; deletes: boolean }>,
): Promise<number> {
  const { waitMs } = asked
  const told = await call.server.ask('POST', pathOf(name, '/deliveries'), { body: asked, waitMs })
  const deliveries = listIn(told, 'deliveries')
  // What is shown first and deleted then is never lost on the way.
  const text = deliveries.length === 0 ? 'nothing came' : deliveries.map(deliveryText).join('\n')
  answer(call, told, text)
  if (!deletes || deliveries.length === 0) return EXIT.fine
  const settlements = deliveries.map(({ receipt }) => ({ type: 'delete', receipt }))
  const ended = await call.server.ask('POST', pathOf(name, '/settlements'), {
    body: { settlements },
  })
  const refused = listIn(ended, 'settled').find(({ ok }) => ok !== true)
  if (refused === undefined) return EXIT.fine
  throw new Accident(
    fault('server-refused', `not deleted: ${said(refused['detail'])}`, { ...refused }),
  )
}

export async function peekMessages(
  call: QueueCall,
  name: string,
  { isDead, ...query }: Json & Readonly<{ isDead: boolean }>,
): Promise<number> {
  const path = pathOf(name, isDead ? '/dead-letters' : '/messages')
  const page = await call.server.ask('GET', path, { query })
  const messages = listIn(page, 'messages')
  const none = isDead ? 'there are no dead letters' : 'there are no messages'
  return answer(call, page, messages.length === 0 ? none : messages.map(messageText).join('\n'))
}

/** What is there and then what comes, until so many were shown; what is taken in between is not seen. */
export async function tailMessages(
  call: QueueCall,
  name: string,
  { count }: Readonly<{ count: number }>,
): Promise<number> {
  const { server, json, io } = call
  let after: unknown
  for (let shown = 0; shown < count;) {
    const query = { after, limit: Math.min(PAGE, count - shown) }
    const messages = listIn(
      await server.ask('GET', pathOf(name, '/messages'), { query }),
      'messages',
    )
    for (const message of messages)
      io.out(`${json ? JSON.stringify(message) : messageText(message)}\n`)
    shown += messages.length
    after = messages.at(-1)?.['seq'] ?? after
    if (messages.length === 0) await pause(io.clock, LOOK_MS)
  }
  return EXIT.fine
}

export async function redriveMessages(
  call: QueueCall,
  name: string,
  { waits, ...asked }: Json & Readonly<{ waits: boolean }>,
): Promise<number> {
  const { server, io } = call
  const path = pathOf(name, '/dead-letters/redrives')
  let task = await server.ask('POST', path, { body: asked })
  for (;;) {
    const isUnderWay = task['state'] === 'running' || task['state'] === 'cancelling'
    if (!waits || !isUnderWay) break
    await pause(io.clock, LOOK_MS)
    const tasks = listIn(await server.ask('GET', path), 'redrives')
    task = tasks.find((one) => one['task'] === task['task']) ?? { ...task, state: 'completed' }
  }
  const { state, moved, toMove, reason } = task
  const why = reason === undefined ? '' : `: ${said(reason)}`
  answer(call, task, `${said(moved)} of ${said(toMove)} moved, ${said(state)}${why}`)
  return state === 'failed' ? EXIT.trouble : EXIT.fine
}

export async function purgeQueue(
  call: QueueCall,
  name: string,
  { isDead, includeLeased }: Readonly<{ isDead: boolean; includeLeased: boolean }>,
): Promise<number> {
  const told = isDead
    ? await call.server.ask('DELETE', pathOf(name, '/dead-letters'))
    : await call.server.ask('DELETE', pathOf(name, '/messages'), { query: { includeLeased } })
  return answer(call, told, `${said(told['purged'])} messages are gone`)
}

export async function pauseQueue(
  call: QueueCall,
  name: string,
  paused: Readonly<{ receive: boolean; send: boolean }>,
): Promise<number> {
  const told = await call.server.ask('PUT', pathOf(name, '/paused'), { body: paused })
  const what = Object.entries(paused).flatMap(([side, isPaused]) => (isPaused ? [side] : []))
  const text = what.length === 0 ? `${name} goes on` : `${name} is paused: ${what.join(', ')}`
  return answer(call, told, text)
}

function answer({ json, io }: QueueCall, told: Json, text: string): number {
  io.out(`${json ? JSON.stringify(told, undefined, 2) : text}\n`)
  return EXIT.fine
}

function pathOf(name: string, rest = ''): string {
  return `/queues/${encodeURIComponent(name)}${rest}`
}

function listIn(told: Json, field: string): readonly Json[] {
  const items = told[field]
  return Array.isArray(items) ? items.map(fieldsOf) : []
}

function fieldsOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function deliveryText(delivery: Json): string {
  return `${messageText(delivery)}\n  receipt ${said(delivery['receipt'])}`
}

function messageText(message: Json): string {
  const { messageId, state, receives, body } = message
  const text = said(body)
  const shown = text.length > BODY_CHARS_SHOWN ? `${text.slice(0, BODY_CHARS_SHOWN)}…` : text
  const failures = listIn(message, 'failures')
  const why = failures.length === 0 ? [] : [`last failure: ${said(failures.at(-1)?.['reason'])}`]
  const facts = [said(state), `received ${said(receives)} times`, ...why].filter(Boolean)
  return `${said(messageId)}  ${facts.join(', ')}\n  ${shown.replaceAll('\n', '\n  ')}`
}

/** For people; what is not there is nothing. */
function said(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function table(rows: readonly (readonly unknown[])[]): string {
  const texts = rows.map((row) => row.map((cell) => said(cell)))
  const widths = texts[0]!.map((_, at) => Math.max(...texts.map((row) => row[at]!.length)))
  return texts
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function pairOf(text: string): readonly [key: string, value: string] {
  const at = text.indexOf('=')
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
  throw new Accident(
    fault('bad-usage', `${text} is not a name with a value`, { remedy: 'write name=value' }),
  )
}

/** What it says as JSON, or the text itself. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => clock.setTimer(clock.monotonic() + ms, resolve))
}
