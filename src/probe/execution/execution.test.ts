/**
 * One test as a machine: every transition, what its `enter` does, and what it answers in each state. The
 * ids in the titles are those of the conformance list; where one of them describes a defect that was
 * found later, the title says which.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { receive } from '../../kernel/index.ts'
import { inbox } from '../../testkit/index.ts'
import { FAILED, FILES, PASSED } from '../../../test/probe/fakes.ts'
import { FAILURE, life, lifeIn, START, type TestLife } from '../../../test/probe/life.ts'
import { CHILDREN_END_MS } from '../limits.ts'
import type { EventsMessage, ExecutionMessage, TestState } from '../protocol.ts'
import type { RecordedState } from '../record.ts'

const STATES = ['Setup', 'Loading', 'Loaded', 'Testing', 'Completed', 'Exception'] as const
const STOPS = [
  'vault stop',
  'cucumber stop',
  'producer stop',
  'consumer stop',
  'block-storage stop',
]
const FAIL: ExecutionMessage = { type: 'child-failed', ...FAILURE }

async function types(at: TestLife): Promise<readonly string[]> {
  return (await at.history()).map(({ type }) => type)
}

describe('a test, as the conformance list has it', () => {
  test('F-01: it says that it is initialized, and has so long to be started', async () => {
    const client = inbox<unknown>('client')
    const at = await life({}, { type: 'fresh', priority: 0, replyTo: client })
    client.expect({ testId: 't', message: 'Test initialized' })
    assert.deepEqual(at.notices(), ['test-initialized'])
    await at.advance(600_000 - 1)
    assert.equal(at.state, 'Setup')
  })

  test('F-02: in Setup for too long it stops, and its actor is gone', async () => {
    const at = await lifeIn('Setup')
    await at.advance(600_000)
    assert.deepEqual(at.notices(), ['test-stopping'])
    assert.equal(at.subject.isStopped, true)
    assert.equal((await at.record())?.outcome, 'timed-out')
  })

  test('F-03: the time of Setup ends with Setup', async () => {
    const at = await lifeIn('Setup', { settings: { setupMs: 1_000, loadingMs: 5_000 } })
    await at.advance(999)
    await at.start()
    await at.advance(4_999)
    assert.equal(at.state, 'Loading')
    await at.advance(1)
    assert.equal(at.subject.isStopped, true)
  })

  test('F-04: Loading has five children, and the first of them is told to begin', async () => {
    const at = await lifeIn('Setup')
    assert.deepEqual(await at.start(), {
      testId: 't',
      accepted: true,
      message: 'Test loading initiated',
      testType: 'smoke',
    })
    assert.deepEqual(
      at.subject.children.map(({ path }) => path),
      ['block-storage', 'vault', 'cucumber', 'producer', 'consumer'].map((n) => `/test/${n}-t`),
    )
    assert.deepEqual(at.silent.take(), ['block-storage initialize'])
    assert.deepEqual(at.notices(), ['test-loading'])
  })

  test('F-05 and F-06: the bundle goes to the vault, what that gives to the other three', async () => {
    const at = await lifeIn('Loading')
    const { directive, features } = at.at.fakes
    const bundle = { directory: '/b', directive, features }
    await at.tell({ type: 'bundle-fetched', fetched: { bundle, evidence: '/e' } })
    assert.deepEqual(at.silent.take(), ['vault initialize'])
    const security = { credentials: new Map(), secrets: new Map() }
    await at.tell({ type: 'security-fetched', security })
    assert.deepEqual(at.silent.take().toSorted(), [
      'consumer initialize',
      'cucumber initialize',
      'producer initialize',
    ])
  })

  test('F-07 and F-08: with four children ready it is Loading, with five it is Loaded', async () => {
    const at = await lifeIn('Loading')
    await at.ready(4)
    assert.equal(at.state, 'Loading')
    assert.deepEqual(at.notices(), [])
    await at.tell({ type: 'child-ready', kind: 'consumer' })
    assert.equal(at.state, 'Loaded')
    assert.deepEqual(at.notices(), ['test-loaded'])
  })

  test('F-09: in Loading for too long it stops', async () => {
    const at = await lifeIn('Loading')
    await at.advance(120_000 - 1)
    assert.equal(at.state, 'Loading')
    await at.advance(1)
    assert.deepEqual(at.notices(), ['test-ending', 'test-stopping'])
    assert.deepEqual(at.silent.take(), STOPS)
    const { outcome, error } = (await at.record())!
    assert.deepEqual([outcome, error?.code], ['timed-out', 'test-overdue'])
  })

  test('F-10: in Loaded it waits for as long as it takes', async () => {
    const at = await lifeIn('Loaded')
    await at.advance(86_400_000)
    assert.equal(at.state, 'Loaded')
  })

  test('F-11, but L4: in Testing it has a deadline too', async () => {
    const at = await lifeIn('Testing')
    await at.advance(300_000 - 1)
    assert.deepEqual(at.silent.take(), [])
    await at.advance(1)
    assert.deepEqual(at.silent.take(), ['cucumber stop', 'block-storage store-evidence'])
    await at.tell({ type: 'evidence-stored', files: FILES })
    assert.equal(at.state, 'Exception')
    assert.equal((await at.record())?.outcome, 'timed-out')
  })

  test('F-12: when it is told to, it runs and says so', async () => {
    const at = await lifeIn('Loaded')
    await at.tell({ type: 'start-testing' })
    assert.equal(at.state, 'Testing')
    assert.deepEqual(at.silent.take().toSorted(), [
      'consumer start-test',
      'cucumber start-test',
      'producer start-test',
    ])
    assert.deepEqual(at.notices(), ['test-started'])
  })

  test('F-13: after the run evidence is stored, and when it is the test has completed', async () => {
    const at = await lifeIn('Testing')
    await at.tell({ type: 'test-complete', result: PASSED })
    assert.deepEqual(at.silent.take(), ['block-storage store-evidence'])
    assert.deepEqual(at.notices(), [])
    assert.equal(at.state, 'Testing')
    await at.tell({ type: 'evidence-stored', files: FILES })
    assert.deepEqual(at.notices(), ['test-completed'])
    assert.equal(at.state, 'Completed')
  })

  for (const [state, ms] of [
    ['Completed', 60_000],
    ['Exception', 30_000],
  ] as const)
    test(`F-14: ${state} lasts for ${ms} ms, then it is gone`, async () => {
      const at = await lifeIn(state)
      await at.advance(ms - 1)
      assert.equal(at.state, state)
      await at.advance(1)
      assert.deepEqual(at.notices(), ['test-stopping'])
      assert.equal(at.subject.isStopped, true)
    })

  for (const state of ['Setup', 'Loading', 'Loaded'] as const)
    test(`F-15: it can be cancelled in ${state}`, async () => {
      const at = await lifeIn(state)
      assert.deepEqual(await at.cancel(), { testId: 't', cancelled: true })
      assert.deepEqual(at.notices().at(-1), 'test-stopping')
      assert.equal(at.subject.isStopped, true)
      assert.equal((await at.record())?.outcome, 'cancelled')
    })

  test('F-15, but L4: it can be cancelled in Testing as well', async () => {
    const at = await lifeIn('Testing')
    assert.deepEqual(await at.cancel(), { testId: 't', cancelled: true })
    assert.deepEqual(at.silent.take(), [...STOPS.slice(0, -1), 'block-storage store-evidence'])
    assert.equal((await at.record())?.outcome, 'cancelled')
    await at.tell({ type: 'evidence-stored', files: FILES })
    assert.deepEqual(at.silent.take(), ['block-storage stop'])
    const { outcome, evidence, files } = (await at.record())!
    assert.deepEqual([outcome, evidence, files], ['cancelled', 'stored', FILES])
    assert.deepEqual(at.notices().at(-1), 'test-stopping')
    assert.equal(at.subject.isStopped, true)
  })

  test('a cancelled run whose evidence is not stored, or not in time, ends without', async () => {
    const failed = await lifeIn('Testing')
    await failed.cancel()
    failed.silent.take()
    await failed.tell({ type: 'evidence-failed', fault: FAILURE.fault })
    assert.deepEqual(failed.silent.take(), ['block-storage stop'])
    assert.equal((await failed.record())?.evidence, 'none')
    assert.equal(failed.subject.isStopped, true)

    const slow = await lifeIn('Testing')
    await slow.cancel()
    await slow.advance(slow.at.house.settings.loadingMs)
    assert.equal((await slow.record())?.evidence, 'none')
    assert.equal(slow.subject.isStopped, true)
  })

  for (const [state, message] of [
    ['Completed', 'Test already completed, cannot cancel'],
    ['Exception', 'Test in exception state, cleanup in progress'],
  ] as const)
    test(`F-15: it cannot be cancelled in ${state}, and says why`, async () => {
      const at = await lifeIn(state)
      assert.deepEqual(await at.cancel(), { testId: 't', cancelled: false, message })
      assert.equal(at.state, state)
    })

  for (const state of ['Setup', 'Loading', 'Loaded'] as const)
    test(`F-16 (and E5): a failure in ${state} is an exception with its cause`, async () => {
      const at = await lifeIn(state)
      await at.tell(FAIL)
      assert.equal(at.state, 'Exception')
      assert.deepEqual(at.notices(), ['test-exception'])
      const status = await at.status()
      assert.deepEqual(
        [status?.error, status?.errorKind, status?.errorCode, status?.outcome],
        ['the vault says no', 'vault', 'secret-denied', 'errored'],
      )
      await at.advance(30_000)
      assert.deepEqual(at.notices(), ['test-stopping'])
    })

  test('F-16: a failure in Testing ends the worker and keeps the evidence first', async () => {
    const at = await lifeIn('Testing')
    await at.tell(FAIL)
    assert.deepEqual(at.silent.take(), ['cucumber stop', 'block-storage store-evidence'])
    assert.deepEqual(at.notices(), [])
    await at.tell({ type: 'evidence-stored', files: FILES })
    assert.deepEqual(at.notices(), ['test-exception'])
    const status = await at.status()
    assert.deepEqual(
      [status?.error, status?.evidence, status?.success],
      ['the vault says no', 'stored', false],
    )
  })

  test('F-16, but an outcome is one: a failure in Completed changes nothing', async () => {
    const at = await lifeIn('Completed')
    await at.tell(FAIL)
    assert.equal(at.state, 'Completed')
    assert.deepEqual(at.notices(), [])
    assert.equal((await at.record())?.outcome, 'passed')
  })

  test('F-17: its status has in each state what there is to say', async () => {
    const present: Record<string, unknown> = {}
    for (const state of STATES) {
      const at = await lifeIn(state)
      const status = (await at.status())!
      assert.equal(status.state, state)
      const optional = ['bucket', 'testType', 'startTime', 'endTime', 'success', 'error'] as const
      present[state] = optional.filter((field) => status[field] !== undefined)
    }
    assert.deepEqual(present, {
      Setup: [],
      Loading: ['bucket', 'testType'],
      Loaded: ['bucket', 'testType'],
      Testing: ['bucket', 'testType', 'startTime'],
      Completed: ['bucket', 'testType', 'startTime', 'endTime', 'success'],
      Exception: ['bucket', 'testType', 'error'],
    })
  })

  for (const state of STATES)
    test(`F-18: what has no place in ${state} is ignored, and the state is kept`, async () => {
      const at = await lifeIn(state)
      const strays: ExecutionMessage[] = [
        { type: 'store-again' },
        { type: 'overdue', state: 'ShuttingDown' },
        { type: 'progress', progress: PROGRESS },
        { type: 'evidence-stored', files: [] },
        { type: 'evidence-failed', fault: FAILURE.fault },
      ]
      if (state !== 'Loaded') strays.push({ type: 'start-testing' })
      if (state !== 'Testing') strays.push({ type: 'test-complete', result: PASSED })
      if (state === 'Completed' || state === 'Exception')
        strays.push({ type: 'child-ready', kind: 'vault' })
      const before = (await at.history()).length
      for (const stray of strays) await at.tell(stray)
      assert.equal(at.state, state)
      assert.equal((await at.history()).length, before)
      assert.deepEqual(at.notices(), [])
    })

  test('F-18, but L5: a request that comes at the wrong time is answered', async () => {
    const at = await lifeIn('Exception')
    assert.deepEqual(await at.start(), {
      testId: 't',
      accepted: false,
      reason: 'finished',
      message: 'Test has ended, retry it or initialize another',
    })
  })

  test('F-19: all five children are told to stop, and the queue hears of it before the actor ends', async () => {
    const at = await lifeIn('Loaded')
    at.subject.post({ type: 'cancel', replyTo: at.client })
    await at.subject.settle()
    assert.deepEqual(at.silent.take(), STOPS)
    const ends = at.subject.trace.filter(({ type }) => type === 'stopped')
    assert.equal(ends.at(-1)?.actor, '/test')
    assert.deepEqual(at.notices(), ['test-ending', 'test-stopping'])
  })
})

const PROGRESS = { scenarios: 2, scenariosDone: 1, scenariosFailed: 0, step: 'I wait' }

type Transition = Readonly<{
  from: RecordedState
  message: (at: TestLife) => ExecutionMessage
  to: TestState
  /** What is on record when `enter` has run. */
  event: string
}>

