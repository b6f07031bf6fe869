/**
 * Random programs on the kernel, each step of them compared with a simple model.
 *
 * Goal: nothing that can be done to actors, in whatever order, makes the kernel lose, reorder, double
 * or strand a message, hand out who may not run, or miscount. Method: program.ts draws a program from
 * a seed, run.ts does every step of it to the kernel and to model.ts, checks.ts compares the two after
 * each step, at the beginning and the end of every handler, and at rest.
 */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { campaign, seedsFrom, type Tally } from './campaign.ts'

const PROGRAMS = 10_000

/** What a full campaign must have met, or its programs have become too tame. */
const MET_MIN = 100

test('turn by turn, in any order, the kernel does what the model says', async (t) => {
  const [first, count] = seedsFrom(1, PROGRAMS)
  report(t, await campaign('stepped', first, count))
})

test('on the express lane the kernel does what the model says', async (t) => {
  const [first, count] = seedsFrom(1, PROGRAMS)
  report(t, await campaign('express', first, count))
})

function report(t: TestContext, { programs, met }: Tally): void {
  for (const [what, times] of Object.entries(met)) t.diagnostic(`${what}: ${times}`)
  if (programs < PROGRAMS) return
  const rare = Object.entries(met).filter(([, times]) => times < MET_MIN)
  assert.deepEqual(rare, [])
}
