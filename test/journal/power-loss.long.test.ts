import { test } from 'node:test'

import { freshSeed, random } from '../../src/std/index.ts'
import { checkCuts, randomCuts, recordRun, worstCuts } from './power-cuts.ts'
import { lacks } from './subject.ts'

const RUNS = 20

test('whenever power is cut in any of twenty runs, everything acknowledged is there', async (t) => {
  if (lacks(t, 'gcc')) return
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  const dice = random(seed)
  let images = 0
  for (let n = 0; n < RUNS; n++) {
    const batches = 50 + dice.below(1_500)
    const run = await recordRun({ name: 'honest', seed: dice.below(2 ** 32), batches })
    images += await checkCuts(run, worstCuts(run))
    images += await checkCuts(run, randomCuts(run, dice.fork(), 200))
  }
  t.diagnostic(`${images} images`)
})
