/**
 * The broker against what its clients know, over a disk that is full or breaks.
 *
 *   node test/broker/model/campaign.ts SEED 1 disk
 *
 * plays one seed again.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { campaignApart } from './model/campaign.ts'
import { PROGRAMS } from './model/play.ts'

const RUNS = 460

test(`whatever the disk does, clients were told the truth, in ${RUNS * PROGRAMS} programs`, async (t) => {
  const seed = freshSeed()
  t.diagnostic(`seeds from ${seed}`)
  const tally = await campaignApart(seed, RUNS, 'disk')
  t.diagnostic(JSON.stringify(tally))
  // Without these the runs would show little.
  for (const what of ['crashes', 'delete', 'store-read-only', 'unknown-outcome'])
    assert.ok((tally[what] ?? 0) >= RUNS / 4, what)
})
