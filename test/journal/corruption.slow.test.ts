/**
 * 2 000 corruptions of journals: what is wrong is found, no reader is given it as good, and a repair
 * keeps everything whose own bytes are as they were. See `corruption/judge.ts` for the rules, and
 * `corruption.long.test.ts` for many more, never the same.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { campaign, printed, sumOf, type Outcome } from './corruption/campaign.ts'

const PARTS = 8
const CORRUPTIONS = 250

/** Every change is judged by the same ones; what the long test finds is in the tests of repair. */
const seed = 1_478_969_845
const outcomes: Outcome[] = []

for (let n = 0; n < PARTS; n++)
  test(`corruptions are found, kept from readers and repaired (${n + 1} of ${PARTS})`, () => {
    const outcome = campaign({ seed: seed + n, corruptions: CORRUPTIONS, each: 50 })

    outcomes.push(outcome)
    assert.deepEqual(outcome.wrong, [], `seed ${seed + n}`)
  })

test('most of what is damaged is kept by a repair', (t) => {
  const { share, tallies } = sumOf(outcomes)

  t.diagnostic(`seeds from ${seed} on, ${printed({ share, tallies })}`)
  assert.ok(share > 0.9)
})
