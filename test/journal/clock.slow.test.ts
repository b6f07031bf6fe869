import assert from 'node:assert/strict'
import { test } from 'node:test'

import { sqliteJournal } from '../../src/journal/index.ts'
import { systemClock, type Clock } from '../../src/std/index.ts'
import { dumpOf, told } from './dump.ts'
import { History } from './history.ts'
import { listen } from './kills.ts'
import { load } from './load.ts'
import { freshDirectory, lacks } from './subject.ts'

const HOUR_S = 3_600
const LATE_MS_MAX = 50
const BATCHES = 60
const DELAYS_MS = [20, 60, 120, 250, 400]

test('clock jumps of an hour neither hurry nor hold deadlines, and no version or answer is lost', async (t) => {
  if (lacks(t, 'gcc')) return
  const directory = freshDirectory('clock')
  const history = new History()
  const late: number[] = []
  for (const restarted of [false, true]) {
    await using subject = listen({ directory, faults: {} }, history)
    await subject.open()
    history.settle(await subject.dump(history.keys))
    for (const [n, ahead] of [HOUR_S, -HOUR_S, 0].entries()) {
      subject.tell({ type: 'time' })
      const before = await subject.report('time')
      subject.tell({ type: 'timers', delaysMs: DELAYS_MS })
      subject.tell({ type: 'faults', line: `!clock ${ahead}` })
      subject.tell({ type: 'time' })
      const jumped = await subject.report('time')
      const options = { ...history.start(), seed: n + (restarted ? 10 : 0), batches: BATCHES }
      subject.tell({ type: 'load', options })
      // On a busy machine the timers may be done first.
      const [timed] = await Promise.all([subject.report('timed'), subject.report('loaded')])
      late.push(...timed.lateMs)
      history.settle(await subject.dump(history.keys))

      const jumpS = (jumped.wallMs - before.wallMs) / 1_000
      assert.ok(Math.abs(jumpS) > HOUR_S / 2, `wall time moved by ${jumpS} s`)
      assert.ok(jumped.monotonicMs - before.monotonicMs < 60_000)
    }
    subject.tell({ type: 'faults', line: `!clock ${-HOUR_S}` })
  }
  late.sort((a, b) => a - b)
  const [median, latest] = [late[late.length >> 1]!, late.at(-1)!]
  t.diagnostic(
    `${late.length} deadlines, half of them less than ${median.toFixed(1)} ms late, the latest ${latest.toFixed(1)} ms`,
  )
  assert.ok(late[0]! >= 0, 'none is early')
  // A busy machine may be late with one of them, but no machine is by an hour.
  assert.ok(median <= LATE_MS_MAX && latest < HOUR_S, late.join())
})

test('a journal whose clock jumps by an hour and back answers and counts as before', async () => {
  const directory = freshDirectory('jumping-clock')
  let aheadMs = 0
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
  const history = new History()
  for (const [seed, jumpMs] of [0, HOUR_S, -HOUR_S, -HOUR_S, HOUR_S, 0].entries()) {
    await using journal = await sqliteJournal({ directory, clock })
    const before = await journal.position()
    aheadMs = jumpMs * 1_000
    const options = { ...history.start(), seed, batches: BATCHES }
    await load(journal, options, (saying) => history.note(told(saying)))
    history.settle(told(await dumpOf(journal, history.keys)))

    assert.ok((await journal.position()) > before)
    const { lagMs } = journal.stats()
    assert.ok(lagMs >= 0 && lagMs < HOUR_S, `${lagMs} ms`)
  }
})
