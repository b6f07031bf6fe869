/**
 * Weaknesses that orchestrators of this shape have had, each shown to be absent. A comment in each test
 * names the line that makes the difference: without it the test fails.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { receive } from '../../src/kernel/index.ts'
import { execution } from '../../src/probe/execution/execution.ts'
import { DEPTH_DEFAULT, SETUP_MS_DEFAULT } from '../../src/probe/limits.ts'
import type { TestRecord } from '../../src/probe/record.ts'
import { Schedule } from '../../src/probe/schedule.ts'
import { Accident, fault, lineLog, systemClock } from '../../src/std/index.ts'
import { FAILED, Fakes, FILES } from './fakes.ts'
import { lifeIn } from './life.ts'
import { scene, type Scene } from './scene.ts'

const UNAVAILABLE = new Accident(fault('storage-unavailable', 'the storage is away'))

/** The first runs, the others are loaded and wait. */
async function line(at: Scene, count: number): Promise<readonly string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) ids.push(await at.started())
  await at.settle()
  return ids
}

describe('the queue and the life of a test', () => {
  test('probe-L1: a test that was loaded and crashed does not stop those behind it', async () => {
    // noticing.ts, mourn: core.schedule.finish(testId, 'Exception')
    await using at = await scene({
      factories: {
        // Whoever follows it says nothing either.
        execution: (options) =>
          options.begin.type === 'mourning' ? receive(() => undefined) : execution(options),
      },
    })
    const [first, second, third] = await line(at, 3)
    at.kill(second!)
    await at.settle()
    at.fakes.runOf(first!).finish()
    await at.reaches(third!, 'Testing')
  })

  test('probe-L2: nor does one that failed while it was loaded', async () => {
    // noticing.ts, finished: core.schedule.finish(testId, state)
    await using at = await scene()
    const [first, second] = await line(at, 2)
    at.fakes.onLost?.(new Accident(fault('events-unavailable', 'the broker is gone')))
    await at.reaches(second!, 'Exception')
    const third = await at.started()
    at.fakes.runOf(first!).finish()
    await at.reaches(third, 'Testing')
  })

  test('probe-L3: a crashed test leaves the queue, and its reason stays on record', async () => {
    // noticing.ts, leaving: core.schedule.remove(testId)
    await using at = await scene()
    const testId = await at.running()
    at.kill(testId)
    await at.settle()
    assert.equal((await at.until(at.probe.queueStatus())).exceptionCount, 1)
    await at.town.advance(60_000)
    assert.equal((await at.until(at.probe.queueStatus())).totalTests, 0)
    const { outcome, errorCode } = await at.status(testId)
    assert.deepEqual([outcome, errorCode], ['errored', 'test-crashed'])
  })

  test('probe-L4: a run that hangs is killed at its deadline, and can be cancelled before', async () => {
    // execution/testing.ts, enter: limited(life, ctx, after, 'Testing', …)
    await using at = await scene()
    const [first, second, third] = await line(at, 3)
    await at.town.advance(300_000)
    assert.equal((await at.status(first!)).outcome, 'timed-out')
    assert.equal(at.fakes.runOf(first!).isOver, true)
    await at.reaches(second!, 'Testing')
    assert.deepEqual(await at.until(at.probe.cancel(second!)), {
      testId: second,
      cancelled: true,
    })
    await at.reaches(third!, 'Testing')
    assert.equal(at.fakes.runOf(second!).graceMs, 5_000)
  })

  test('probe-L5: a test that is not there is refused at once, however often it is asked for', async () => {
    // reader.ts: owed.tell(noSuchTest(testId))
    await using at = await scene()
    for (let n = 0; n < 20; n++) {
      const { code } = await at.refused(at.probe.status(`nobody-${n}`))
      assert.equal(code, 'no-such-test')
    }
    for (const asked of [
      at.probe.start('nobody', { bucket: '/a' }),
      at.probe.cancel('nobody'),
      at.probe.extend('nobody', 1),
      at.probe.retry('nobody'),
      at.probe.history('nobody'),
      at.probe.evidence('nobody'),
      at.probe.queueStatus('nobody'),
      at.probe.status('../etc/passwd'),
    ])
      assert.equal((await at.refused(asked)).code, 'no-such-test')
    assert.equal(at.town.clock.monotonic(), 0)
    await at.running()
  })

  test('probe-L6: results are there long after the actor is gone, until retention forgets them', async () => {
    // routing.ts, forward: if (entry === undefined) return core.read(message)
    await using at = await scene({ settings: { retentionMs: 86_400_000 } })
    const testId = await at.running()
    at.fakes.runOf(testId).finish(FAILED)
    await at.town.advance(3_600_000)
    assert.equal((await at.until(at.probe.queueStatus())).totalTests, 0)
    const { outcome, result, files } = await at.status(testId)
    assert.deepEqual([outcome, result?.scenariosFailed, files], ['failed', 1, FILES])
    assert.equal((await at.until(at.probe.list())).tests.length, 1)
    await at.town.advance(86_400_000)
    assert.equal((await at.refused(at.probe.status(testId))).code, 'no-such-test')
    assert.equal((await at.until(at.probe.list())).tests.length, 0)
  })

  test('probe-L7: queue, results and tests that run survive the end of the server', async () => {
    // queue.ts, recover: core.spawn(record.testId, { type: 'recovered', record, place })
    await using at = await scene()
    const done = await at.running()
    at.fakes.runOf(done).finish()
    await at.settle()
    const [first, second, third] = await line(at, 3)
    const setup = await at.initialize()
    await at.killAndBegin()
    await at.settle()
    assert.equal((await at.status(done)).outcome, 'passed')
    assert.equal((await at.status(setup)).state, 'Setup')
    const again = await at.reaches(first!, 'Testing')
    assert.equal(again.attempt, 2)
    const types = (await at.until(at.probe.history(first!))).map(({ type }) => type)
    assert.deepEqual(types.slice(4, 6), ['interrupted', 'requeued'])
    for (const testId of [first, second, third]) {
      at.fakes.runOf(testId!).finish()
      await at.reaches(testId!, 'Completed')
    }
  })

  test('probe-L8: as many run as there are slots, and none beside one that must be alone', async () => {
    // schedule.ts, next: this.#running.size >= this.options.slots; #takenOf
    await using at = await scene({ settings: { slots: 2 } })
    const ids: string[] = []
    for (let n = 0; n < 4; n++) ids.push(await at.initialize())
    const exclusive = [['orders'], ['orders'], [], []]
    for (const [n, testId] of ids.entries())
      await at.until(at.probe.start(testId, { bucket: '/a', exclusive: exclusive[n]! }))
    await at.settle()
    const { testing, pending } = await at.until(at.probe.queueStatus())
    assert.deepEqual([testing, pending], [[ids[0], ids[2]], 2])
    at.fakes.runOf(ids[2]!).finish()
    await at.reaches(ids[3]!, 'Testing')
    await at.reaches(ids[1]!, 'Loaded')
    at.fakes.runOf(ids[0]!).finish()
    await at.reaches(ids[1]!, 'Testing')
  })

  test('probe-L9: what an operation costs does not grow with the tests there are', () => {
    // line.ts, rank: the sum over n -= n & -n instead of over all places
    costOf(10) // compiled
    let [few, many] = [Infinity, Infinity]
    // The best of each: what a busy machine adds is in none of them for long.
    for (let round = 0; round < 3 || (round < 20 && many >= 20 * few); round++) {
      few = Math.min(few, costOf(10))
      many = Math.min(many, costOf(50_000))
    }
    assert.ok(many < 20 * few, `${many} ms with 50 000 tests, ${few} ms with 10`)
  })

  test('probe-L10: the status of the queue says of a test what it is asked about', async () => {
    // routing.ts, queueStatus: test: { testId, state, ...core.standing(testId) }
    await using at = await scene()
    const [first, second, third] = await line(at, 3)
    const asked = async (testId: string): Promise<unknown> =>
      (await at.until(at.probe.queueStatus(testId))).test
    assert.deepEqual(await asked(first!), { testId: first, state: 'Testing' })
    assert.deepEqual(await asked(third!), { testId: third, state: 'Loaded', position: 2 })
    await at.until(at.probe.cancel(second!))
    await at.settle()
    assert.deepEqual(await asked(second!), { testId: second, state: 'Exception' })
    assert.deepEqual(await asked(third!), { testId: third, state: 'Loaded', position: 1 })
  })

  test('probe-L11: a second start is the same or refused, and leaves nothing in line', async () => {
    // routing.ts, start: isFirst
    await using at = await scene()
    const first = await at.running()
    const testId = await at.started('/bundles/a')
    const again = await at.until(at.probe.start(testId, { bucket: '/bundles/a' }))
    assert.deepEqual([again.accepted, again.position], [true, 1])
    const other = await at.until(at.probe.start(testId, { bucket: '/bundles/b' }))
    assert.deepEqual([other.accepted, other.reason], [false, 'already-started'])
    assert.equal((await at.until(at.probe.queueStatus())).pending, 1)
    assert.equal((await at.status(testId)).bucket, '/bundles/a')
    at.fakes.runOf(first).finish()
    await at.reaches(testId, 'Testing')
    at.fakes.runOf(testId).finish()
    await at.reaches(testId, 'Completed')
    const late = await at.until(at.probe.start(testId, { bucket: '/bundles/a' }))
    assert.deepEqual([late.accepted, late.reason], [false, 'finished'])
    assert.equal((await at.until(at.probe.queueStatus())).pending, 0)
    await at.town.advance(60_000)
    const gone = await at.until(at.probe.start(testId, { bucket: '/bundles/a' }))
    assert.deepEqual([gone.accepted, gone.reason], [false, 'finished'])
  })

  test('probe-L11: a request id makes initialize and start the same thing twice', async () => {
    // execution/setup.ts, requestOf: { id: requestId, … }
    await using at = await scene()
    const first = await at.until(at.probe.initialize({ requestId: 'r1' }))
    assert.deepEqual(await at.until(at.probe.initialize({ requestId: 'r1' })), first)
    const { code } = await at.refused(at.probe.initialize({ requestId: 'r1', priority: 1 }))
    assert.equal(code, 'request-mismatch')
    assert.equal((await at.until(at.probe.queueStatus())).totalTests, 1)
    const options = { bucket: '/a', requestId: 'r2' }
    await at.until(at.probe.start(first.testId, options))
    await at.settle()
    at.fakes.runOf(first.testId).finish()
    await at.reaches(first.testId, 'Completed')
    assert.equal((await at.until(at.probe.start(first.testId, options))).accepted, true)
  })

  test('probe-L12: a line has an end, and who joins is told where and for how long', async () => {
    // routing.ts, lineRefusal: core.schedule.isFull
    await using at = await scene({ settings: { depth: 2 } })
    const done = await at.running()
    await at.town.advance(4_000)
    at.fakes.runOf(done).finish()
    const first = await at.running()
    const [second, third] = [await at.started(), await at.started()]
    const standing = await at.until(at.probe.start(third, { bucket: '/bundles/a' }))
    assert.deepEqual([standing.position, standing.estimateMs], [2, 8_000])
    const fourth = await at.initialize()
    const refused = await at.until(at.probe.start(fourth, { bucket: '/a' }))
    assert.deepEqual([refused.accepted, refused.reason], [false, 'queue-full'])
    assert.equal((await at.status(fourth)).state, 'Setup')
    at.fakes.runOf(first).finish()
    await at.reaches(second, 'Testing')
    assert.equal((await at.until(at.probe.start(fourth, { bucket: '/a' }))).accepted, true)
    assert.equal(DEPTH_DEFAULT, 1_000)
  })

  test('probe-L13: a cancel is told once, and the end that follows is no crash', async () => {
    // noticing.ts, leaving: entry.isLeaving = true
    const lines: string[] = []
    const log = lineLog((text) => lines.push(text), { level: 'warn' })
    await using at = await scene({ probeLog: log })
    const testId = await at.started()
    await at.until(at.probe.cancel(testId))
    await at.settle()
    const { crashes, outcomes } = at.probe.metrics()
    assert.deepEqual([crashes, outcomes.cancelled, lines], [0, 1, []])
  })

  test('probe-L14: who goes first is a policy: the first that is ready, or the head of the line', async () => {
    // schedule.ts, next: this.options.policy === 'strict'
    for (const policy of ['first-ready', 'strict'] as const) {
      const fakes = new Fakes()
      const slow = Promise.withResolvers<void>()
      fakes.onFetch = async (bucket) => (bucket === '/slow' ? slow.promise : undefined)
      await using at = await scene({ settings: { policy }, fakes })
      const head = await at.started('/slow')
      const second = await at.started('/fast')
      await at.reaches(second, policy === 'strict' ? 'Loaded' : 'Testing')
      slow.resolve()
      await at.reaches(head, policy === 'strict' ? 'Testing' : 'Loaded')
    }
  })

  test('probe-L15: a cancel right behind a start leaves neither without an answer', async () => {
    // execution/loading.ts, enter: arrival.replyTo?.tell(accepted(…))
    await using at = await scene()
    const testId = await at.initialize()
    const starting = at.probe.start(testId, { bucket: '/a' })
    const cancelling = at.probe.cancel(testId)
    assert.equal((await at.until(starting)).accepted, true)
    assert.equal((await at.until(cancelling)).cancelled, true)
    const initializing = at.probe.initialize()
    await at.settle()
    assert.equal((await at.until(initializing)).message, 'Test initialized')
  })

  test('probe-L15: what waits for an actor that ends is answered all the same', async () => {
    // noticing.ts, testEnded: void route(core, request.message)
    await using at = await scene()
    const testId = await at.initialize()
    const cancelling = at.probe.cancel(testId)
    const asked = [at.probe.status(testId), at.probe.cancel(testId), at.probe.status(testId)]
    assert.equal((await at.until(cancelling)).cancelled, true)
    for (const each of asked) await at.until<unknown>(each)
    assert.equal(at.town.clock.monotonic(), 0)
  })

  test('probe-L16: a child that says twice that it is ready counts once', async () => {
    // execution/loading.ts, ready: new Set(data.ready).add(kind)
    const at = await lifeIn('Loading')
    for (let n = 0; n < 5; n++) await at.tell({ type: 'child-ready', kind: 'vault' })
    assert.equal(at.state, 'Loading')
  })

  test('probe-L17: before the next test runs nothing of the one before is left', async () => {
    // execution/shutting-down.ts, enter: if (after.children.size === 0) return gone(after)
    const fakes = new Fakes()
    await using at = await scene({ fakes })
    const [first, second] = await line(at, 2)
    const killed = Promise.withResolvers<void>()
    fakes.runOf(first!).onCancel = () => killed.promise
    await at.until(at.probe.cancel(first!))
    await at.reaches(second!, 'Loaded')
    killed.resolve()
    await at.reaches(second!, 'Testing')
    assert.equal(fakes.running, 1)
    assert.deepEqual([...fakes.staged], [second])
    assert.ok(![...fakes.sessions].some((name) => name.endsWith(first!)))
    at.fakes.runOf(second!).finish()
    await at.town.advance(60_000)
    assert.deepEqual([fakes.staged.size, fakes.sessions.size, fakes.running], [0, 0, 0])
  })

  test('probe-L18: there is time for an upload, and more for whoever asks', async () => {
    // execution/otherwise.ts, extended: ctx.timers.after('deadline', …)
    await using at = await scene()
    assert.equal(SETUP_MS_DEFAULT, 600_000)
    const testId = await at.initialize()
    await at.town.advance(599_000)
    await at.until(at.probe.extend(testId, 60_000))
    await at.town.advance(60_000)
    assert.equal((await at.status(testId)).state, 'Setup')
    const stream = (async function* () {
      yield new Uint8Array(1)
    })()
    const { signal } = new AbortController()
    const options = { contentType: 'application/zip', signal }
    const { path } = await at.until(at.probe.upload(testId, stream, options))
    await at.town.advance(600_000)
    assert.equal((await at.until(at.probe.start(testId, { bucket: path }))).accepted, true)
  })

  test('probe-L19: success is that all passed, and the counts are there to see', async () => {
    // execution/finished.ts, completedEvents: result.passed ? 'passed' : 'failed'
    await using at = await scene()
    const testId = await at.running()
    at.fakes.runOf(testId).finish(FAILED)
    const { success, outcome, result } = await at.reaches(testId, 'Completed')
    assert.deepEqual([success, outcome], [false, 'failed'])
    assert.deepEqual(result, FAILED)
  })

  test('probe-L20: a result is kept when its evidence cannot be stored, and that is tried again', async () => {
    // execution/testing.ts, 'evidence-failed': over(data, 'pending', NO_FILES)
    await using at = await scene()
    at.fakes.onStore = async () => {
      throw UNAVAILABLE
    }
    const testId = await at.running()
    const next = await at.started()
    at.fakes.runOf(testId).finish()
    const pending = await at.reaches(testId, 'Completed')
    assert.deepEqual([pending.success, pending.evidence], [true, 'pending'])
    await at.reaches(next, 'Testing')
    await at.town.advance(120_000)
    assert.equal((await at.status(testId)).evidence, 'pending')
    assert.ok(at.fakes.staged.has(testId))
    at.fakes.onStore = async () => undefined
    await at.town.advance(300_000)
    const { evidence, files } = await at.status(testId)
    assert.deepEqual([evidence, files], ['stored', FILES])
    assert.equal(at.fakes.staged.has(testId), false)
  })

  test('probe-L20: evidence that is pending outlives the server', async () => {
    // recovery.ts, hasEvidence: evidence === 'pending'
    await using at = await scene()
    at.fakes.onStore = async () => {
      throw UNAVAILABLE
    }
    const testId = await at.running()
    at.fakes.runOf(testId).finish()
    await at.reaches(testId, 'Completed')
    await at.killAndBegin()
    at.fakes.onStore = async () => undefined
    await at.town.advance(10_000)
    const { outcome, evidence } = await at.status(testId)
    assert.deepEqual([outcome, evidence], ['passed', 'stored'])
  })

  test('probe-L21: there is no message that nobody sends and no state that nobody enters', () => {
    // protocol.ts: a member of a union that is told nowhere
    const root = 'src/probe'
    const protocol = readFileSync(join(root, 'protocol.ts'), 'utf8')
    const types = [...protocol.matchAll(/\btype: '([\w-]+)'/g)].map(([, type]) => type!)
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .filter((name) => name !== 'protocol.ts')
    const text = files.map((name) => readFileSync(join(root, name), 'utf8')).join('\n')
    const unsent = types.filter((type) => !text.includes(`type: '${type}'`))
    assert.ok(types.length > 40)
    assert.deepEqual(unsent, [])
    const states: readonly TestRecord['state'][] = [
      'Setup',
      'Loading',
      'Loaded',
      'Testing',
      'Completed',
      'Exception',
    ]
    for (const state of states) assert.match(text, new RegExp(`state: '${state}'`))
  })
})

