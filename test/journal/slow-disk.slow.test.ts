import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'node:test'

import { COMMITS_PENDING_MAX, PENDING_BYTES_MAX } from '../../src/journal/index.ts'
import { freshDirectory, lacks, Subject } from './subject.ts'

const FLUSH_MS = 2_000
const LAG_P99_MS_MAX = 50

for (const [what, bytes] of [
  ['small commits', 16],
  ['large commits', 20_000],
] as const)
  test(`while a flush takes two seconds, ${what} are bounded, then refused, and the loop turns`, async (t) => {
    if (lacks(t, 'gcc')) return
    await using subject = new Subject({ directory: freshDirectory('slow'), faults: {} })
    await subject.open()
    subject.tell({ type: 'faults', line: `!slow ${FLUSH_MS}` })
    subject.tell({ type: 'flood', bytes, forMs: FLUSH_MS + 500 })
    const control = monitorEventLoopDelay({ resolution: 5 })
    control.enable()
    const { codes, accepted, pendingMax, pendingBytesMax, lagP99Ms, lagMaxMs } =
      await subject.report('flooded')
    control.disable()
    const machineP99Ms = control.percentile(99) / 1e6
    subject.tell({ type: 'faults', line: '!slow 0' })
    const { committed, stats } = await subject.report('drained')

    t.diagnostic(
      `${accepted} accepted, at most ${pendingMax} pending (${pendingBytesMax} bytes); ` +
        `event loop p99 ${lagP99Ms.toFixed(1)} ms, longest ${lagMaxMs.toFixed(1)} ms, ` +
        `p99 of a process that only waits ${machineP99Ms.toFixed(1)} ms`,
    )
    assert.deepEqual(codes, ['journal-overloaded'])
    assert.ok(pendingMax <= COMMITS_PENDING_MAX && pendingBytesMax <= PENDING_BYTES_MAX)
    // What a process that only waits suffers too is the machine's doing.
    assert.ok(lagP99Ms - machineP99Ms <= LAG_P99_MS_MAX, `${lagP99Ms} ms, ${machineP99Ms} ms`)
    assert.equal(committed, accepted)
    assert.deepEqual([stats.state, stats.pending], ['open', 0])
  })
