import assert from 'node:assert/strict'
import { test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { killAgainAndAgain, killAtCalls } from './kills.ts'
import { freshDirectory, lacks } from './subject.ts'

test('a process that is killed two hundred times under load has lost nothing it acknowledged', async (t) => {
  if (lacks(t, 'gcc')) return
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  for (let n = 0; n < 10; n++) {
    const tally = await killAgainAndAgain(freshDirectory('kill'), seed + n, 20)
    t.diagnostic(JSON.stringify(tally))
    assert.equal(tally.kills, 20)
  }
})

for (const calls of ['fsync,fdatasync', 'pwrite64'])
  test(`a process that is killed at the nth ${calls}, for n from 1 to 150, has lost nothing`, async (t) => {
    if (lacks(t, 'strace')) return
    const tally = await killAtCalls(freshDirectory('kill-at'), calls, 150)
    t.diagnostic(JSON.stringify(tally))
  })