/** Milliseconds that it takes to say where the last of so many stands, and what its place costs. */
function costOf(tests: number): number {
  const schedule = new Schedule({ slots: 1, policy: 'first-ready', depth: 100_000 })
  for (let n = 0; n < tests; n++) {
    schedule.add(`t${n}`)
    schedule.enqueue(`t${n}`, 0)
  }
  const begin = systemClock.monotonic()
  let sum = 0
  for (let n = 0; n < 10_000; n++) {
    sum += schedule.position(`t${tests - 1}`) ?? 0
    sum += schedule.counts.Setup + schedule.pending
  }
  assert.equal(sum, 30_000 * tests)
  return systemClock.monotonic() - begin
}

describe('failures and who looks after them', () => {
  test('probe-E1: a child that fails says so, and its test is an exception with the cause', async () => {
    // children/child.ts, tellFailed: parent.tell({ type: 'child-failed', … })
    await using at = await scene()
    at.fakes.onCredentials = async () => {
      throw new Accident(fault('secret-denied', 'the vault says no'))
    }
    const testId = await at.started()
    const { error, errorKind, errorCode } = await at.reaches(testId, 'Exception')
    assert.deepEqual([error, errorKind, errorCode], ['the vault says no', 'vault', 'secret-denied'])
  })

  test('probe-E2: so is the test of a child that ends without a word', async () => {
    // execution/loading.ts, spawnChild: ctx.watch(actor, …)
    for (const child of ['block-storage', 'vault', 'cucumber', 'producer', 'consumer'] as const) {
      await using at = await scene()
      const testId = await at.running()
      const next = await at.started()
      at.kill(testId, child)
      const { errorKind, errorCode } = await at.reaches(testId, 'Exception')
      assert.deepEqual([errorKind, errorCode], [child, 'child-ended'])
      await at.reaches(next, 'Testing')
    }
  })

  test('probe-E3: a queue that fails is there again, with everything that was in it', async () => {
    // guardian.ts: supervision restart(…); register.ts, live
    let isBroken = false
    await using at = await scene({
      factories: {
        execution(options) {
          if (isBroken) {
            isBroken = false
            throw new Error('the queue fails')
          }
          return execution(options)
        },
      },
    })
    const [first, second] = await line(at, 2)
    const setup = await at.initialize()
    isBroken = true
    const { code } = await at.refused(at.probe.initialize())
    assert.equal(code, 'probe-unavailable')
    await at.town.advance(1_000)
    assert.equal(at.probe.metrics().recoveries, 2)
    assert.equal((await at.status(setup)).state, 'Setup')
    assert.equal((await at.reaches(first!, 'Testing')).attempt, 2)
    assert.equal(at.fakes.running, 1)
    at.fakes.runOf(first!).finish()
    await at.reaches(second!, 'Testing')
  })

  test('probe-E4: requests find the queue that is there, not the one that was', async () => {
    // create-probe.ts, #asking: the guardian is asked each time
    let isBroken = false
    await using at = await scene({
      factories: {
        execution(options) {
          if (isBroken) throw new Error('the queue fails')
          return execution(options)
        },
      },
    })
    const testId = await at.initialize()
    isBroken = true
    await at.town.until(at.probe.initialize())
    await at.town.advance(55_000) // it is restarted too often, and ends
    isBroken = false
    assert.equal((await at.status(testId)).state, 'Setup')
    await at.running()
  })

  test('probe-E5: a failure in Setup is handled like any other', async () => {
    // execution/setup.ts: 'child-failed'
    const at = await lifeIn('Setup')
    await at.tell({ type: 'child-failed', kind: 'vault', fault: UNAVAILABLE.fault })
    assert.equal(at.state, 'Exception')
  })

  test('probe-E6: a store that is busy costs a test nothing, a bad bundle ends it at once', async () => {
    // queue-core.ts: EXECUTION = retry(…)
    let refusals = 0
    let fetches = 0
    await using at = await scene({
      between: (journal) =>
        new Proxy(journal, {
          get(target, name) {
            if (name === 'commit' && refusals > 0) {
              refusals--
              return () => Promise.reject(new Accident(fault('journal-overloaded', 'busy')))
            }
            const value: unknown = Reflect.get(target, name)
            return typeof value === 'function' ? value.bind(target) : value
          },
        }),
    })
    at.fakes.onFetch = async (bucket) => {
      fetches++
      if (bucket === '/bad') throw new Accident(fault('bundle-not-found', 'there is no bundle'))
    }
    const testId = await at.initialize()
    refusals = 3
    await at.until(at.probe.start(testId, { bucket: '/good' }))
    await at.reaches(testId, 'Testing')
    const bad = await at.started('/bad')
    assert.equal((await at.reaches(bad, 'Exception')).errorCode, 'bundle-not-found')
    assert.equal(fetches, 2)
  })

  test("probe-E7: what fails for one test or one client is nobody else's trouble", async () => {
    // a breaker that all requests share, anywhere in create-probe.ts, would open here
    await using at = await scene({ settings: { slots: 100 } })
    at.fakes.onFetch = async (bucket) => {
      if (bucket === '/away') throw UNAVAILABLE
    }
    for (let n = 0; n < 30; n++) {
      await at.refused(at.probe.status('nobody'))
      await at.reaches(await at.started('/away'), 'Exception')
    }
    await at.running()
  })
})
