import assert from 'node:assert/strict'
import { test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { endAgainAndAgain } from './kills.ts'

const EXIT_MS_MAX = 10_000
const TRIES = 3

test('a broker that is killed fifty times under load loses nothing and brings nothing back', async (t) => {
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  const [one, other] = await Promise.all(
    [seed, seed + 1].map((each) => endAgainAndAgain(25, each, 'SIGKILL')),
  )
  t.diagnostic(JSON.stringify([one, other]))
  assert.ok(one!.sent + other!.sent > 1_000, 'there was a load')
  assert.ok(one!.deleted + other!.deleted > 500)
})

test('a broker that is told to end ten times under load ends in order, and soon', async (t) => {
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  // A machine that has much else to do may make it late: so it is tried again.
  for (let tries = 1; ; tries++) {
    const tally = await endAgainAndAgain(10, seed, 'SIGTERM')
    t.diagnostic(JSON.stringify(tally))
    if (tally.slowestMs <= EXIT_MS_MAX) break
    assert.ok(tries < TRIES, `one of them took ${tally.slowestMs} ms`)
  }
})