const TRANSITIONS: readonly Transition[] = [
  {
    from: 'Setup',
    message: ({ client }) => ({
      type: 'start',
      options: START,
      place: 1,
      standing: {},
      replyTo: client,
    }),
    to: 'Loading',
    event: 'started',
  },
  {
    from: 'Loaded',
    message: () => ({ type: 'start-testing' }),
    to: 'Testing',
    event: 'testing',
  },
  ...(['Setup', 'Loading', 'Loaded'] as const).map((from) => ({
    from,
    message: () => FAIL,
    to: 'Exception' as const,
    event: 'errored',
  })),
  ...(['Setup', 'Loading', 'Loaded', 'Testing'] as const).map((from) => ({
    from,
    message: ({ client }: TestLife) => ({ type: 'cancel' as const, replyTo: client }),
    to: 'ShuttingDown' as const,
    event: 'cancelled',
  })),
  ...(['Setup', 'Loading'] as const).map((from) => ({
    from,
    message: () => ({ type: 'overdue' as const, state: from }),
    to: 'ShuttingDown' as const,
    event: 'errored',
  })),
  {
    from: 'Completed',
    message: ({ client }) => ({ type: 'retry', place: 2, standing: {}, replyTo: client }),
    to: 'Loading',
    event: 'requeued',
  },
  {
    from: 'Exception',
    message: ({ client }) => ({ type: 'retry', place: 2, standing: {}, replyTo: client }),
    to: 'Loading',
    event: 'requeued',
  },
]

