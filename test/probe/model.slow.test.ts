/**
 * The orchestrator against a simple reference, in random programs: any request, any failure of the world, the
 * end of any actor at any step, and the end of the whole process.
 *
 *   node test/probe/model/campaign.ts SEED 1
 *
 * plays one seed again.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { campaignApart } from './model/campaign.ts'

const PROGRAMS = 10_000

/** What so many programs must have met, or they have become too tame. */
const MET_MIN = 30

const EXPECTED: readonly string[] = [
  'passed',
  'failed',
  'errored',
  'cancelled',
  'timed-out',
  'interrupted',
  'crash',
  'restart',
  '3 at a time',
  'throw of queue',
  'end of queue',
  'end of test',
  'throw of vault',
  'end of block-storage',
  'end of cucumber',
]

test(`nothing is lost, doubled or stuck in ${PROGRAMS} programs`, async (t) => {
  const seed = freshSeed()
  t.diagnostic(`seeds from ${seed}`)
  const tally = await campaignApart(seed, PROGRAMS)
  t.diagnostic(JSON.stringify(tally))
  const rare = Object.entries(tally).filter(([, times]) => times < MET_MIN)
  assert.deepEqual(rare, [])
  for (const what of EXPECTED) assert.ok((tally[what] ?? 0) >= MET_MIN, what)
})
