import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createSystem, manual, receive } from '../../src/kernel/index.ts'
import { afterIo } from '../../src/std/index.ts'

const CYCLES = 2_000_000
/** Messages told between two looks at the loop. */
const SLICE = 1_000
const GROWTH_BYTES_MAX = 2 ** 19

function heapBytes(): number {
  assert.ok(globalThis.gc !== undefined, 'run with --expose-gc')
  globalThis.gc()
  return process.memoryUsage().heapUsed
}

test('two million times suspended and resumed, an actor has had every message and the heap is flat', async (t) => {
  await using system = createSystem()
  let sum = 0
  const actor = system.spawnAnonymous(receive<number>((_, n) => void (sum += n)))
  const cycles = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += SLICE) {
      for (let n = 0; n < SLICE; n++) {
        const token = actor.suspend('user', manual())
        actor.tell(1)
        token.resume()
      }
      await new Promise<void>(afterIo)
    }
  }
  await cycles(CYCLES / 10)
  const before = heapBytes()

  await cycles(CYCLES)
  while (system.metrics().ready_depth > 0) await new Promise<void>(afterIo)
  const growth = heapBytes() - before

  t.diagnostic(`the heap grew by ${growth} bytes over ${CYCLES} cycles`)
  assert.equal(sum, CYCLES + CYCLES / 10)
  assert.equal(system.metrics().suspended_now, 0)
  assert.ok(growth < GROWTH_BYTES_MAX, `the heap grew by ${growth} bytes`)
})
