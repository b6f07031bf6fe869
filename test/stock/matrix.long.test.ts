/** The runs of `matrix.slow.test.ts`, ten times as many. */
import { test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { playAll } from './model/campaign.ts'

const RUNS = Number(process.env['STOCK_RUNS'] ?? 20_000)
const SEED = Number(process.env['STOCK_SEED'] ?? freshSeed())

test(`the journal is what a clerk would have written, in ${RUNS} runs`, async (t) => {
  const tally = await playAll(SEED, RUNS)
  t.diagnostic(`seeds from ${SEED}`)
  t.diagnostic(JSON.stringify(tally))
})
