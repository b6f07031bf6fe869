/** The orchestrator as programs see it: lists, history, evidence, changes, modes, retries, refusals. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, fault, isFault } from '../std/index.ts'
import { FAILED, Fakes, FILES } from '../../test/probe/fakes.ts'
import { scene, type Scene } from '../../test/probe/scene.ts'
import { createProbe } from './create-probe.ts'
import {
  BUCKET_CHARS_MAX,
  CHANGES_MAX,
  EVIDENCE_TRIES_MAX,
  EXCLUSIVE_CHARS_MAX,
  EXCLUSIVE_MAX,
  EXTEND_MS_MAX,
  LIST_TESTS_MAX,
  PROBE_ANSWER_MS,
  RETENTION_CHECK_MS,
  TAGS_CHARS_MAX,
  TEST_PRIORITY_MAX,
  TEST_REQUEST_ID_CHARS_MAX,
  TEST_TYPE_CHARS_MAX,
} from './limits.ts'
import { settingsOf } from './options.ts'
import type { TestChange } from './probe.ts'

async function finished(at: Scene, bucket = '/bundles/a'): Promise<string> {
  const testId = await at.started(bucket)
  await at.settle()
  at.fakes.runOf(testId).finish()
  await at.settle()
  return testId
}

describe('a list of tests', () => {
  test('has the latest first, in pages, as far as they are wanted', async () => {
    await using at = await scene()
    const ids: string[] = []
    for (let n = 0; n < 5; n++) {
      ids.push(await finished(at, `/bundles/${n}`))
      await at.town.advance(1_000)
    }
    const setup = await at.initialize()
    const first = await at.until(at.probe.list({ limit: 2 }))
    assert.deepEqual(
      first.tests.map(({ testId }) => testId),
      [setup, ids[4]],
    )
    const second = await at.until(at.probe.list({ limit: 10, after: first.next! }))
    assert.deepEqual(
      second.tests.map(({ testId }) => testId),
      ids.slice(0, 4).toReversed(),
    )
    assert.equal(second.next, undefined)
    const found = async (options: Parameters<Scene['probe']['list']>[0]): Promise<unknown> =>
      (await at.until(at.probe.list(options))).tests.map(({ testId }) => testId)
    assert.deepEqual(await found({ state: 'Setup' }), [setup])
    assert.deepEqual(await found({ outcome: 'failed' }), [])
    assert.deepEqual(await found({ text: 'BUNDLES/3' }), [ids[3]])
    assert.deepEqual(await found({ testType: 'smoke' }), [])
  })
})

describe('evidence', () => {
  test('is listed with sizes and hashes, and read by name', async () => {
    await using at = await scene()
    const testId = await finished(at)
    assert.deepEqual(await at.until(at.probe.evidence(testId)), FILES)
    const stream = await at.until(at.probe.openEvidence(testId, 'cucumber.json'))
    let text = ''
    for await (const chunk of stream) text += new TextDecoder().decode(chunk)
    assert.equal(text, '[]')
    const { code } = await at.refused(at.probe.openEvidence(testId, '../secret'))
    assert.equal(code, 'no-such-evidence')
  })

  test('is given up after so many tries, and the directory with it', async () => {
    await using at = await scene({ stepsMax: 1_000_000 })
    let tries = 0
    at.fakes.onStore = async () => {
      tries++
      throw new Accident(fault('storage-denied', 'no'))
    }
    const testId = await finished(at)
    assert.equal((await at.status(testId)).evidence, 'pending')
    await at.town.advance(86_400_000)
    assert.equal((await at.status(testId)).evidence, 'lost')
    assert.equal(tries, EVIDENCE_TRIES_MAX + 1)
    assert.equal(at.fakes.staged.size, 0)
  })

  test('that is in no directory any more is lost at once', async () => {
    await using at = await scene()
    at.fakes.onStore = async () => {
      throw new Accident(fault('storage-unavailable', 'away'))
    }
    const testId = await finished(at)
    at.fakes.staged.clear()
    await at.town.advance(10_000)
    assert.equal((await at.status(testId)).evidence, 'lost')
  })
})

/** What a reader is given until it was given so many. */
async function read(
  at: Scene,
  options: Readonly<{ after?: number; testId?: string }>,
  count: number,
): Promise<readonly TestChange[]> {
  const ending = new AbortController()
  const seen: TestChange[] = []
  const reading = (async () => {
    for await (const change of at.probe.changes({ ...options, signal: ending.signal })) {
      seen.push(change)
      if (seen.length === count) return
    }
  })()
  await at.town.until(reading)
  ending.abort()
  return seen
}

