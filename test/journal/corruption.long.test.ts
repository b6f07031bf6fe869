/** 100 000 corruptions of journals; see `corruption.slow.test.ts`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { campaign, printed } from './corruption/campaign.ts'

test('100 000 corruptions are found, kept from readers and repaired', (t) => {
  const seed = freshSeed()

  const outcome = campaign({ seed, corruptions: 100_000, each: 100 })

  t.diagnostic(`seed ${seed}, ${printed(outcome)}`)
  assert.deepEqual(outcome.wrong, [], `seed ${seed}`)
})
