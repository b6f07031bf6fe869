import { test } from 'node:test'

import { freshSeed, random } from '../../src/std/index.ts'
import { freshDirectory, lacks } from './subject.ts'
import { measureThreeCommits, tear } from './torn-writes.ts'

const RANDOM_OFFSETS = 64

test('a process killed in the middle of a write leaves a prefix of whole commits', async (t) => {
  if (lacks(t, 'gcc')) return
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  const { bytes, borders } = await measureThreeCommits(freshDirectory('three-commits'))
  const dice = random(seed)
  const offsets = [
    ...new Set(borders.flatMap((border) => [border - 1, border, border + 1]).filter((n) => n >= 0)),
    ...Array.from({ length: RANDOM_OFFSETS }, () => dice.below(bytes + 1)),
  ]
  t.diagnostic(`three commits write ${bytes} bytes in ${borders.length - 1} writes`)
  const half = Math.ceil(offsets.length / 2)
  const acknowledged = await Promise.all([
    tear(freshDirectory('torn-1'), offsets.slice(0, half)),
    tear(freshDirectory('torn-2'), offsets.slice(half)),
  ])
  t.diagnostic(`${offsets.length} torn writes, ${acknowledged.join(' and ')} batches acknowledged`)
})
