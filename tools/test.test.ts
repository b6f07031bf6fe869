import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { belongs, type Tier } from './test.ts'

function tiersOf(path: string): Tier[] {
  return (['check', 'all', 'long'] as const).filter((tier) => belongs(path, tier))
}

describe('tiers', () => {
  test('a test beside the code is checked always', () => {
    assert.deepEqual(tiersOf('src/std/heap.test.ts'), ['check', 'all'])
    assert.deepEqual(tiersOf('tools/tidy.test.ts'), ['check', 'all'])
    assert.deepEqual(tiersOf('src/kernel/slow.test.ts'), ['check', 'all'])
  })

  test('what is slow, or belongs to no single folder, waits for the full run', () => {
    assert.deepEqual(tiersOf('src/kernel/model.slow.test.ts'), ['all'])
    assert.deepEqual(tiersOf('test/sim/crash.test.ts'), ['all'])
  })

  test('what is long runs alone', () => {
    assert.deepEqual(tiersOf('src/kernel/soak.long.test.ts'), ['long'])
    assert.deepEqual(tiersOf('test/sim/night.long.test.ts'), ['long'])
  })
})
