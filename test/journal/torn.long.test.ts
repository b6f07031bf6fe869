import { test } from 'node:test'

import { freshSeed, random } from '../../src/std/index.ts'
import { freshDirectory, lacks } from './subject.ts'
import { checkEveryByte, extentOf, recordSmallCommits, tear } from './torn-writes.ts'

const RANDOM_OFFSETS = 4_096
const PER_DIRECTORY = 128

test('a write torn at any byte of the last forty commits leaves a prefix of whole commits', async (t) => {
  if (lacks(t, 'gcc')) return
  const deeds = await recordSmallCommits(freshDirectory('small-commits'), 60)
  t.diagnostic(`${await checkEveryByte(deeds, 40)} images`)
})

test('4 096 processes killed in the middle of a write leave prefixes of whole commits', async (t) => {
  if (lacks(t, 'gcc')) return
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  const deeds = await recordSmallCommits(freshDirectory('small-commits'), 8)
  const { bytes } = extentOf(deeds, 3)
  const dice = random(seed)
  const left = Array.from({ length: RANDOM_OFFSETS }, () => dice.below(bytes + 1))
  await Promise.all(['torn-1', 'torn-2'].map(tearSome))

  async function tearSome(name: string): Promise<void> {
    while (left.length > 0) await tear(freshDirectory(name), left.splice(0, PER_DIRECTORY))
  }
})
