/**
 * `test …`: works with the tests of a running server, over its HTTP API; `validate` needs none.
 *
 * For people lines of text; with `--json` what the server answered.
 */
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'

import { badTags, readBundle, zipBundle } from '../../probe/index.ts'
import { Accident, isFault, type Clock } from '../../std/index.ts'
import { EXIT, type Io } from '../io.ts'
import type { QueueServer } from './queue-server.ts'
import { exitCodeOf, findingLines, resultText, type ToldStatus } from './test-text.ts'

export type TestCall = Readonly<{ server: QueueServer; json: boolean; io: Io }>

type Json = Readonly<Record<string, unknown>>

const API = '/api/v1'
const LOOK_MS = 500
const PAGE = 50
const UPLOAD_MS = 600_000

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
  return answer(call, started, `${testId} is number ${said(started['position'])} in line`)
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
  return answer(call, status, statusText(status))
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
  const text = tests.length === 0 ? 'there are no tests' : tests.map(statusText).join('\n')
  return answer(call, page, text)
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
      answer(call, status, resultText(told))
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

function answer({ json, io }: TestCall, told: Json, text: string): number {
  io.out(`${json ? JSON.stringify(told, undefined, 2) : text}\n`)
  return EXIT.fine
}

function pathOf(testId: string, rest = ''): string {
  return `${API}/test/${encodeURIComponent(testId)}${rest}`
}

function fieldsOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function said(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

function granted(answer: unknown): void {
  if (isFault(answer)) throw new Accident(answer)
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((done) => clock.setTimer(clock.monotonic() + ms, done))
}
