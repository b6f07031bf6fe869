/**
 * Whatever happens to tests, the invariants hold: replaying what was written gives what is on record, no more
 * run than there are slots, the counts add up, every test that ended has one outcome, every request is
 * answered once, and nothing of a test is left when it is gone.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

import { CHILD_KINDS } from '../../src/probe/protocol.ts'
import { fold, type TestRecord } from '../../src/probe/record.ts'
import type { Policy } from '../../src/probe/schedule.ts'
import { Accident, fault } from '../../src/std/index.ts'
import { FAILED, PASSED } from './fakes.ts'
import { Scene } from './scene.ts'

type Act =
  | Readonly<{ type: 'initialize' | 'kill-server' | 'restart' | 'toggle-storage' }>
  | Readonly<{ type: 'start' | 'cancel' | 'retry' | 'extend' | 'status' | 'kill'; at: number }>
  | Readonly<{ type: 'finish'; at: number; passed: boolean }>
  | Readonly<{ type: 'break' | 'kill-child'; at: number; child: number }>
  | Readonly<{ type: 'wait'; ms: number }>

const AT = fc.nat(5)
const anyAct: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ type: 'initialize' as const }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('start' as const), at: AT }) },
  {
    weight: 5,
    arbitrary: fc.record({ type: fc.constant('finish' as const), at: AT, passed: fc.boolean() }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constantFrom('cancel', 'retry', 'extend', 'status', 'kill'),
      at: AT,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom('break' as const, 'kill-child' as const),
      at: AT,
      child: fc.nat(CHILD_KINDS.length - 1),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('wait' as const),
      ms: fc.constantFrom(0, 1, 1_000, 30_000, 120_000, 700_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Act>(
      { type: 'kill-server' },
      { type: 'restart' },
      { type: 'toggle-storage' },
    ),
  },
)

class Program {
  readonly #at: Scene
  readonly #slots: number
  readonly #policy: Policy
  readonly #ids: string[] = []
  readonly #open = new Set<Promise<unknown>>()
  #isAway = false

  constructor(at: Scene, { slots, policy }: Readonly<{ slots: number; policy: Policy }>) {
    this.#at = at
    this.#slots = slots
    this.#policy = policy
    at.fakes.onStore = async () => {
      if (this.#isAway) throw new Accident(fault('storage-unavailable', 'away'))
    }
  }

  async run(acts: readonly Act[]): Promise<void> {
    for (let n = 0; n < 3; n++) this.#ids.push(await this.#at.initialize())
    for (const act of acts) {
      await this.#do(act)
      if (act.type === 'wait') await this.#check()
    }
    await this.#end()
  }

  async #do(act: Act): Promise<void> {
    const at = this.#at
    const { probe, fakes } = at
    const testId = 'at' in act ? this.#ids[act.at] : undefined
    if ('at' in act && testId === undefined) return
    switch (act.type) {
      case 'initialize':
        this.#ids.push(await at.initialize())
        break
      case 'start':
        this.#ask(probe.start(testId!, { bucket: '/a', exclusive: act.at % 2 ? ['k'] : [] }))
        break
      case 'cancel':
        this.#ask(probe.cancel(testId!))
        break
      case 'retry':
        this.#ask(probe.retry(testId!))
        break
      case 'extend':
        this.#ask(probe.extend(testId!, 1_000))
        break
      case 'status':
        this.#ask(probe.status(testId!))
        break
      case 'finish':
        fakes.runs
          .findLast((run) => run.job.testId === testId && !run.isOver)
          ?.finish(act.passed ? PASSED : FAILED)
        break
      case 'kill':
      case 'break':
      case 'kill-child':
        this.#kill(testId!, act)
        break
      case 'wait':
        await at.town.advance(act.ms)
        break
      case 'toggle-storage':
        this.#isAway = !this.#isAway
        break
      case 'kill-server':
        await at.killAndBegin()
        break
      case 'restart':
        await at.restart()
    }
  }

  #kill(testId: string, act: Act): void {
    try {
      this.#at.kill(testId, 'child' in act ? CHILD_KINDS[act.child] : undefined)
    } catch {
      // There is no such actor at the moment.
    }
  }

  #ask(request: Promise<unknown>): void {
    const settling = request.then(() => void this.#open.delete(settling))
    this.#open.add(settling)
  }

  async #check(): Promise<void> {
    const at = this.#at
    assert.ok(at.fakes.running <= this.#slots, 'no more run than there are slots')
    const status = await at.until(at.probe.queueStatus())
    const { setupCount, loadingCount, loadedCount, testingCount } = status
    const { completedCount, exceptionCount, totalTests, pending } = status
    const open = setupCount + loadingCount + loadedCount + testingCount
    assert.equal(open + completedCount + exceptionCount, totalTests)
    assert.ok(testingCount <= this.#slots && pending <= totalTests)
    // Those that wait for a name or for the head of the line are the schedule's own tests.
    if (this.#policy === 'first-ready' && testingCount === 0)
      assert.equal(loadedCount, 0, 'something starts when nothing runs')
    for (const testId of this.#ids) {
      const record = await this.#record(testId)
      const events = await at.until(at.probe.history(testId))
      assert.deepEqual(fold(testId, events), record, 'replay gives the record')
      const isOver = record.state === 'Completed' || record.state === 'Exception'
      assert.equal(record.outcome !== undefined, isOver)
    }
  }

  async #record(testId: string): Promise<TestRecord> {
    const [found] = await this.#at.town.until(this.#at.journal.getRecords('probe-tests', [testId]))
    assert.ok(found !== undefined)
    return JSON.parse(found.value) as TestRecord
  }

  /** All that waits is let go, and in the end every test has its outcome and nothing is left. */
  async #end(): Promise<void> {
    const at = this.#at
    this.#isAway = false
    at.fakes.onRun = (run) => run.finish()
    for (const run of at.fakes.runs) if (!run.isOver) run.finish()
    await at.town.advance(2_000_000)
    assert.equal(this.#open.size, 0, 'every request is answered')
    for (const testId of this.#ids)
      assert.notEqual((await this.#record(testId)).outcome, undefined, 'every test ends')
    assert.equal((await at.until(at.probe.queueStatus())).totalTests, 0)
    const { staged, sessions, running } = at.fakes
    assert.deepEqual([staged.size, sessions.size, running], [0, 0, 0])
  }
}

test('whatever happens to tests, what must stay true does', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(1_000_000),
      fc.integer({ min: 1, max: 2 }),
      fc.constantFrom('first-ready' as const, 'strict' as const),
      fc.array(anyAct, { minLength: 20, maxLength: 60, size: 'max' }),
      async (seed, slots, policy, acts) => {
        const at = new Scene({ seed, settings: { slots, policy }, msMax: 10_000_000 })
        await at.begin()
        await new Program(at, { slots, policy }).run(acts)
        await at[Symbol.asyncDispose]()
      },
    ),
    { numRuns: 40 },
  )
})
