import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { RecordWrite, StoredRecord } from '../../journal/index.ts'
import { silentLog, steadyClock, TimerQueue } from '../../std/index.ts'
import { virtualClock, type VirtualClock } from '../../testkit/index.ts'
import { Alarms, ALARMS_ARMED_MAX } from './alarms.ts'
import { alarmKey, ALARMS } from './batch.ts'
import type { Core } from './core.ts'

/** The records, and as much of a runtime as alarms have to do with; who is woken is noted. */
class Stage {
  readonly clock: VirtualClock = virtualClock()
  readonly timers = new TimerQueue(this.clock)
  readonly records = new Map<string, string>()
  readonly woken: string[] = []
  readonly alarms: Alarms
  reads = 0
  /** What a page is answered after, if not at once. */
  delay: Promise<void> | undefined

  constructor() {
    const wake = { tell: (request: { id: string }) => this.woken.push(request.id) }
    const core = {
      clock: this.clock,
      steady: steadyClock(this.clock),
      timers: this.timers,
      log: silentLog,
      arrived: () => 0,
      kinds: new Map([['clock', { core: { arrived: () => 0 }, active: { get: () => wake } }]]),
      journal: { readRecords: (...args: unknown[]) => this.#read(args[2] as { after?: string }) },
    }
    this.alarms = new Alarms(core as unknown as Core)
  }

  put(due: number, id: string): RecordWrite {
    const key = alarmKey(due, `clock/${id}`)
    this.records.set(key, `clock/${id}`)
    return { collection: ALARMS, key, value: `clock/${id}` }
  }

  /** Lets reads that are under way come to their end. */
  async settle(): Promise<void> {
    for (let n = 0; n < 20; n++) await Promise.resolve()
  }

  async #read({ after = '' }: { after?: string }): Promise<readonly StoredRecord[]> {
    this.reads++
    const page = [...this.records.keys()]
      .filter((key) => key > after)
      .toSorted()
      .slice(0, 1_000)
      .map((key) => ({ key, value: this.records.get(key)! }))
    await this.delay
    return page
  }
}

describe('alarms', () => {
  test('in memory are 10 000 at most; the later ones stay on record until they come near', async () => {
    const stage = new Stage()
    stage.alarms.lookAgain()
    await stage.settle()
    const now = stage.clock.now()
    const writes = Array.from({ length: ALARMS_ARMED_MAX }, (_, n) =>
      stage.put(now + 10_000 + n * 10, `c-${n}`),
    )
    stage.alarms.recorded(writes)
    assert.equal(stage.timers.size, ALARMS_ARMED_MAX)
    stage.alarms.recorded([stage.put(now + 10_000 + ALARMS_ARMED_MAX * 10, 'last')])
    assert.ok(stage.timers.size < ALARMS_ARMED_MAX / 2 + 3)

    for (let n = 0; n <= 115; n++) {
      stage.clock.advance(1_000)
      for (const id of stage.woken.slice(-1_000)) {
        const due = id === 'last' ? ALARMS_ARMED_MAX : Number(id.slice(2))
        const { key } = stage.put(now + 10_000 + due * 10, id)
        if (stage.records.delete(key))
          stage.alarms.recorded([{ collection: ALARMS, key, deleted: true }])
      }
      await stage.settle()
    }

    assert.equal(stage.woken.length, ALARMS_ARMED_MAX + 1)
    assert.equal(new Set(stage.woken).size, ALARMS_ARMED_MAX + 1)
    assert.equal(stage.woken.at(-1), 'last')
    assert.equal(stage.timers.size, 0)
  })

  test('that are set while the records are read are not missed', async () => {
    const stage = new Stage()
    const { promise, resolve } = Promise.withResolvers<void>()
    stage.delay = promise
    stage.alarms.lookAgain()
    stage.alarms.recorded([stage.put(stage.clock.now() + 1_000, 'a')])
    resolve()
    await stage.settle()
    stage.clock.advance(1_000)
    assert.deepEqual(stage.woken, ['a'])
  })

  test('are looked for again where somebody may have set one', async () => {
    const stage = new Stage()
    stage.alarms.lookAgain()
    await stage.settle()
    stage.put(stage.clock.now() + 1_000, 'a')
    stage.alarms.lookAgain()
    stage.alarms.lookAgain()
    await stage.settle()
    stage.clock.advance(1_000)
    assert.deepEqual(stage.woken, ['a'])
  })

  test('of entities that are not known here are left alone', async () => {
    const stage = new Stage()
    const key = alarmKey(stage.clock.now(), 'other/a')
    stage.records.set(key, 'other/a')
    stage.alarms.lookAgain()
    await stage.settle()
    stage.clock.advance(100_000)
    assert.deepEqual(stage.woken, [])
    assert.equal(stage.timers.size, 0)
  })
})
