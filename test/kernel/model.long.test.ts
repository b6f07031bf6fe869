/** The campaign of model.test.ts, a hundred times as long and with other seeds. */
import { test } from 'node:test'

import { campaign, seedsFrom } from './campaign.ts'

const PROGRAMS = 1_000_000
const FIRST = 1_000_000

test('turn by turn, the kernel does what the model says for a long time', async () => {
  const [first, count] = seedsFrom(FIRST, PROGRAMS)
  await campaign('stepped', first, count)
})

test('on the express lane, the kernel does what the model says for a long time', async () => {
  const [first, count] = seedsFrom(FIRST, PROGRAMS)
  await campaign('express', first, count)
})
