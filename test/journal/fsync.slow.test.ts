import { test } from 'node:test'

import { freshSeed, random } from '../../src/std/index.ts'
import { failFlush } from './failed-flushes.ts'
import { lacks } from './subject.ts'

const FAILURES = 12
const FLUSHES_BEFORE_MAX = 60

test('after a failed flush nothing is acknowledged, the process leaves with 70, and what was, is', async (t) => {
  if (lacks(t, 'gcc', 'strace')) return
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  const dice = random(seed)
  let [acknowledged, early] = [0, 0]
  for (let n = 0; n < FAILURES; n++) {
    const failure = await failFlush(1 + dice.below(FLUSHES_BEFORE_MAX), dice.below(2 ** 32))
    acknowledged += failure.acknowledged
    if (!failure.wasOpen) early++
  }
  t.diagnostic(
    `${FAILURES} failed flushes, ${early} while the journal was opened; ${acknowledged} batches had been acknowledged`,
  )
})
