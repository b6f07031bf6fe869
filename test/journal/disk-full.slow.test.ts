import { test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { fillAndFree } from './full-disk.ts'
import { lacks } from './subject.ts'

const CYCLES = 20

test('a full disk refuses writes and nothing else, and takes them again when it has room', async (t) => {
  if (lacks(t, 'gcc', 'mount')) return
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  await fillAndFree(t, seed, CYCLES)
})
