/** What is on record of tests, over a journal that has its troubles. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'

import { memoryJournal, type Batch, type CommitResult, type Journal } from '../journal/index.ts'
import { Accident, fault } from '../std/index.ts'
import { virtualClock } from '../testkit/index.ts'
import { FILES, PASSED } from '../../test/probe/fakes.ts'
import { evolve, fold, type TestEvent, type TestRecord } from './record.ts'
import { Register } from './register.ts'

const clock = virtualClock()
const INITIALIZED: TestEvent = { type: 'initialized', at: 1, deadlineAt: 9, priority: 0 }
const CANCELLED: TestEvent = { type: 'cancelled', at: 2 }

type Commit = (batch: Batch) => Promise<CommitResult>

type Rig = Readonly<{
  journal: Journal
  register: Register
  /** Stands between the two for one commit. */
  once: (commit: (real: Commit, batch: Batch) => Promise<CommitResult>) => void
}>

async function rig(): Promise<Rig> {
  const journal = await memoryJournal({ clock })
  let between: ((real: Commit, batch: Batch) => Promise<CommitResult>) | undefined
  const real: Commit = (batch) => journal.commit(batch)
  const troubled = new Proxy(journal, {
    get(target, name) {
      if (name === 'commit' && between !== undefined) {
        const commit = between
        between = undefined
        return (batch: Batch) => commit(real, batch)
      }
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const token = await journal.takeFence('probe')
  return {
    journal,
    register: new Register(troubled, { name: 'probe', token }, clock),
    once: (commit) => (between = commit),
  }
}

function unknown(): never {
  throw new Accident(fault('unknown-outcome', 'nobody knows'))
}

async function appended(
  register: Register,
  record: TestRecord | undefined,
  event: TestEvent,
): Promise<TestRecord> {
  const result = await register.append('t', record, [event])
  assert.ok(result.type === 'appended' && result.record !== undefined)
  return result.record
}

describe('the register', () => {
  test('says what has become of a batch when the journal does not', async () => {
    const { register, once, journal } = await rig()
    once(async (real, batch) => {
      await real(batch)
      return unknown()
    })
    const record = await appended(register, undefined, INITIALIZED)
    assert.deepEqual(await register.read('t'), record)

    once(async () => unknown())
    await assert.rejects(register.append('t', record, [CANCELLED]), { code: 'probe-overloaded' })
    assert.equal((await appended(register, record, CANCELLED)).outcome, 'cancelled')
    assert.equal(await journal.version('probe-test-t'), 2)
  })

  test('tells of events by position, also of one that it had to look up', async () => {
    const { register, once } = await rig()
    const told: (string | number)[][] = []
    register.onAppended = (testId, [event], position) => told.push([testId, event!.type, position])
    once(async (real, batch) => {
      await real(batch)
      return unknown()
    })
    await Promise.all([
      register.append('late', undefined, [INITIALIZED]),
      register.append('t', undefined, [INITIALIZED]),
    ])
    await register.settled()
    assert.deepEqual(told, [
      ['late', 'initialized', 1],
      ['t', 'initialized', 2],
    ])
  })

  test('refuses for the moment what a busy or full journal refuses', async () => {
    const { register, once } = await rig()
    for (const code of ['journal-overloaded', 'read-only'] as const) {
      once(async () => {
        throw new Accident(code === 'read-only' ? fault('read-only', 'x') : fault(code, 'x'))
      })
      await assert.rejects(register.append('t', undefined, [INITIALIZED]), {
        code: 'probe-overloaded',
      })
    }
    assert.equal((await appended(register, undefined, INITIALIZED)).state, 'Setup')
  })

  test('writes nothing over what it does not know of', async () => {
    const { register } = await rig()
    const record = await appended(register, undefined, INITIALIZED)
    await appended(register, record, CANCELLED)
    await assert.rejects(register.append('t', record, [CANCELLED]), { code: 'unknown-outcome' })
  })

  test('is lost once another has taken its fence, and says so once', async () => {
    const { register, journal } = await rig()
    let lost = 0
    register.onLost = () => void lost++
    await journal.takeFence('probe')
    for (let n = 0; n < 2; n++)
      await assert.rejects(register.append('t', undefined, [INITIALIZED]), { code: 'probe-closed' })
    assert.equal(lost, 1)
  })

  test('is lost as well when its journal is closed', async () => {
    const { register, journal } = await rig()
    await journal.close()
    await assert.rejects(register.append('t', undefined, [INITIALIZED]), { code: 'probe-closed' })
  })

  test('is read when nothing of it is on its way any more', async () => {
    const { register, once } = await rig()
    const gate = Promise.withResolvers<void>()
    once(async (real, batch) => {
      await gate.promise
      return real(batch)
    })
    const appending = register.append('t', undefined, [INITIALIZED])
    const reading = register.read('t')
    gate.resolve()
    await appending
    assert.equal((await reading)?.state, 'Setup')
  })

  test('knows of those that live only what has not ended or has evidence to store', async () => {
    const { register } = await rig()
    const record = await appended(register, undefined, INITIALIZED)
    assert.equal((await register.live()).length, 1)
    const at = 3
    const error = { kind: 'x', code: 'x', message: 'x' }
    const pending = await appended(register, record, {
      type: 'errored',
      at,
      outcome: 'errored',
      error,
      evidence: 'pending',
      files: [],
    })
    assert.equal((await register.live()).length, 1)
    assert.equal(await register.forget('t'), false)
    await appended(register, pending, { type: 'evidence-stored', at, files: FILES })
    assert.deepEqual(await register.live(), [])
    assert.equal(await register.forget('t'), true)
    assert.equal(await register.read('t'), undefined)
    const history = await register.history('t')
    assert.equal(history.at(-1)?.type, 'forgotten')
    assert.equal(fold('t', history), undefined)
  })

  test('finds those that are too old or too many, and no others', async () => {
    const { register } = await rig()
    for (let at = 1; at <= 5; at++)
      await register.append(`t${at}`, undefined, [{ ...INITIALIZED, at }])
    const found = async (before: number, beyond: number): Promise<readonly string[]> => {
      const ids: string[] = []
      for await (const page of register.old(before, beyond)) ids.push(...page)
      return ids
    }
    assert.deepEqual(await found(3, 10), ['t3', 't2', 't1'])
    assert.deepEqual(await found(0, 4), ['t1'])
    assert.deepEqual(await found(0, 5), [])
    assert.deepEqual(await found(1, 3), ['t2', 't1'])
  })
})

describe('a record', () => {
  const AT = fc.integer({ min: 1, max: 1_000 })
  const anyEvent: fc.Arbitrary<TestEvent> = fc.oneof(
    fc.record({ type: fc.constant('loaded' as const), at: AT, exclusive: fc.constant(['k']) }),
    fc.record({ type: fc.constant('testing' as const), at: AT, attempt: fc.integer({ min: 1 }) }),
    fc.record({
      type: fc.constant('result-kept' as const),
      at: AT,
      result: fc.constant(PASSED),
    }),
    fc.record({
      type: fc.constant('completed' as const),
      at: AT,
      outcome: fc.constant('passed' as const),
      result: fc.constant(PASSED),
      evidence: fc.constantFrom('stored' as const, 'pending' as const),
      files: fc.constant(FILES),
    }),
    fc.record({ type: fc.constantFrom('cancelled' as const, 'interrupted' as const), at: AT }),
    fc.record({
      type: fc.constant('requeued' as const),
      at: AT,
      why: fc.constantFrom('restart' as const, 'retry' as const, 'interrupted' as const),
      place: fc.integer(),
    }),
    fc.record({
      type: fc.constant('extended' as const),
      at: AT,
      ms: AT,
      deadlineAt: AT,
    }),
  )

  test('is the fold of its events, from the beginning or from anywhere, as it is stored', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 20, size: 'max' }), fc.nat(20), (later, from) => {
        const events = [INITIALIZED, ...later]
        const whole = fold('t', events)
        assert.equal(whole?.version, events.length)
        const half = fold('t', events.slice(0, from + 1))
        const stored = JSON.parse(JSON.stringify(half)) as TestRecord
        const rest = events.slice(from + 1)
        const resumed = rest.reduce<TestRecord | undefined>(
          (record, event) => evolve('t', record, event),
          stored,
        )
        assert.deepEqual(resumed, whole)
      }),
    )
  })

  test('has an outcome exactly when it has ended, and none after it was queued again', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 20, size: 'max' }), (later) => {
        const record = fold('t', [INITIALIZED, ...later])!
        const last = later.findLast(({ type }) =>
          ['completed', 'cancelled', 'interrupted', 'requeued'].includes(type),
        )
        const isOver = last !== undefined && last.type !== 'requeued'
        assert.equal(record.outcome !== undefined, isOver)
      }),
    )
  })
})
