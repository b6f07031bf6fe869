/**
 * The queue alone, with stand-ins for its tests: what it forwards, whom it starts, and what it counts.
 * The ids in the titles are those of the conformance list.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { receive, type Behavior, type Ref } from '../kernel/index.ts'
import { inbox, stage, type Inbox, type Stage } from '../testkit/index.ts'
import { testHouse, type TestHouseOptions } from '../../test/probe/house.ts'
import type { ExecutionOptions } from './execution/data.ts'
import type { House } from './house.ts'
import { CONFIRM_MS } from './limits.ts'
import type { ExecutionMessage, QueueMessage, QueueStatus, TestNotice } from './protocol.ts'
import { testQueue } from './queue.ts'

const ERROR = { kind: 'vault', code: 'x', message: 'no' }
const GONE = { ok: false, code: 'no-such-test', message: 'm', detail: {} } as const
const START = { bucket: 'b', exclusive: [], isDryRun: false }

type StandIn = Readonly<{ options: ExecutionOptions; told: ExecutionMessage[] }>

class Rig {
  readonly subject: Stage<QueueMessage>
  readonly house: House
  /** By test: the actor that was made last. */
  readonly made: Map<string, StandIn>

  constructor(subject: Stage<QueueMessage>, house: House, made: Map<string, StandIn>) {
    this.subject = subject
    this.house = house
    this.made = made
  }

  get tests(): readonly string[] {
    return [...this.made.keys()]
  }

  /** Of the kind that `make` is given a ref to answer to. */
  ask(make: (replyTo: Ref<unknown>) => QueueMessage): Inbox<unknown> {
    const client = inbox<unknown>('client')
    this.subject.tell(make(client))
    return client
  }

  initialize(priority = 0): string {
    const before = this.made.size
    this.ask((replyTo) => ({ type: 'initialize-test', priority, replyTo }))
    const testId = this.tests[before]
    assert.ok(testId !== undefined)
    return testId
  }

  start(testId: string): Inbox<unknown> {
    return this.ask((replyTo) => ({ type: 'start-test', testId, options: START, replyTo }))
  }

  tell(testId: string, notice: DistributiveOmit<TestNotice, 'testId'>): void {
    this.made.get(testId)!.options.queue.tell({ ...notice, testId })
    this.subject.run()
  }

  loading(testId: string): void {
    this.tell(testId, { type: 'test-loading', priority: 0 })
  }

  loaded(testId: string): void {
    this.loading(testId)
    this.tell(testId, { type: 'test-loaded', exclusive: [] })
  }

  started(): string {
    const testId = this.initialize()
    this.start(testId)
    return testId
  }

  toldTo(testId: string): readonly string[] {
    return this.made.get(testId)!.told.map(({ type }) => type)
  }

  isStarted(testId: string): boolean {
    return this.toldTo(testId).includes('start-testing')
  }

  status(): QueueStatus {
    return this.ask((replyTo) => ({ type: 'queue-status', replyTo })).take() as QueueStatus
  }

  counts(): readonly number[] {
    const status = this.status()
    return [
      status.totalTests,
      status.setupCount,
      status.loadingCount,
      status.loadedCount,
      status.testingCount,
      status.completedCount,
      status.exceptionCount,
    ]
  }
}

type DistributiveOmit<T, K extends string> = T extends unknown ? Omit<T, K> : never

async function rig(options: TestHouseOptions = {}): Promise<Rig> {
  const made = new Map<string, StandIn>()
  const execution = (of: ExecutionOptions): Behavior<ExecutionMessage> => {
    const told: ExecutionMessage[] = []
    made.set(of.testId, { options: of, told })
    return receive((_ctx, message) => {
      if (message.type === 'extend') throw new Error('crash') // a stand-in that dies when told so
      told.push(message)
      return undefined
    })
  }
  const { house, clock } = await testHouse({ ...options, factories: { execution } })
  const subject = stage(testQueue(house), { clock, name: 'queue-actor' })
  await subject.settle()
  return new Rig(subject, house, made)
}

/** Ends the actor of a test as a failure would. */
async function crash(at: Rig, testId: string): Promise<void> {
  at.ask((replyTo) => ({ type: 'extend-test', testId, ms: 1, replyTo }))
  at.subject.advance(5_000) // its supervision tries again first
  await at.subject.settle()
}

