/** 20 000 requests that chance makes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { freshSeed, random } from '../../src/std/index.ts'
import { fuzz, judge, prepare } from './fuzzing.ts'
import { serve } from './served.ts'

const REQUESTS = 20_000

test('20 000 requests that chance makes: the server never fails', async (t) => {
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  await using served = await serve()
  await prepare(served)

  const { statuses, failures } = await fuzz(served, random(seed), REQUESTS)

  t.diagnostic(JSON.stringify(Object.fromEntries([...statuses].toSorted(([a], [b]) => a - b))))
  assert.deepEqual(failures.slice(0, 5), [], `${failures.length} of seed ${seed}`)
  assert.ok((statuses.get(201) ?? 0) > REQUESTS / 20, 'too few requests were right')
  assert.ok(statuses.size > 5, 'too few kinds of answers')
  assert.ok((await judge(served)) > 10)
})
