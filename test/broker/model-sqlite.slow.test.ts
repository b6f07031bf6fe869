/**
 * The broker against what its clients know, over SQLite.
 *
 *   node test/broker/model/campaign.ts SEED 1 sqlite
 *
 * plays one seed again.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { campaignApart, PROGRAMS_SQLITE } from './model/campaign.ts'

const RUNS = 9

test(`over SQLite nothing contradicts what clients were told, in ${RUNS * PROGRAMS_SQLITE} programs`, async (t) => {
  const seed = freshSeed()
  t.diagnostic(`seeds from ${seed}`)
  const tally = await campaignApart(seed, RUNS, 'sqlite')
  t.diagnostic(JSON.stringify(tally))
  // Without these the runs would show little.
  for (const what of ['crashes', 'delete', 'redriven'])
    assert.ok((tally[what] ?? 0) >= RUNS / 4, what)
})
