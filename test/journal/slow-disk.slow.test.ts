import assert from 'node:assert/strict'
import { test } from 'node:test'

import { COMMITS_PENDING_MAX, PENDING_BYTES_MAX } from '../../src/journal/index.ts'
import { freshDirectory, lacks, Subject } from './subject.ts'

const FLUSH_MS = 2_000
const LAG_P99_MS_MAX = 50
/** A busy machine makes any process wait; one whose loop waits for the disk does so every time. */
const TRIES = 3

for (const [what, bytes] of [
  ['small commits', 16],
  ['large commits', 20_000],
] as const)
  test(`while a flush takes two seconds, ${what} are bounded, then refused, and the loop turns`, async (t) => {
    if (lacks(t, 'gcc')) return
    await using subject = new Subject({ directory: freshDirectory('slow'), faults: {} })
    await subject.open()
    const lags: number[] = []
    while (lags.length < TRIES && !lags.some((lag) => lag <= LAG_P99_MS_MAX)) {
      subject.tell({ type: 'faults', line: `!slow ${FLUSH_MS}` })
      subject.tell({ type: 'flood', bytes, forMs: FLUSH_MS + 500 })
      const { codes, accepted, lagP99Ms, ...most } = await subject.report('flooded')
      subject.tell({ type: 'faults', line: '!slow 0' })
      const { committed, stats } = await subject.report('drained')

      t.diagnostic(
        `${accepted} accepted, at most ${most.pendingMax} pending (${most.pendingBytesMax} bytes); ` +
          `event loop p99 ${lagP99Ms.toFixed(1)} ms, longest ${most.lagMaxMs.toFixed(1)} ms`,
      )
      assert.deepEqual(codes, ['journal-overloaded'])
      assert.ok(most.pendingMax <= COMMITS_PENDING_MAX && most.pendingBytesMax <= PENDING_BYTES_MAX)
      assert.equal(committed, accepted)
      assert.deepEqual([stats.state, stats.pending], ['open', 0])
      lags.push(lagP99Ms)
    }
    assert.ok(Math.min(...lags) <= LAG_P99_MS_MAX, lags.join())
  })