function shown(changes: readonly TestChange[]): readonly string[] {
  return changes.map((change) => (change.type === 'event' ? change.event.type : 'progress'))
}

describe('changes', () => {
  test('are read from the beginning, each once and in order, and of one test', async () => {
    await using at = await scene()
    const [first, second] = [await finished(at), await finished(at)]
    const all = await read(at, { after: 0 }, 12)
    const of = ['initialized', 'started', 'loaded', 'testing', 'result-kept', 'completed']
    assert.deepEqual(shown(all), [...of, ...of])
    assert.deepEqual(new Set(all.map(({ testId }) => testId)), new Set([first, second]))
    const positions = all.map(({ position }) => position)
    assert.deepEqual(
      positions.toSorted((a, b) => a - b),
      positions,
    )
    assert.deepEqual(shown(await read(at, { after: positions[9]! }, 2)), of.slice(4))
    assert.deepEqual(shown(await read(at, { after: 0, testId: second }, 6)), of)
  })

  test('come as they happen, progress among them', async () => {
    await using at = await scene()
    const testId = await at.running()
    const ending = new AbortController()
    const seen: TestChange[] = []
    const reading = (async () => {
      for await (const change of at.probe.changes({ signal: ending.signal })) seen.push(change)
    })()
    await at.settle()
    const progress = { scenarios: 3, scenariosDone: 1, scenariosFailed: 0, step: 'I wait' }
    at.fakes.runOf(testId).hooks.onProgress(progress)
    await at.settle()
    assert.deepEqual((await at.status(testId)).progress, progress)
    at.fakes.runOf(testId).finish()
    await at.settle()
    assert.deepEqual(shown(seen), ['progress', 'result-kept', 'completed'])
    ending.abort()
    await at.town.until(reading)
  })

  test('are missed by nobody who is slow', async () => {
    await using at = await scene()
    const testId = await at.initialize()
    const { signal } = new AbortController()
    const reader = at.probe.changes({ after: 0, signal })[Symbol.asyncIterator]()
    await at.town.until(reader.next())
    for (let n = 0; n <= CHANGES_MAX; n++) await at.until(at.probe.extend(testId, 1))
    for (let n = 0; n <= CHANGES_MAX; n++) {
      const { value } = await at.town.until(reader.next())
      assert.equal(value?.position, n + 2)
    }
    await at.town.until(reader.return!())
  })

  test('that come as they happen begin there also for one who is slow', async () => {
    await using at = await scene()
    const testId = await at.running()
    const { signal } = new AbortController()
    const reader = at.probe.changes({ signal })[Symbol.asyncIterator]()
    const begun = reader.next()
    const progress = { scenarios: 3, scenariosDone: 1, scenariosFailed: 0, step: 'I wait' }
    at.fakes.runOf(testId).hooks.onProgress(progress)
    assert.equal((await at.town.until(begun)).value?.type, 'progress')
    for (let n = 0; n <= CHANGES_MAX; n++) await at.until(at.probe.extend(testId, 1))
    const { value } = await at.town.until(reader.next())
    assert.ok(value?.type === 'event')
    assert.equal(value.event.type, 'extended')
    await at.town.until(reader.return!())
  })

  test('of progress that nobody takes are lost, and lead nobody back to the beginning', async () => {
    await using at = await scene()
    const testId = await at.running()
    const { signal } = new AbortController()
    const reader = at.probe.changes({ signal })[Symbol.asyncIterator]()
    const begun = reader.next()
    const progress = { scenarios: 3, scenariosDone: 1, scenariosFailed: 0, step: 'I wait' }
    for (let n = 0; n < CHANGES_MAX + 10; n++) at.fakes.runOf(testId).hooks.onProgress(progress)
    await at.town.until(begun)
    await at.settle()
    for (let n = 0; n < CHANGES_MAX; n++)
      assert.equal((await at.town.until(reader.next())).value?.type, 'progress')
    const next = reader.next()
    at.fakes.runOf(testId).finish()
    const { value } = await at.town.until(next)
    assert.ok(value?.type === 'event')
    assert.equal(value.event.type, 'result-kept')
    await at.town.until(reader.return!())
  })

  test('end when the orchestrator does', async () => {
    await using at = await scene()
    const { signal } = new AbortController()
    const reading = (async () => {
      for await (const _ of at.probe.changes({ signal }));
    })()
    await at.settle()
    await at.close()
    await at.town.until(reading)
  })
})

