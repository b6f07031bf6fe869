/** Suspending and resuming for ever costs nothing that stays. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createSystem, manual, receive } from '../../src/kernel/index.ts'
import { afterIo } from '../../src/std/index.ts'

const CYCLES = 2_000_000
const SLICE = 100_000

function heapAfterGc(): number {
  assert.ok(globalThis.gc, 'run with --expose-gc')
  globalThis.gc()
  return process.memoryUsage().heapUsed
}

test('two million suspensions leave the heap as it was, and every message handled', async (t) => {
  await using system = createSystem()
  let handled = 0
  const actor = system.spawn(
    'actor',
    receive<number>(() => void handled++),
  )
  const heaps: number[] = []
  for (let cycle = 1; cycle <= CYCLES; cycle++) {
    const token = actor.suspend('user', manual())
    actor.tell(cycle)
    token.resume()
    if (cycle % 1_000 === 0) await new Promise<void>(afterIo)
    if (cycle % SLICE === 0) heaps.push(heapAfterGc())
  }
  await new Promise<void>(afterIo)
  assert.equal(handled, CYCLES)

  const mib = heaps.map((bytes) => (bytes / 2 ** 20).toFixed(2))
  t.diagnostic(`heap after every ${SLICE} cycles: ${mib.join(' ')} MiB`)
  const metrics = system.metrics()
  assert.equal(metrics.suspend_count, CYCLES)
  assert.equal(metrics.resume_count, CYCLES)
  assert.equal(metrics.suspended_now, 0)
  const [first, last] = [heaps[1]!, heaps.at(-1)!]
  assert.ok(last < first * 1.05, `from ${first} to ${last} bytes`)
})
