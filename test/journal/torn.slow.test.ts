import { describe, test } from 'node:test'

import { freshSeed, random } from '../../src/std/index.ts'
import { freshDirectory, lacks } from './subject.ts'
import { checkEveryByte, extentOf, recordSmallCommits, tear, type Extent } from './torn-writes.ts'

const COMMITS = 3
const PARTS = 4
const OFFSETS_EACH = 128

test('a write torn at any byte of the last three commits leaves a prefix of whole commits', async (t) => {
  if (lacks(t, 'gcc')) return
  const deeds = await recordSmallCommits(freshDirectory('small-commits'), 8)
  t.diagnostic(`${await checkEveryByte(deeds, COMMITS)} images`)
})

describe('a process killed in the middle of a write leaves a prefix of whole commits', () => {
  test('just before, at and just after each border between two writes', async (t) => {
    if (lacks(t, 'gcc')) return
    const { borders } = await extent()
    const around = new Set(borders.flatMap((border) => [border - 1, border, border + 1]))
    const offsets = [...around].filter((offset) => offset >= 0)
    const acknowledged = await tear(freshDirectory('torn'), offsets)
    t.diagnostic(`${offsets.length} processes, ${acknowledged} batches acknowledged`)
  })

  for (let part = 1; part <= PARTS; part++)
    test(`at ${OFFSETS_EACH} random bytes (${part} of ${PARTS})`, async (t) => {
      if (lacks(t, 'gcc')) return
      const seed = freshSeed()
      t.diagnostic(`seed ${seed}`)
      const dice = random(seed)
      const { bytes } = await extent()
      const offsets = Array.from({ length: OFFSETS_EACH }, () => dice.below(bytes + 1))
      const acknowledged = await Promise.all([
        tear(freshDirectory('torn-1'), offsets.slice(OFFSETS_EACH / 2)),
        tear(freshDirectory('torn-2'), offsets.slice(0, OFFSETS_EACH / 2)),
      ])
      t.diagnostic(`${bytes} bytes, ${acknowledged.join(' and ')} batches acknowledged`)
    })
})

/** Of three small commits. */
async function extent(): Promise<Extent> {
  return extentOf(await recordSmallCommits(freshDirectory('small-commits'), 8), COMMITS)
}
