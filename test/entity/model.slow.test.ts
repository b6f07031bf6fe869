/**
 * The runtime of entities against a plain, sequential model, in bad weather.
 *
 *   MODEL_RUNS=1 MODEL_SEED=123 node --test test/entity/model.slow.test.ts
 *
 * plays one seed again.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { play } from './model/play.ts'

const RUNS = Number(process.env['MODEL_RUNS'] ?? 300)
const SEED = Number(process.env['MODEL_SEED'] ?? freshSeed())
const WANTED = [
  'crashes',
  'effects',
  'replayed',
  'request-mismatch',
  'unknown-outcome',
  'version-mismatch',
  'runtime alarms',
  'runtime coalesced',
  'runtime conflicts',
  'runtime ledgerHits',
  'runtime passivations',
  'runtime reactions',
  'runtime refolds',
  'runtime snapshotsTaken',
]

test(`whatever happens comes to one command after the other, in ${RUNS} runs`, async (t) => {
  const tally: Record<string, number> = {}
  for (let seed = SEED; seed < SEED + RUNS; seed++) {
    const run = await play(seed).catch((error: unknown) => {
      throw new Error(`model: seed ${seed}: ${String(error)}`, { cause: error })
    })
    assert.deepEqual(run.violations, [], `model: seed ${seed}: ${run.violations[0]}`)
    for (const [what, times] of Object.entries(run.tally)) tally[what] = (tally[what] ?? 0) + times
  }
  t.diagnostic(`seeds from ${SEED}`)
  t.diagnostic(JSON.stringify(tally))
  // Without these the runs would show little.
  if (RUNS >= 100) for (const what of WANTED) assert.ok((tally[what] ?? 0) >= RUNS / 4, what)
})