describe('the whole queue', () => {
  test('is paused also after a restart, until it is resumed', async () => {
    await using at = await scene()
    assert.deepEqual(await at.until(at.probe.pause()), { mode: 'paused', running: 0 })
    const testId = await at.started()
    await at.reaches(testId, 'Loaded')
    await at.restart()
    await at.reaches(testId, 'Loaded')
    assert.equal((await at.until(at.probe.queueStatus())).mode, 'paused')
    assert.deepEqual(await at.until(at.probe.resume()), { mode: 'open', running: 0 })
    await at.reaches(testId, 'Testing')
  })

  test('drains: what runs ends, what waits is there after the restart', async () => {
    await using at = await scene()
    const [first, second] = [await at.running(), await at.started()]
    const draining = at.probe.drain({ deadlineMs: 600_000 })
    await at.settle()
    at.fakes.runOf(first).finish()
    assert.deepEqual(await at.until(draining), { mode: 'draining', running: 0 })
    await at.reaches(second, 'Loaded')
    assert.equal((await at.refused(at.probe.initialize())).code, 'probe-draining')
    await at.restart()
    await at.reaches(second, 'Testing')
  })
})

describe('a test that is forgotten', () => {
  test('takes with it what was uploaded for it, and is not forgotten before', async () => {
    const fakes = new Fakes()
    const removed: string[] = []
    let isStuck = true
    Object.assign(fakes.ports, {
      async removeUpload(testId: string) {
        if (isStuck) throw new Error('the disk says no')
        removed.push(testId)
      },
    })
    await using at = await scene({ fakes, settings: { retentionMs: 1 } })
    const testId = await finished(at)
    await at.town.advance(RETENTION_CHECK_MS)
    assert.equal((await at.status(testId)).outcome, 'passed')
    isStuck = false
    await at.town.advance(RETENTION_CHECK_MS)
    assert.deepEqual(removed, [testId])
    assert.equal((await at.refused(at.probe.status(testId))).code, 'no-such-test')
  })
})

