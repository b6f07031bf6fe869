import { test } from 'node:test'

import { freshSeed, random } from '../../src/std/index.ts'
import { freshDirectory, lacks } from './subject.ts'
import { checkEveryByte, extentOf, recordSmallCommits, tear } from './torn-writes.ts'

const COMMITS = 3
const RANDOM_OFFSETS = 512

test('a write torn at any byte of the last three commits leaves a prefix of whole commits', async (t) => {
  if (lacks(t, 'gcc')) return
  const deeds = await recordSmallCommits(freshDirectory('small-commits'), 8)
  t.diagnostic(`${await checkEveryByte(deeds, COMMITS)} images`)
})

test('a process killed in the middle of a write leaves a prefix of whole commits', async (t) => {
  if (lacks(t, 'gcc')) return
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  const deeds = await recordSmallCommits(freshDirectory('small-commits'), 8)
  const { bytes, borders } = extentOf(deeds, COMMITS)
  const dice = random(seed)
  const around = new Set(borders.flatMap((border) => [border - 1, border, border + 1]))
  const offsets = [
    ...[...around].filter((offset) => offset >= 0),
    ...Array.from({ length: RANDOM_OFFSETS }, () => dice.below(bytes + 1)),
  ]
  const half = Math.ceil(offsets.length / 2)
  const acknowledged = await Promise.all([
    tear(freshDirectory('torn-1'), offsets.slice(0, half)),
    tear(freshDirectory('torn-2'), offsets.slice(half)),
  ])
  t.diagnostic(
    `three commits write ${bytes} bytes in ${borders.length - 1} writes; ` +
      `${offsets.length} torn, ${acknowledged.join(' and ')} batches acknowledged`,
  )
})
