/**
 * A real server with its test orchestrator, and a client of it that only knows the API.
 *
 * The feed of events is read from the first one on, and again from where it broke off after the server
 * was killed: whatever a test waits for is waited for there, with a limit.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { send } from '../acceptance/client.ts'
import { startServer, type RunningServer, type Settings } from '../acceptance/server.ts'
import { until } from '../acceptance/until.ts'
import { write, type Files } from './bundles.ts'

export type Json = Readonly<Record<string, unknown>>

/** One item of the feed. */
export type Change = Readonly<{
  /** As a server-sent event has it; progress has none. */
  id: string | undefined
  name: string
  testId: string
  /** Of the event, or of the progress. */
  data: Json
}>

export type Status = Json &
  Readonly<{ state: string; outcome?: string; attempt: number; result?: Json; error?: string }>

/** How long anything may take that a test waits for, on a machine that has much else to do. */
export const E2E_MS_MAX = 240_000

const ENDS: ReadonlySet<string> = new Set(['completed', 'errored', 'cancelled'])

export class Station implements AsyncDisposable {
  readonly directory: string = realpathSync(mkdtempSync(join(tmpdir(), 'flytower-e2e-')))
  readonly changes: Change[] = []
  readonly #settings: Settings
  readonly #variables: Readonly<Record<string, string>>
  #bundles = 0
  #feed: AbortController | undefined
  /** Every server that there was, the present one last. */
  readonly servers: RunningServer[] = []

  constructor(settings: Settings, variables: Readonly<Record<string, string>>) {
    this.#settings = settings
    this.#variables = variables
  }

  get #temporary(): string {
    return join(this.directory, 'temporary')
  }

  get server(): RunningServer {
    return this.servers.at(-1)!
  }

  get url(): string {
    return this.server.url
  }

  async begin(): Promise<void> {
    const roots = { 'probe.bundleRoots': [this.directory], 'probe.grace': '100ms' }
    const settings = { ...roots, ...this.#settings }
    const variables = { TMPDIR: this.#temporary, ...this.#variables }
    mkdirSync(this.#temporary, { recursive: true })
    this.servers.push(await startServer(settings, this.directory, variables))
    await this.#follow()
  }

  /** Kills the server, and starts one on what it has left. */
  async killAndBegin(): Promise<void> {
    await this.server.stop('SIGKILL')
    this.#feed?.abort()
    await this.begin()
  }

  /** Where the bundle is. */
  bundle(files: Files): string {
    const path = join(this.directory, `bundle-${(this.#bundles += 1)}`)
    mkdirSync(path)
    write(path, files)
    return path
  }

  async ask(method: string, path: string, body?: unknown): Promise<Json> {
    const answer = await send(this.url, { method, path, ...(body !== undefined && { body }) })
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.json as Json
  }

  async initialize(fields: Json = {}): Promise<string> {
    return String((await this.ask('POST', '/api/v1/test/initialize', fields))['test-id'])
  }

  async start(bundle: string, fields: Json = {}): Promise<string> {
    const testId = await this.initialize()
    const asked = { 'test-id': testId, 'block-storage-path': bundle, ...fields }
    await this.ask('POST', '/api/v1/test/start', asked)
    return testId
  }

  async status(testId: string): Promise<Status> {
    return (await this.ask('GET', `/api/v1/test/${testId}/status`)) as Status
  }

  /** The names of its events so far, without progress. */
  eventsOf(testId: string): readonly string[] {
    return this.changes
      .filter((change) => change.testId === testId && change.id !== undefined)
      .map(({ name }) => name)
  }

  async happens(testId: string, ...names: readonly string[]): Promise<void> {
    await until(`${testId} has ${names.join(' or ')}`, E2E_MS_MAX, () =>
      this.eventsOf(testId).some((name) => names.includes(name)),
    )
  }

  /** Its status when it has ended. */
  async ended(testId: string): Promise<Status> {
    await this.happens(testId, ...ENDS)
    return this.status(testId)
  }

  /** A step of it is being run. */
  async reaches(testId: string, step: string): Promise<void> {
    await until(`${testId} is at "${step}"`, E2E_MS_MAX, () =>
      this.changes.some((change) => change.testId === testId && change.data['step'] === step),
    )
  }

  /** Whatever lies where tests are prepared. */
  staged(): readonly string[] {
    const staging = join(this.directory, 'data/probe/staging')
    return existsSync(staging) ? readdirSync(staging) : []
  }

  uploads(): readonly string[] {
    return readdirSync(join(this.directory, 'data/probe/uploads'))
  }

  /** When the actors of ended tests have put everything away. */
  async tidied(): Promise<void> {
    await until(`nothing is staged`, E2E_MS_MAX, () => this.staged().length === 0)
    assert.deepEqual(readdirSync(this.#temporary), [])
  }

  /** Every file of the evidence by name, each as long as the list says and with that hash. */
  async evidence(testId: string): Promise<ReadonlyMap<string, Buffer>> {
    const listed = await this.ask('GET', `/api/v1/test/${testId}/evidence`)
    const files = new Map<string, Buffer>()
    for (const { name, bytes, sha256 } of listed['files'] as {
      name: string
      bytes: number
      sha256: string
    }[]) {
      const response = await fetch(`${this.url}/api/v1/test/${testId}/evidence/${name}`)
      const content = Buffer.from(await response.arrayBuffer())
      assert.equal(response.status, 200, name)
      assert.equal(content.length, bytes, name)
      assert.equal(createHash('sha256').update(content).digest('hex'), sha256, name)
      files.set(name, content)
    }
    return files
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#feed?.abort()
    for (const server of this.servers) await server.stop()
    rmSync(this.directory, { recursive: true, force: true })
  }

  async #follow(): Promise<void> {
    this.#feed = new AbortController()
    const { signal } = this.#feed
    const last = this.changes.findLast(({ id }) => id !== undefined)?.id ?? '0'
    const response = await fetch(`${this.url}/api/v1/events`, {
      headers: { accept: 'text/event-stream', 'last-event-id': last },
      signal,
    })
    assert.equal(response.status, 200)
    void this.#read(response.body!).catch(() => undefined) // it breaks off with the server
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const piece of body) {
      const parts = (rest + decoder.decode(piece, { stream: true })).split('\n\n')
      rest = parts.pop()!
      for (const part of parts) this.#take(part)
    }
  }

  #take(part: string): void {
    const field = (name: string): string | undefined =>
      new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1]
    const data = field('data')
    if (data === undefined) return // a heartbeat
    const value = JSON.parse(data) as Json
    this.changes.push({
      id: field('id'),
      name: field('event')!,
      testId: String(value['test-id']),
      data: (value['event'] ?? value['progress']) as Json,
    })
  }
}

export async function station(
  settings: Settings = {},
  variables: Readonly<Record<string, string>> = {},
): Promise<Station> {
  const made = new Station(settings, variables)
  await made.begin()
  return made
}

/** A bundle of one scenario with one step, which does as told. */
export function doing(body: string, options = '{}'): Files {
  return {
    'features/one.feature': 'Feature: one\n  Scenario: only\n    Given it happens\n',
    'steps/one.ts': `import { Given } from 'flytower/steps'
Given('it happens', ${options}, async (): Promise<void> => { ${body} })
`,
  }
}

export function testingMs(files: Files, ms: number): Files {
  return { ...files, 'topic-directive.yaml': `testingMs: ${ms}\n` }
}