describe('a transition', () => {
  for (const { from, message, to, event } of TRANSITIONS) {
    const title = `from ${from} to ${to} by ${event}`
    test(`${title}: the state first, then what enters it, written before anybody is told`, async () => {
      const at = await lifeIn(from)
      const before = await types(at)
      at.subject.post(message(at))

      assert.equal(at.subject.step(), true)
      assert.equal(at.state, to)
      assert.deepEqual([...at.notices(), ...at.silent.take(), ...at.client.messages], [])
      assert.deepEqual(await types(at), before)

      // What waits in the mailbox does not come between the two.
      const late = inbox<unknown>('late')
      at.subject.post({ type: 'get-status', standing: {}, replyTo: late })
      assert.equal(at.subject.step(), true)
      assert.deepEqual([...at.notices(), ...at.client.messages], [])
      late.expectEmpty()

      await at.subject.settle()
      assert.deepEqual(await types(at), [...before, event])
      assert.ok(at.notices().length > 0 || at.client.messages.length > 0)
    })
  }

  test('from Loading to Loaded, and from Testing to Completed, is the same', async () => {
    const loading = await lifeIn('Loading')
    await loading.ready(4)
    loading.subject.post({ type: 'child-ready', kind: 'consumer' })
    loading.subject.step()
    assert.equal(loading.state, 'Loaded')
    assert.deepEqual(loading.notices(), [])
    await loading.subject.settle()
    assert.deepEqual(loading.notices(), ['test-loaded'])

    const testing = await lifeIn('Testing')
    await testing.tell({ type: 'test-complete', result: FAILED })
    testing.subject.post({ type: 'evidence-stored', files: FILES })
    testing.subject.step()
    assert.equal(testing.state, 'Completed')
    assert.deepEqual(testing.notices(), [])
    await testing.subject.settle()
    assert.deepEqual(testing.notices(), ['test-completed'])
    assert.equal((await testing.record())?.outcome, 'failed')
  })

  test('from Testing to Exception comes after the evidence, and is the same', async () => {
    const at = await lifeIn('Testing')
    await at.tell(FAIL)
    const before = await types(at)
    at.subject.post({ type: 'evidence-stored', files: FILES })
    at.subject.step()
    assert.equal(at.state, 'Exception')
    assert.deepEqual([at.notices(), await types(at)], [[], before])
    await at.subject.settle()
    assert.deepEqual(at.notices(), ['test-exception'])
    assert.deepEqual(await types(at), [...before, 'errored'])
  })

  for (const state of ['Completed', 'Exception'] as const)
    test(`from ${state} to ShuttingDown writes nothing: its outcome is on record`, async () => {
      const at = await lifeIn(state)
      const before = await types(at)
      at.subject.post({ type: 'overdue', state })
      at.subject.step()
      assert.equal(at.state, 'ShuttingDown')
      assert.deepEqual(at.notices(), [])
      await at.subject.settle()
      assert.deepEqual(at.notices(), ['test-stopping'])
      assert.deepEqual(await types(at), before)
    })
})

describe('shutting down', () => {
  test('waits for children, answers meanwhile, and goes without those that do not end', async () => {
    const stubborn = receive<EventsMessage>(() => undefined)
    const at = await lifeIn('Loaded', { factories: { producer: () => stubborn } })
    assert.deepEqual(await at.cancel(), { testId: 't', cancelled: true })
    assert.equal(at.state, 'ShuttingDown')
    assert.deepEqual(at.notices(), ['test-ending'])
    assert.equal((await at.status())?.outcome, 'cancelled')
    assert.deepEqual(await at.cancel(), { testId: 't', cancelled: true })
    const refused = (await at.start()) as { reason: string }
    assert.equal(refused.reason, 'shutting-down')
    await at.advance(at.at.house.settings.graceMs + CHILDREN_END_MS)
    assert.deepEqual(at.notices(), ['test-stopping'])
  })
})
