/**
 * The broker against what its clients know, over a journal that refuses and leaves open what it did.
 *
 *   node test/broker/model/campaign.ts SEED 1 weather
 *
 * plays one seed again.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { campaignApart } from './model/campaign.ts'
import { PROGRAMS } from './model/play.ts'

const RUNS = 560

test(`whatever the journal answers, clients were told the truth, in ${RUNS * PROGRAMS} programs`, async (t) => {
  const seed = freshSeed()
  t.diagnostic(`seeds from ${seed}`)
  const tally = await campaignApart(seed, RUNS, 'weather')
  t.diagnostic(JSON.stringify(tally))
  // Without these the runs would show little.
  for (const what of ['crashes', 'delete', 'broker-overloaded', 'redriven'])
    assert.ok((tally[what] ?? 0) >= RUNS / 4, what)
})
