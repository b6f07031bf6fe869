/**
 * The failures that stock can meet with, one by one and in all mixtures, on virtual time.
 *
 *   STOCK_RUNS=1 STOCK_SEED=123 node --test test/stock/matrix.slow.test.ts
 *
 * plays one seed again. After every run: conservation at every position of the journal, a ledger that
 * agrees with the events, pots that are what their history comes to, and every acknowledged request
 * there exactly once.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { playAll } from './model/campaign.ts'
import { ACCIDENTS, moveDuring, PHASES } from './model/one-move.ts'
import { allAtOnce } from './model/all-at-once.ts'

const RUNS = Number(process.env['STOCK_RUNS'] ?? 2_000)
const SEED = Number(process.env['STOCK_SEED'] ?? freshSeed())

test(`the journal is what a clerk would have written, in ${RUNS} runs`, async (t) => {
  const tally = await playAll(SEED, RUNS)
  t.diagnostic(`seeds from ${SEED}`)
  t.diagnostic(JSON.stringify(tally))
})

describe('a move', () => {
  for (const phase of PHASES)
    for (const accident of ACCIDENTS)
      test(`to a pot that is ${phase}, with ${accident} between any two turns`, async (t) => {
        const { turns, effects } = await moveDuring(phase, accident)
        t.diagnostic(`${turns} places, ${effects} times the move was made before it`)
        assert.ok(turns >= 5)
        assert.ok(effects > 0 && effects < turns, 'it came before the move was made, and after')
      })
})

describe('all at once', () => {
  test('1 000 moves from here to there, and 1 000 back', () => allAtOnce(['a', 'b'], 1_000))
  test('1 000 moves each, around in a circle of three', () => allAtOnce(['a', 'b', 'c'], 1_000))
  test('1 000 moves from a place to itself', () => allAtOnce(['a'], 1_000))
})
