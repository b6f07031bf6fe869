/** The same as the short one, for longer: in pieces, so that a seed that is printed is near. */
import { test } from 'node:test'

import { freshSeed } from '../../src/std/index.ts'
import { campaignApart } from './model/campaign.ts'

const PIECES = 20
const PROGRAMS = 10_000

test(`nothing is lost, doubled or stuck in ${PIECES * PROGRAMS} programs`, async (t) => {
  const seed = freshSeed()
  for (let piece = 0; piece < PIECES; piece++) {
    const from = seed + piece * PROGRAMS
    t.diagnostic(`seeds from ${from}`)
    await campaignApart(from, PROGRAMS)
  }
})
