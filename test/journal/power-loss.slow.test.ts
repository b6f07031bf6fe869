/**
 * A kill takes nothing that was written; a power cut takes all that was not flushed. So that a missing
 * flush shows, every image of a run is checked as the disk would have it.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { freshSeed, random } from '../../src/std/index.ts'
import { checkCuts, randomCuts, recordRun, worstCuts } from './power-cuts.ts'
import { lacks } from './subject.ts'

const IMAGES = 50
const WEAKENED = join(import.meta.dirname, 'weaken.ts')
const BATCHES = 300

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
  'one flush of the write-ahead log': { laterFaults: ['!forget -wal 12'] },
  'every flush of the write-ahead log': { laterFaults: ['!forget -wal 0'] },
  'every flush of the database': { laterFaults: ['!forget .db 0'] },
  'the flushes of the directory': { faults: ['!forget / 0'] },
  'the flushes that the code asks SQLite for': { nodeArgs: ['--import', WEAKENED] },
}

describe('the check fails without', () => {
  for (const [what, faults] of Object.entries(MISSING)) {
    test(what, async (t) => {
      if (lacks(t, 'gcc')) return
      const oneByOne = { seed: 1, batches: 80, oneByOne: true }
      const run = await recordRun({ name: 'planted', ...oneByOne, ...faults })
      await assert.rejects(checkCuts(run, worstCuts(run)), (error: Error) => {
        t.diagnostic(`${error.message}: ${(error.cause as Error).message}`)
        return true
      })
    })
  }

  test('nothing of that, and passes', async (t) => {
    if (lacks(t, 'gcc')) return
    const run = await recordRun({ name: 'control', seed: 1, batches: 80, oneByOne: true })
    await checkCuts(run, worstCuts(run))
  })
})
