import assert from 'node:assert/strict'
import { test } from 'node:test'

import { History } from './history.ts'
import { listen } from './kills.ts'
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
      await subject.report('loaded')
      late.push(...(await subject.report('timed')).lateMs)
      history.settle(await subject.dump(history.keys))

      const jumpS = (jumped.wallMs - before.wallMs) / 1_000
      assert.ok(Math.abs(jumpS) > HOUR_S / 2, `wall time moved by ${jumpS} s`)
      assert.ok(jumped.monotonicMs - before.monotonicMs < 60_000)
    }
    subject.tell({ type: 'faults', line: `!clock ${-HOUR_S}` })
  }
  t.diagnostic(`${late.length} deadlines, the latest ${Math.max(...late).toFixed(1)} ms late`)
  assert.ok(
    late.every((ms) => ms >= 0 && ms <= LATE_MS_MAX),
    late.join(),
  )
})
