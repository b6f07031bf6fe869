import { test } from 'node:test'

import { freshSeed, random } from '../../src/std/index.ts'
import { failFlush } from './failed-flushes.ts'
import { lacks } from './subject.ts'

const FAILURES = 250
const FLUSHES_BEFORE_MAX = 200

test('after any of 250 failed flushes nothing is acknowledged, and what was, is there', async (t) => {
  if (lacks(t, 'gcc', 'strace')) return
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  const dice = random(seed)
  let acknowledged = 0
  for (let n = 0; n < FAILURES; n++) {
    const failure = await failFlush(1 + dice.below(FLUSHES_BEFORE_MAX), dice.below(2 ** 32))
    acknowledged += failure.acknowledged
  }
  t.diagnostic(`${acknowledged} batches had been acknowledged`)
})
