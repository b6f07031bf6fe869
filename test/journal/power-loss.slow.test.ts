/**
 * A kill takes nothing that was written; a power cut takes all that was not flushed. So that a missing
 * flush shows, every image of a run is checked as the disk would have it.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { freshSeed, random } from '../../src/std/index.ts'
import { checkCuts, randomCuts, recordRun, worstCuts, type Cut } from './power-cuts.ts'
import { lacks } from './subject.ts'

const IMAGES = 50
const BATCHES = 300
const ONE_BY_ONE = { batches: 60, oneByOne: true }

test('whenever power is cut, everything acknowledged is there and nothing is half there', async (t) => {
  if (lacks(t, 'gcc')) return
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  const run = await recordRun({ name: 'honest', seed, batches: BATCHES })
  const worst = await checkCuts(run, worstCuts(run))
  const others = await checkCuts(run, randomCuts(run, random(seed), IMAGES))
  t.diagnostic(`${worst} cuts at a flush with nothing else kept, ${others} random ones`)
  assert.ok(worst > 20, 'there was something to flush')
})

/** Each takes away one flush, or all of a kind; the check has to miss them. */
const MISSING: Readonly<Record<string, Partial<Parameters<typeof recordRun>[0]>>> = {
  'one flush of a commit': { laterFaults: ['!forget -a 12'] },
  'every flush of a commit': { laterFaults: ['!forget -a 0'] },
  'the flushes of the log of the tables': { large: true, faults: ['!forget .db-wal 0'] },
  'the flushes of the tables': { large: true, faults: ['!forget journal.db 0'] },
  'the flushes of the directory': { faults: ['!forget / 0'] },
}

describe('the check fails without', () => {
  for (const [what, faults] of Object.entries(MISSING)) {
    test(what, async (t) => {
      if (lacks(t, 'gcc')) return
      const run = await recordRun({ name: 'planted', seed: 1, ...ONE_BY_ONE, ...faults })
      await assert.rejects(checkCuts(run, worstCuts(run)), (error: Error) => {
        t.diagnostic(`${error.message}: ${(error.cause as Error).message}`)
        return true
      })
    })
  }

  for (const large of [false, true])
    test(`nothing, and passes with ${large ? 'large' : 'small'} batches`, async (t) => {
      if (lacks(t, 'gcc')) return
      const run = await recordRun({ name: 'control', seed: 1, ...ONE_BY_ONE, large })
      const cuts = await checkCuts(run, large ? everyFifth(worstCuts(run)) : worstCuts(run))
      t.diagnostic(`${cuts} cuts`)
    })
})

/** Large images take their time. */
function everyFifth(cuts: readonly Cut[]): Cut[] {
  return cuts.filter((_, n) => n % 5 === 0)
}