describe('a restart', () => {
  test('leaves a test that is set up the rest of its time', async () => {
    await using at = await scene()
    const testId = await at.initialize()
    await at.town.advance(599_000)
    await at.restart()
    assert.equal((await at.status(testId)).state, 'Setup')
    await at.town.advance(1_000)
    assert.equal((await at.status(testId)).outcome, 'timed-out')
  })

  test('runs what it interrupted first, and keeps the order of the others', async () => {
    await using at = await scene()
    const ids = [await at.started(), await at.started(), await at.started()]
    await at.settle()
    const urgent = await at.initialize()
    await at.until(at.probe.start(urgent, { bucket: '/a', priority: TEST_PRIORITY_MAX }))
    await at.killAndBegin({ slots: 1 })
    const order: string[] = []
    at.fakes.onRun = ({ job }) => void order.push(job.testId)
    await at.settle()
    for (let n = 0; n < 4; n++) {
      at.fakes.runs.findLast(({ isOver }) => !isOver)?.finish()
      await at.settle()
    }
    // The urgent one comes first of all, or second if it is not loaded sooner than the others.
    assert.deepEqual(
      order.filter((testId) => testId !== urgent),
      ids,
    )
    assert.ok(order.indexOf(urgent) <= 1)
  })

  test('ends a test that was interrupted too often, or where it is told to', async () => {
    await using at = await scene({ settings: { attempts: 2 } })
    const testId = await at.running()
    await at.killAndBegin()
    assert.equal((await at.reaches(testId, 'Testing')).attempt, 2)
    await at.killAndBegin()
    const { outcome, success } = await at.reaches(testId, 'Exception')
    assert.deepEqual([outcome, success], ['interrupted', false])

    const other = await at.running()
    await at.killAndBegin({ interrupted: 'keep' })
    assert.equal((await at.reaches(other, 'Exception')).outcome, 'interrupted')
  })

  test('completes a test whose result was kept and whose evidence was on its way', async () => {
    const fakes = new Fakes()
    await using at = await scene({ fakes })
    const testId = await at.running()
    fakes.onStore = () => new Promise(() => undefined)
    fakes.runOf(testId).finish(FAILED)
    await at.settle()
    fakes.onStore = async () => undefined
    await at.killAndBegin()
    await at.town.advance(2_000)
    const { outcome, evidence, attempt } = await at.status(testId)
    assert.deepEqual([outcome, evidence, attempt], ['failed', 'stored', 1])
  })

  test('of another server on the same store ends this one', async () => {
    await using at = await scene()
    const { probe, journal } = at
    const { ports } = at.fakes
    const other = await at.until(
      createProbe({ system: at.town.system, journal, ports, name: 'other' }),
    )
    assert.equal((await at.refused(probe.initialize())).code, 'probe-closed')
    await at.settle()
    assert.equal((await at.refused(probe.queueStatus())).code, 'probe-closed')
    assert.ok(!isFault(await at.town.until(other.initialize())))
    await at.town.until(other.close())
  })
})

