import { test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { fillAndFree } from './full-disk.ts'
import { lacks } from './subject.ts'

const CYCLES = 100

test('a disk that is full a hundred times refuses writes and nothing else', async (t) => {
  if (lacks(t, 'gcc', 'mount')) return
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  await fillAndFree(t, seed, CYCLES)
})
