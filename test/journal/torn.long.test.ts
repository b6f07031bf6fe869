import { test } from 'node:test'

import { freshSeed, random } from '../../src/std/index.ts'
import { freshDirectory, lacks } from './subject.ts'
import { measureThreeCommits, tear } from './torn-writes.ts'

const RANDOM_OFFSETS = 4_096

test('4 096 processes killed in the middle of a write leave prefixes of whole commits', async (t) => {
  if (lacks(t, 'gcc')) return
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  const { bytes } = await measureThreeCommits(freshDirectory('three-commits'))
  const dice = random(seed)
  for (let done = 0; done < RANDOM_OFFSETS; done += 64) {
    const offsets = Array.from({ length: 64 }, () => dice.below(bytes + 1))
    await Promise.all([
      tear(freshDirectory('torn-1'), offsets.slice(32)),
      tear(freshDirectory('torn-2'), offsets.slice(0, 32)),
    ])
  }
})
