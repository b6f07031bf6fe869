/**
 * `test …`: works with the tests of a running server, over its HTTP API; `validate` needs none.
 *
 * For people lines of text; with `--json` what the server answered.
 */
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'

import { badTags, readBundle, zipBundle } from '../../probe/index.ts'
import { Accident, fault, isFault, PRODUCT, type Clock } from '../../std/index.ts'
import { EXIT, type Io } from '../io.ts'
import type { TestServer } from './queue-server.ts'
import {
  exitCodeOf,
  findingLines,
  linkLines,
  resultText,
  whyLines,
  type ToldStatus,
} from './test-text.ts'

export type TestCall = Readonly<{ server: TestServer; json: boolean; io: Io }>

export type Json = Readonly<Record<string, unknown>>

const API = '/api/v1'
const LOOK_MS = 500
const PAGE = 50
const UPLOAD_MS = 600_000
const TEST_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/**
 * A directory of this machine is packed and sent, unless something is wrong with it; any other place is
 * named to the server.
 */
export async function startTest(
  call: TestCall,
  place: string,
  { type, tags, priority, waits }: Json & Readonly<{ waits: boolean }>,
): Promise<number> {
  const { server, io } = call
  const directory = resolve(io.directory, place)
  const isSent = await isDirectory(directory)
  if (isSent) granted(await readBundle(directory))
  if (typeof tags === 'string') granted(await badTags({ tags }))
  const begun = await server.ask('POST', `${API}/test/initialize`)
  const testId = said(begun['test-id'])
  const path = isSent ? await upload(call, testId, directory) : place
  const body = { 'test-id': testId, 'block-storage-path': path, 'test-type': type, tags, priority }
  const started = await server.ask('POST', `${API}/test/start`, { body })
  if (waits) return watchTest(call, testId)
  return answer(call, started, `${testId} ${await lineText(call, testId)}`)
}

/** Whoever has a place in line waits only when nobody can run beside those that do. */
async function lineText({ server }: TestCall, testId: string): Promise<string> {
  const line = await server.ask('GET', `${API}/queue/status`, { query: { testId } })
  const { position } = fieldsOf(line['test'])
  const free = Number(line['slots']) - Number(line['testing-count'])
  if (position === undefined || (line['mode'] === 'open' && Number(position) <= free))
    return 'is started'
  return `is number ${said(position)} in line${line['mode'] === 'open' ? '' : `; the queue is ${said(line['mode'])}`}`
}

async function upload({ server }: TestCall, testId: string, directory: string): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of await zipBundle(directory)) pieces.push(piece)
  const kept = await server.ask('PUT', `${API}/test/${testId}/bundle`, {
    bytes: { type: 'application/zip', bytes: Buffer.concat(pieces) },
    waitMs: UPLOAD_MS,
  })
  return said(kept['block-storage-path'])
}

export async function showTest(call: TestCall, testId: string): Promise<number> {
  const status = await statusOf(call, testId)
  const told = toldOf(status)
  const lines = [
    statusText(status),
    ...whyLines(told),
    ...linkLines(told, evidenceUrl(call, status)),
  ]
  return answer(call, status, lines.join('\n'))
}

export async function cancelTest(call: TestCall, testId: string): Promise<number> {
  const told = await call.server.ask('DELETE', pathOf(testId))
  const isCancelled = told['cancelled'] === true
  const text = isCancelled ? `${testId} is cancelled` : `not cancelled: ${said(told['message'])}`
  answer(call, told, text)
  return isCancelled ? EXIT.fine : EXIT.trouble
}

export async function listTests(call: TestCall, query: Json): Promise<number> {
  const page = await call.server.ask('GET', `${API}/tests`, { query: { limit: PAGE, ...query } })
  const tests = Array.isArray(page['tests']) ? page['tests'].map(fieldsOf) : []
  const lines = tests.length === 0 ? ['there are no tests'] : tests.map(rowText)
  const { next } = page
  if (next !== undefined) lines.push(`there may be more: --after ${said(next)}`)
  return answer(call, page, lines.join('\n'))
}

/** A test in a list: also what it is, and since when it is there. */
function rowText(test: Json): string {
  const bucket = said(test['bucket'])
  const place = bucket.startsWith('upload:') ? 'a folder that was sent' : bucket
  const parts = [statusText(test), said(test['test-type']), place, said(test['created-at'])]
  return parts.filter((part) => part !== '').join('  ')
}

/** Until it has ended; then as `run` ends. */
export async function watchTest(call: TestCall, testId: string): Promise<number> {
  const { io, json } = call
  for (let before = ''; ;) {
    const status = await statusOf(call, testId)
    const text = statusText(status)
    if (!json && text !== before) io.err(`${text}\n`)
    before = text
    if (status['outcome'] !== undefined) {
      const told = toldOf(status)
      answer(call, status, resultText(told, evidenceUrl(call, status)))
      return exitCodeOf(told)
    }
    await pause(io.clock, LOOK_MS)
  }
}

/** Everything that is wrong with a bundle of this machine; the server has no part in it. */
export async function validateBundle(
  { json, io }: Pick<TestCall, 'json' | 'io'>,
  bundle: string,
): Promise<number> {
  const read = await readBundle(resolve(io.directory, bundle))
  if (!isFault(read)) {
    const { features, directive } = read
    const text = `nothing is wrong; feature files: ${features.length}, topics: ${directive.topics.length}`
    io.out(`${json ? JSON.stringify({ findings: [] }) : text}\n`)
    return EXIT.fine
  }
  if (json) io.out(`${JSON.stringify({ findings: read.detail['findings'] })}\n`)
  else io.out(`${findingLines(read).join('\n')}\n`)
  return EXIT.trouble
}

function statusOf({ server }: TestCall, testId: string): Promise<Json> {
  return server.ask('GET', pathOf(testId, '/status'))
}

function statusText(status: Json): string {
  const { scenarios, 'scenarios-done': done, step } = fieldsOf(status['progress'])
  const progress =
    scenarios === undefined ? '' : `, ${said(done)} of ${said(scenarios)}  ${said(step)}`
  const place =
    status['position'] === undefined ? '' : `, number ${said(status['position'])} in line`
  const end = status['outcome'] === undefined ? '' : `, ${said(status['outcome'])}`
  return `${said(status['test-id'])}  ${said(status['state'])}${end}${place}${progress}`
}

/** The facts under the names that they have in the program. */
function toldOf(status: Json): ToldStatus {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as the API documents it
  return inCamels(status) as ToldStatus
}

function inCamels(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamels)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, of]) => [
      name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      inCamels(of),
    ]),
  )
}

export function answer({ json, io }: TestCall, told: Json, text: string): number {
  io.out(`${json ? JSON.stringify(told, undefined, 2) : text}\n`)
  return EXIT.fine
}

function evidenceUrl({ server }: TestCall, status: Json): string | undefined {
  if (status['evidence'] !== 'stored') return undefined
  return `${server.url}${pathOf(said(status['test-id']), '/evidence/')}`
}

export function pathOf(testId: string, rest = ''): string {
  if (!TEST_ID.test(testId))
    throw new Accident(
      fault('bad-usage', `${testId} is not the id of a test`, {
        remedy: `an id is a UUID, as \`${PRODUCT} test start\` and \`${PRODUCT} test list\` show it`,
      }),
    )
  return `${API}/test/${encodeURIComponent(testId)}${rest}`
}

export function fieldsOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

export function said(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

function granted(told: unknown): void {
  if (isFault(told)) throw new Accident(told)
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((done) => clock.setTimer(clock.monotonic() + ms, done))
}
