import assert from 'node:assert/strict'
import { test } from 'node:test'

import { tableOf } from '../planting.ts'
import { BUGS, plantBugs } from './planted-bugs.ts'

test('every bug planted under the stock is caught, and no bug is not', async (t) => {
  const [healthy, ...planted] = await plantBugs()
  for (const line of tableOf(planted).split('\n')) t.diagnostic(line)
  assert.equal(healthy?.said, undefined)
  assert.equal(planted.length, BUGS.length)
  const escaped = planted.filter(({ said }) => said === undefined)
  assert.deepEqual(
    escaped.map(({ bug }) => bug),
    [],
  )
})