describe('a retry', () => {
  test('queues a test that has ended as a further attempt, with or without its actor', async () => {
    await using at = await scene()
    const testId = await finished(at)
    for (const waitMs of [0, 3_600_000]) {
      await at.town.advance(waitMs)
      const { accepted, position } = await at.until(at.probe.retry(testId))
      assert.deepEqual([accepted, position], [true, 1])
      await at.reaches(testId, 'Testing')
      assert.equal((await at.status(testId)).outcome, undefined)
      at.fakes.runOf(testId).finish(FAILED)
      await at.reaches(testId, 'Completed')
    }
    const { attempt, outcome } = await at.status(testId)
    assert.deepEqual([attempt, outcome], [3, 'failed'])
  })

  test('waits for what is left of the run before', async () => {
    await using at = await scene()
    const testId = await at.running()
    const killed = Promise.withResolvers<void>()
    at.fakes.runOf(testId).onCancel = () => killed.promise
    at.kill(testId, 'producer')
    await at.settle()
    const first = at.probe.retry(testId)
    await at.settle()
    killed.resolve()
    await at.settle()
    const { reason } = await at.until(first)
    assert.equal(reason, 'not-finished')
    const second = at.probe.retry(testId)
    assert.equal((await at.until(second)).accepted, true)
    await at.reaches(testId, 'Testing')
  })

  for (const [title, waitMs] of [
    ['with their actors', 0],
    ['from their records', 3_600_000],
  ] as const)
    test(`beside others at one moment takes no place that one of them has: ${title}`, async () => {
      await using at = await scene({ settings: { depth: 3 } })
      const ids: string[] = []
      for (let n = 0; n < 8; n++) ids.push(await finished(at))
      await at.until(at.probe.pause())
      await at.town.advance(waitMs)
      assert.equal((await at.until(at.probe.queueStatus())).totalTests, waitMs === 0 ? 8 : 0)
      const answers = await Promise.all(ids.map((testId) => at.until(at.probe.retry(testId))))
      const reasons = answers.filter(({ accepted }) => !accepted).map(({ reason }) => reason)
      assert.deepEqual(reasons, Array<string>(5).fill('queue-full'))
      assert.equal((await at.until(at.probe.queueStatus())).pending, 3)
    })

  test('keeps no place when it is refused, or its test crashes', async () => {
    await using at = await scene({ settings: { depth: 1 } })
    const [done, running] = [await finished(at), await at.running()]
    const twice = [at.probe.retry(running), at.probe.retry(running)].map((each) => at.until(each))
    for (const { reason } of await Promise.all(twice)) assert.equal(reason, 'not-finished')
    at.kill(running)
    await at.settle()
    await at.until(at.probe.pause())
    const other = await at.initialize()
    const [again, begun] = await Promise.all([
      at.until(at.probe.retry(done)),
      at.until(at.probe.start(other, { bucket: '/bundles/a' })),
    ])
    assert.deepEqual([again.accepted, begun.reason], [true, 'queue-full'])
    await at.until(at.probe.cancel(done))
    await at.settle()
    const later = await at.until(at.probe.start(other, { bucket: '/bundles/a' }))
    assert.equal(later.accepted, true)
  })

  test('is refused where there is nothing to run again', async () => {
    await using at = await scene()
    const reason = async (testId: string): Promise<unknown> =>
      (await at.until(at.probe.retry(testId))).reason
    const setup = await at.initialize()
    assert.equal(await reason(setup), 'never-started')
    const running = await at.running()
    assert.equal(await reason(running), 'not-finished')
    at.fakes.onStore = async () => {
      throw new Accident(fault('storage-unavailable', 'away'))
    }
    at.fakes.runOf(running).finish()
    await at.settle()
    assert.equal(await reason(running), 'evidence-pending')
    await at.town.advance(700_000)
    assert.equal(await reason(setup), 'never-started')
  })
})

function long(chars: number): string {
  return 'x'.repeat(chars)
}

function keys(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `k${n}`)
}

