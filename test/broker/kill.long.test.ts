import { test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { endAgainAndAgain } from './kills.ts'

test('a broker that is killed two hundred times under load loses nothing and brings nothing back', async (t) => {
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  t.diagnostic(JSON.stringify(await endAgainAndAgain(200, seed, 'SIGKILL')))
})
