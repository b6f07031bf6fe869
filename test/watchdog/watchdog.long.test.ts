import assert from 'node:assert/strict'
import { test } from 'node:test'

import { run } from './run.ts'

const TURNS = 1_000

test('the watchdog names a thousand turns in a row and leaves nothing behind', async () => {
  const { exitCode, found, lines } = await run('many', String(TURNS))

  const { slowTurns, heaps } = found as { slowTurns: number; heaps: number[] }
  assert.deepEqual([exitCode, lines.length, slowTurns], [0, TURNS, TURNS])
  assert.ok(heaps.at(-1)! < heaps[TURNS / 10]! * 1.05, `the heap grew: ${heaps.join(' ')}`)
})