describe('what cannot be asked for', () => {
  test('is refused at the limit and one past it', async () => {
    await using at = await scene()
    const { probe } = at
    const testId = await at.initialize()
    const start = (more: object): Promise<unknown> => probe.start(testId, { bucket: '/a', ...more })
    const bad: readonly (readonly [Promise<unknown>, string])[] = [
      [probe.initialize({ priority: TEST_PRIORITY_MAX + 1 }), 'priority'],
      [probe.initialize({ priority: -1 }), 'priority'],
      [probe.initialize({ requestId: long(TEST_REQUEST_ID_CHARS_MAX + 1) }), 'requestId'],
      [probe.initialize({ requestId: '' }), 'requestId'],
      [start({ bucket: ' ' }), 'bucket'],
      [start({ bucket: 'a\0b' }), 'bucket'],
      [start({ bucket: long(BUCKET_CHARS_MAX + 1) }), 'bucket'],
      [start({ testType: long(TEST_TYPE_CHARS_MAX + 1) }), 'testType'],
      [start({ testType: ' ' }), 'testType'],
      [start({ tags: long(TAGS_CHARS_MAX + 1) }), 'tags'],
      [start({ exclusive: keys(EXCLUSIVE_MAX + 1) }), 'exclusive'],
      [start({ exclusive: [long(EXCLUSIVE_CHARS_MAX + 1)] }), 'exclusive'],
      [probe.extend(testId, EXTEND_MS_MAX + 1), 'ms'],
      [probe.extend(testId, 0), 'ms'],
      [probe.list({ limit: LIST_TESTS_MAX + 1 }), 'limit'],
      [probe.list({ limit: 0 }), 'limit'],
    ]
    for (const [asked, field] of bad) {
      const { code, detail } = await at.refused(asked)
      assert.deepEqual([code, detail['field']], ['bad-test-request', field])
    }
    await at.until(probe.list({ limit: LIST_TESTS_MAX }))
    await at.until(probe.extend(testId, EXTEND_MS_MAX))
    await at.until(probe.initialize({ requestId: long(TEST_REQUEST_ID_CHARS_MAX), priority: 9 }))
    const { accepted } = await at.until(
      probe.start(testId, {
        bucket: long(BUCKET_CHARS_MAX),
        testType: long(TEST_TYPE_CHARS_MAX),
        tags: long(TAGS_CHARS_MAX),
        exclusive: [...keys(EXCLUSIVE_MAX - 1), long(EXCLUSIVE_CHARS_MAX)],
      }),
    )
    assert.equal(accepted, true)
  })

  test('is answered in time, even if the store takes longer', async () => {
    const gate = Promise.withResolvers<void>()
    let isSlow = false
    await using at = await scene({
      between: (journal) =>
        new Proxy(journal, {
          get(target, name) {
            const value: unknown = Reflect.get(target, name)
            if (typeof value !== 'function') return value
            if (name !== 'commit') return value.bind(target)
            return async (...args: unknown[]) => {
              if (isSlow) await gate.promise
              return Reflect.apply(value, target, args) as unknown
            }
          },
        }),
    })
    isSlow = true
    const asked = at.probe.initialize()
    await at.town.advance(PROBE_ANSWER_MS - 1)
    const other = at.until(at.probe.queueStatus())
    assert.equal((await other).totalTests, 1)
    assert.equal((await at.refused(asked)).code, 'unknown-outcome')
    gate.resolve()
  })

  test('is anything of one that is closed', async () => {
    await using at = await scene()
    await at.close()
    const { probe } = at
    for (const asked of [probe.initialize(), probe.status('x'), probe.list(), probe.history('x')])
      assert.equal((await at.refused(asked)).code, 'probe-closed')
  })

  test('is to put off what has no end: a test that waits for its turn, or that has ended', async () => {
    await using at = await scene()
    await at.running()
    const loaded = await at.started()
    await at.settle()
    assert.equal((await at.refused(at.probe.extend(loaded, 1))).code, 'not-extendable')
    await at.until(at.probe.cancel(loaded))
    await at.settle()
    assert.equal((await at.refused(at.probe.extend(loaded, 1))).code, 'not-extendable')
  })

  test('is a setting that cannot be', () => {
    for (const bad of [
      { slots: 0 },
      { slots: 101 },
      { depth: 100_001 },
      { testingMs: 1.5 },
      { policy: 'random' as never },
      { interrupted: 'never' as never },
    ])
      assert.throws(() => settingsOf(bad), { code: 'bad-option' })
    assert.equal(settingsOf({ slots: 100, depth: 100_000 }).slots, 100)
  })
})

describe('secrets', () => {
  test('are in no error and no result that leaves a test', async () => {
    await using at = await scene()
    const canary = 'canary-4711'
    at.fakes.secrets.add(canary)
    const testId = await at.running()
    at.fakes.runOf(testId).finish({
      ...FAILED,
      errorMessage: `because ${canary}`,
      failedScenarios: [{ name: canary, location: 'a:1', error: `got ${canary}` }],
    })
    await at.settle()
    const failing = await at.running()
    at.fakes.runOf(failing).fail(new Accident(fault('run-ended-early', `it said ${canary}`)))
    await at.settle()
    const seen = JSON.stringify([
      await at.status(testId),
      await at.status(failing),
      await at.until(at.probe.history(testId)),
      await at.until(at.probe.history(failing)),
    ])
    assert.ok(seen.includes('[secret]'))
    assert.ok(!seen.includes(canary))
  })
})

describe('metrics', () => {
  test('count what there is and what has happened', async () => {
    await using at = await scene()
    await finished(at)
    await at.running()
    const { testing, completed, started, outcomes, commits, recoveries } = at.probe.metrics()
    assert.deepEqual([testing, completed, started, outcomes.passed], [1, 1, 2, 1])
    assert.deepEqual([commits, recoveries], [10, 1])
  })
})
