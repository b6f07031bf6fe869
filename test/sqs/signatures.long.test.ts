/** A million changed signatures; see `signatures.ts`. */
import { test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { refusesChanged } from './signatures.ts'

test('a million changed signatures are refused', (t) => {
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  t.diagnostic(JSON.stringify(Object.fromEntries(refusesChanged(seed, 1_000_000))))
})
