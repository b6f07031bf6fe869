import assert from 'node:assert/strict'
import { test } from 'node:test'

import { COMMITS_PENDING_MAX, PENDING_BYTES_MAX } from '../../src/journal/index.ts'
import { freshDirectory, lacks, Subject } from './subject.ts'

const FLUSH_MS = 2_000
const LAG_P99_MS_MAX = 50
/** A busy machine makes any loop wait: so the same flood on a disk that is not slow is the measure. */
const LAG_RATIO_MAX = 2
const TRIES = 3

for (const [what, bytes] of [
  ['small commits', 16],
  ['large commits', 20_000],
] as const)
  test(`while a flush takes two seconds, ${what} are bounded, then refused, and the loop turns`, async (t) => {
    if (lacks(t, 'gcc')) return
    await using subject = new Subject({ directory: freshDirectory('slow'), faults: {} })
    await subject.open()
    const tries: { lagMs: number; allowedMs: number }[] = []
    while (tries.length < TRIES && !tries.some(({ lagMs, allowedMs }) => lagMs <= allowedMs)) {
      subject.tell({ type: 'flood', bytes, forMs: FLUSH_MS })
      const usual = (await subject.report('flooded')).lagP99Ms
      await subject.report('drained')

      subject.tell({ type: 'faults', line: `!slow ${FLUSH_MS}` })
      subject.tell({ type: 'flood', bytes, forMs: FLUSH_MS + 500 })
      const { codes, accepted, lagP99Ms, ...most } = await subject.report('flooded')
      subject.tell({ type: 'faults', line: '!slow 0' })
      const { committed, stats } = await subject.report('drained')

      t.diagnostic(
        `${accepted} accepted, at most ${most.pendingMax} pending (${most.pendingBytesMax} bytes); ` +
          `event loop p99 ${lagP99Ms.toFixed(1)} ms, longest ${most.lagMaxMs.toFixed(1)} ms, ` +
          `p99 on a quick disk ${usual.toFixed(1)} ms`,
      )
      assert.deepEqual(codes, ['journal-overloaded'])
      assert.ok(most.pendingMax <= COMMITS_PENDING_MAX && most.pendingBytesMax <= PENDING_BYTES_MAX)
      assert.equal(committed, accepted)
      assert.deepEqual([stats.state, stats.pending], ['open', 0])
      tries.push({
        lagMs: lagP99Ms,
        allowedMs: Math.max(LAG_P99_MS_MAX, LAG_RATIO_MAX * usual),
      })
    }
    assert.ok(
      tries.some(({ lagMs, allowedMs }) => lagMs <= allowedMs),
      JSON.stringify(tries),
    )
  })