describe('the queue', () => {
  test('Q-01: initialize makes an id and an actor of its name, and hands over who is to be told', async () => {
    const at = await rig()
    const client = at.ask((replyTo) => ({
      type: 'initialize-test',
      priority: 3,
      by: 'ada',
      replyTo,
    }))
    const [testId] = at.tests
    assert.equal(testId, 't1')
    assert.deepEqual(
      at.subject.children.map(({ path }) => path),
      ['/queue-actor/test-execution-t1'],
    )
    const { begin } = at.made.get('t1')!.options
    assert.ok(begin.type === 'fresh')
    assert.deepEqual([begin.priority, begin.by], [3, 'ada'])
    client.expectEmpty()
    begin.replyTo.tell({ testId: 't1', message: 'Test initialized' })
    client.expect({ testId: 't1', message: 'Test initialized' })
  })

  test('Q-02: after initialize there is one test, in Setup', async () => {
    const at = await rig()
    at.initialize()
    assert.deepEqual(at.counts(), [1, 1, 0, 0, 0, 0, 0])
  })

  test('Q-03: start puts the test in line and forwards what was asked, unchanged', async () => {
    const at = await rig()
    const testId = at.initialize()
    const client = at.ask((replyTo) => ({
      type: 'start-test',
      testId,
      options: { ...START, bucket: 's3://a/b', testType: 'smoke' },
      replyTo,
    }))
    const [message] = at.made.get(testId)!.told
    assert.ok(message?.type === 'start')
    assert.deepEqual(message.options, {
      bucket: 's3://a/b',
      testType: 'smoke',
      exclusive: [],
      isDryRun: false,
      priority: 0,
    })
    assert.deepEqual([message.place, message.standing], [1, { position: 1 }])
    assert.equal(at.status().pending, 1)
    message.replyTo.tell({ testId, accepted: true, message: 'x' })
    client.expect({ testId, accepted: true, message: 'x' })
  })

  for (const [id, request, forwarded] of [
    ['Q-04', 'test-status', 'get-status'],
    ['Q-05', 'cancel-test', 'cancel'],
  ] as const)
    test(`${id}: ${request} is forwarded with who is to be told`, async () => {
      const at = await rig()
      const testId = at.initialize()
      const client = at.ask((replyTo) => ({ type: request, testId, replyTo }))
      const [message] = at.made.get(testId)!.told
      assert.ok(message !== undefined && 'replyTo' in message)
      assert.equal(message.type, forwarded)
      client.expectEmpty()
      message.replyTo.tell(GONE)
      client.expect(GONE)
    })

  const CASES = [
    [0, 0, 0, 0, 0, 0, 0],
    [5, 1, 1, 2, 1, 0, 0],
    [10, 2, 2, 3, 1, 1, 1],
  ] as const
  for (const counts of CASES)
    test(`Q-06: the queue answers its status itself: ${counts.join(' ')}`, async () => {
      const at = await rig()
      const [, setups, loadings, loadeds, testings, completeds, exceptions] = counts
      for (let n = 0; n < completeds; n++) {
        const testId = at.started()
        at.loaded(testId)
        at.tell(testId, { type: 'test-started' })
        at.tell(testId, { type: 'test-completed', outcome: 'passed' })
      }
      for (let n = 0; n < exceptions; n++)
        at.tell(at.started(), { type: 'test-exception', outcome: 'errored', error: ERROR })
      for (let n = 0; n < testings + loadeds; n++) at.loaded(at.started())
      for (let n = 0; n < loadings; n++) at.loading(at.started())
      for (let n = 0; n < setups; n++) at.initialize()
      assert.deepEqual(at.counts(), counts)
      for (const { told } of at.made.values())
        assert.ok(!told.some(({ type }) => type === 'get-status'))
    })

  test('Q-07, Q-08, Q-09, Q-10, Q-11: what a test tells of itself is the state it is counted in', async () => {
    const at = await rig()
    const testId = at.started()
    at.tell(testId, { type: 'test-initialized' })
    assert.deepEqual(at.counts(), [1, 1, 0, 0, 0, 0, 0])
    at.loading(testId)
    assert.deepEqual(at.counts(), [1, 0, 1, 0, 0, 0, 0])
    const other = at.started()
    at.loaded(other)
    at.tell(testId, { type: 'test-loaded', exclusive: [] })
    assert.deepEqual(at.counts(), [2, 0, 0, 1, 1, 0, 0])
    at.tell(other, { type: 'test-started' })
    assert.deepEqual(at.counts(), [2, 0, 0, 1, 1, 0, 0])
    at.tell(other, { type: 'test-completed', outcome: 'failed' })
    assert.deepEqual(at.counts(), [2, 0, 0, 0, 1, 1, 0])
  })

  test('Q-12: a test that is loaded starts if nothing runs, and leaves the line', async () => {
    const at = await rig()
    const testId = at.started()
    at.loaded(testId)
    assert.deepEqual(at.toldTo(testId), ['start', 'start-testing'])
    const { pending, currentlyTesting, testing } = at.status()
    assert.deepEqual([pending, currentlyTesting, testing], [0, testId, [testId]])
  })

  test('Q-13: three tests that are loaded run in the order of their starts', async () => {
    const at = await rig()
    const ids = [at.started(), at.started(), at.started()]
    for (const testId of ids) at.loaded(testId)
    for (const testId of ids) {
      assert.deepEqual(
        ids.filter((each) => at.isStarted(each)),
        ids.slice(0, ids.indexOf(testId) + 1),
      )
      at.tell(testId, { type: 'test-started' })
      at.tell(testId, { type: 'test-completed', outcome: 'passed' })
    }
  })

  test('Q-14: never do two run; the second starts when the first has completed', async () => {
    const at = await rig()
    const [first, second] = [at.started(), at.started()]
    at.loaded(first)
    at.tell(first, { type: 'test-started' })
    at.loaded(second)
    at.subject.advance(60_000)
    assert.equal(at.isStarted(second), false)
    at.tell(first, { type: 'test-completed', outcome: 'passed' })
    assert.equal(at.isStarted(second), true)
  })

  const ENDS = [
    ['Q-15', { type: 'test-completed', outcome: 'passed' }],
    ['Q-16', { type: 'test-exception', outcome: 'errored', error: ERROR }],
    ['Q-17', { type: 'test-stopping', outcome: 'cancelled' }],
  ] as const
  for (const [id, notice] of ENDS)
    test(`${id}: ${notice.type} of the test that runs starts the next`, async () => {
      const at = await rig()
      const [first, second] = [at.started(), at.started()]
      at.loaded(first)
      at.loaded(second)
      at.tell(first, notice)
      assert.equal(at.isStarted(second), true)
    })

  test('Q-18: a test that stops is nowhere any more', async () => {
    const at = await rig()
    const [first, second] = [at.started(), at.started()]
    at.loaded(first)
    at.loaded(second)
    at.tell(second, { type: 'test-stopping', outcome: 'cancelled' })
    assert.deepEqual(at.counts(), [1, 0, 0, 0, 1, 0, 0])
    at.tell(first, { type: 'test-stopping', outcome: 'cancelled' })
    const { totalTests, pending, currentlyTesting } = at.status()
    assert.deepEqual([totalTests, pending, currentlyTesting], [0, 0, undefined])
    assert.equal(at.house.tally.outcomes.cancelled, 2)
  })

  for (const [id, type] of [
    ['Q-19', 'start-test'],
    ['Q-20', 'test-status'],
    ['Q-21', 'cancel-test'],
  ] as const)
    test(`${id}: ${type} of a test that is not there is forwarded to nobody, and refused as such`, async () => {
      const at = await rig()
      at.initialize()
      const client = at.ask((replyTo) => ({ type, testId: 'nobody', options: START, replyTo }))
      await at.subject.settle()
      assert.deepEqual(at.toldTo('t1'), [])
      const { code } = client.take() as { code: string }
      assert.equal(code, 'no-such-test')
      client.expectEmpty()
    })

  test('Q-22: one that completes and does not run leaves the one that does alone', async () => {
    const at = await rig()
    const [first, second, third] = [at.started(), at.started(), at.started()]
    at.loaded(first)
    at.loaded(third)
    at.tell(second, { type: 'test-completed', outcome: 'passed' })
    assert.equal(at.status().currentlyTesting, first)
    assert.equal(at.isStarted(third), false)
    assert.deepEqual(at.counts(), [3, 0, 0, 1, 1, 1, 0])
  })

  test('Q-23: with nobody in line nobody is told anything', async () => {
    const at = await rig()
    const testId = at.initialize()
    at.ask((replyTo) => ({ type: 'set-mode', mode: 'open', replyTo }))
    await at.subject.settle()
    assert.deepEqual(at.toldTo(testId), [])
  })

  test('Q-24: ten tests in all states are counted exactly', async () => {
    const at = await rig()
    const ids = Array.from({ length: 10 }, () => at.started())
    for (const testId of ids.slice(0, 3)) at.loaded(testId)
    for (const testId of ids.slice(3, 5)) at.loading(testId)
    at.tell(ids[0]!, { type: 'test-completed', outcome: 'passed' })
    at.tell(ids[5]!, { type: 'test-exception', outcome: 'errored', error: ERROR })
    at.tell(ids[6]!, { type: 'test-stopping', outcome: 'cancelled' })
    assert.deepEqual(at.counts(), [9, 3, 2, 1, 1, 1, 1])
  })

  test('Q-25: a test whose actor ends unasked counts as an exception, and the next starts', async () => {
    const at = await rig()
    const [first, second] = [at.started(), at.started()]
    at.loaded(first)
    at.loaded(second)
    await crash(at, first)
    assert.equal(at.isStarted(second), true)
    assert.deepEqual(at.counts(), [2, 0, 0, 0, 1, 0, 1])
    const { begin } = at.made.get(first)!.options
    assert.ok(begin.type === 'mourning')
    assert.match(begin.error.message, /crash/)
  })

  test('Q-25: a notice of an actor that another has followed is too late', async () => {
    const at = await rig()
    const testId = at.started()
    const { queue } = at.made.get(testId)!.options
    await crash(at, testId)
    queue.tell({ type: 'test-loaded', testId, exclusive: [] })
    at.subject.run()
    assert.deepEqual(at.counts(), [1, 0, 0, 0, 0, 0, 1])
  })

  test('a test that ends is out of the line before its children have ended', async () => {
    const at = await rig()
    const [first, second, third] = [at.started(), at.started(), at.started()]
    for (const testId of [first, second, third]) at.loaded(testId)
    at.tell(second, { type: 'test-ending' })
    at.tell(first, { type: 'test-ending' })
    assert.equal(at.isStarted(third), false) // the first has its slot until it is gone
    at.tell(first, { type: 'test-stopping', outcome: 'cancelled' })
    assert.deepEqual([at.isStarted(second), at.isStarted(third)], [false, true])
  })

  test('a test that does not say that it runs is ended, and the next starts', async () => {
    const at = await rig()
    const [first, second] = [at.started(), at.started()]
    at.loaded(first)
    at.loaded(second)
    at.subject.advance(CONFIRM_MS - 1)
    assert.equal(at.isStarted(second), false)
    at.subject.advance(1)
    await at.subject.settle()
    assert.equal(at.isStarted(second), true)
    const { begin } = at.made.get(first)!.options
    assert.ok(begin.type === 'mourning')
    assert.equal(begin.error.code, 'start-not-confirmed')
  })

  test('one that ends before it has said that it runs is not ended by force', async () => {
    const at = await rig()
    const testId = at.started()
    at.loaded(testId)
    at.tell(testId, { type: 'test-ending' })
    at.subject.advance(CONFIRM_MS)
    await at.subject.settle()
    assert.equal(at.house.tally.crashes, 0)
    assert.equal(at.made.get(testId)!.options.begin.type, 'fresh')
  })

  test('what an actor had not answered when it ended is answered by whoever follows it', async () => {
    const at = await rig()
    const testId = at.initialize()
    const client = at.ask((replyTo) => ({ type: 'test-status', testId, replyTo }))
    await crash(at, testId)
    client.expectEmpty()
    assert.deepEqual(at.toldTo(testId), ['get-status'])
    const [message] = at.made.get(testId)!.told
    assert.ok(message?.type === 'get-status')
    message.replyTo.tell(GONE)
    message.replyTo.tell(GONE)
    client.expect(GONE)
    client.expectEmpty()
  })

  test('what ends two actors one after the other is refused, and not given to a third', async () => {
    const at = await rig()
    const testId = at.initialize()
    const client = at.ask((replyTo) => ({ type: 'extend-test', testId, ms: 1, replyTo }))
    at.subject.advance(600_000)
    await at.subject.settle()
    assert.equal((client.take() as { code: string }).code, 'test-crashed')
    assert.equal(at.house.tally.crashes, 2)
  })

  test('an initialize whose actor ends is refused', async () => {
    const at = await rig()
    const client = at.ask((replyTo) => ({ type: 'initialize-test', priority: 0, replyTo }))
    await crash(at, 't1')
    assert.equal((client.take() as { code: string }).code, 'test-crashed')
  })

  test('several slots run several, and the first in line goes first', async () => {
    const at = await rig({ settings: { slots: 2 } })
    const ids = [at.started(), at.started(), at.started()]
    for (const testId of ids.toReversed()) at.loaded(testId)
    assert.deepEqual(
      ids.filter((testId) => at.isStarted(testId)),
      ids.slice(1),
    )
    at.tell(ids[2]!, { type: 'test-completed', outcome: 'passed' })
    assert.equal(at.isStarted(ids[0]!), true)
  })

  test('while it drains it takes nothing and starts nothing, and tells when nothing runs', async () => {
    const at = await rig()
    const [first, second] = [at.started(), at.started()]
    at.loaded(first)
    at.loaded(second)
    const setup = at.initialize()
    const drainer = at.ask((replyTo) => ({ type: 'set-mode', mode: 'draining', replyTo }))
    await at.subject.settle()
    drainer.expectEmpty()
    const refused = at.ask((replyTo) => ({ type: 'initialize-test', priority: 0, replyTo }))
    assert.equal((refused.take() as { code: string }).code, 'probe-draining')
    const { reason } = at.start(setup).take() as { reason: string }
    assert.equal(reason, 'draining')
    at.tell(first, { type: 'test-completed', outcome: 'passed' })
    assert.equal(at.isStarted(second), false)
    drainer.expect({ mode: 'draining', running: 0 })
    at.ask((replyTo) => ({ type: 'set-mode', mode: 'open', replyTo }))
    await at.subject.settle()
    assert.equal(at.isStarted(second), true)
  })
})
