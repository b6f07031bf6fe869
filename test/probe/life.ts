/** One test alone on a stage, its children silent and its queue an inbox. */
import assert from 'node:assert/strict'

import type { Ref } from '../../src/kernel/index.ts'
import type { Begin, Data } from '../../src/probe/execution/data.ts'
import { execution } from '../../src/probe/execution/execution.ts'
import {
  CHILD_KINDS,
  type ExecutionMessage,
  type TestNotice,
  type TestState,
  type TestStatus,
} from '../../src/probe/protocol.ts'
import type { RecordedState, StartOptions, TestEvent, TestRecord } from '../../src/probe/record.ts'
import type { RunResult } from '../../src/probe/result.ts'
import { inbox, stage, type Inbox, type Stage } from '../../src/testkit/index.ts'
import { FILES, PASSED } from './fakes.ts'
import { Silent, testHouse, type TestHouse, type TestHouseOptions } from './house.ts'

export const START: StartOptions = {
  bucket: '/bundles/a',
  testType: 'smoke',
  priority: 0,
  exclusive: [],
  isDryRun: false,
}

export class TestLife {
  readonly testId = 't'
  readonly queue: Inbox<TestNotice> = inbox<TestNotice>('queue')
  readonly client: Inbox<unknown> = inbox<unknown>('client')
  readonly silent: Silent
  readonly at: TestHouse
  readonly subject: Stage<ExecutionMessage, TestState, Data>

  constructor(at: TestHouse, silent: Silent, begin: Begin) {
    this.at = at
    this.silent = silent
    const { house, clock } = at
    const behavior = execution({ testId: this.testId, queue: this.queue, house, begin })
    this.subject = stage<ExecutionMessage, TestState, Data>(behavior, { clock, name: 'test' })
  }

  get state(): TestState | undefined {
    return this.subject.state
  }

  async tell(message: ExecutionMessage): Promise<void> {
    this.subject.post(message)
    await this.subject.settle()
  }

  async advance(ms: number): Promise<void> {
    this.subject.advance(ms)
    await this.subject.settle()
  }

  /** The types of what the queue was told since this was last asked. */
  notices(): readonly string[] {
    const types: string[] = []
    while (this.queue.messages.length > 0) types.push(this.queue.take().type)
    return types
  }

  /** What it answers to a request. */
  async answer<T>(make: (replyTo: Ref<unknown>) => ExecutionMessage): Promise<T | undefined> {
    const client = inbox<unknown>('asking')
    await this.tell(make(client))
    assert.ok(client.messages.length <= 1, 'a request is answered once')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the test knows what it asks for
    return client.messages[0] as T | undefined
  }

  status(): Promise<TestStatus | undefined> {
    return this.answer<TestStatus>((replyTo) => ({ type: 'get-status', standing: {}, replyTo }))
  }

  cancel(): Promise<unknown> {
    return this.answer((replyTo) => ({ type: 'cancel', replyTo }))
  }

  start(options: StartOptions = START): Promise<unknown> {
    return this.answer((replyTo) => ({ type: 'start', options, place: 1, standing: {}, replyTo }))
  }

  async ready(count: number = CHILD_KINDS.length): Promise<void> {
    for (const kind of CHILD_KINDS.slice(0, count)) await this.tell({ type: 'child-ready', kind })
  }

  async fetched(): Promise<void> {
    const { directive, features } = this.at.fakes
    const bundle = { directory: '/b', directive, features }
    await this.tell({ type: 'bundle-fetched', fetched: { bundle, evidence: '/e' } })
    const security = { credentials: new Map(), secrets: new Map() }
    await this.tell({ type: 'security-fetched', security })
  }

  async complete(result: RunResult = PASSED): Promise<void> {
    await this.tell({ type: 'test-complete', result })
    await this.tell({ type: 'evidence-stored', files: FILES })
  }

  /** Through what leads there, with nothing left to take from queue and children. */
  async to(state: RecordedState): Promise<void> {
    if (state !== 'Setup') await this.start()
    if (state === 'Exception') {
      const { fault } = FAILURE
      await this.tell({ type: 'child-failed', kind: 'vault', fault })
    } else if (state !== 'Setup' && state !== 'Loading') {
      await this.fetched()
      await this.ready()
    }
    if (state === 'Testing' || state === 'Completed') await this.tell({ type: 'start-testing' })
    if (state === 'Completed') await this.complete()
    assert.equal(this.state, state)
    this.notices()
    this.silent.take()
  }

  history(): Promise<readonly TestEvent[]> {
    return this.at.house.register.history(this.testId)
  }

  record(): Promise<TestRecord | undefined> {
    return this.at.house.register.read(this.testId)
  }
}

export const FAILURE = {
  kind: 'vault',
  fault: { ok: false, code: 'secret-denied', message: 'the vault says no', detail: {} },
} as const

/** A test that was initialized, or what `begin` says. */
export async function life(options: TestHouseOptions = {}, begin?: Begin): Promise<TestLife> {
  const silent = new Silent()
  const factories = { ...silent.factories, ...options.factories }
  const at = await testHouse({ ...options, factories })
  const client = inbox<unknown>('initializer')
  const made = new TestLife(at, silent, begin ?? { type: 'fresh', priority: 0, replyTo: client })
  await made.subject.settle()
  return made
}

/** The same, as far as a state. */
export async function lifeIn(
  state: RecordedState,
  options: TestHouseOptions = {},
): Promise<TestLife> {
  const made = await life(options)
  await made.to(state)
  return made
}
