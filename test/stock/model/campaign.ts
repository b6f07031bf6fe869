/** Many runs on seeds in a row; the first that goes wrong is named with its seed. */
import assert from 'node:assert/strict'

import { play } from './play.ts'

/** What must have happened about as often as there were runs, or they would show little. */
const WANTED: readonly string[] = [
  'asked count',
  'asked move',
  'asked sale',
  'asked stock-take',
  'crashes',
  'insufficient-stock',
  'pot-unavailable',
  'recorded',
  'replayed',
  'request-mismatch',
  'same-location',
  'runtime activations',
  'runtime coalesced',
  'runtime conflicts',
  'runtime passivations',
  'runtime refolds',
  'runtime snapshotsTaken',
]

export async function playAll(first: number, runs: number): Promise<Record<string, number>> {
  const tally: Record<string, number> = {}
  for (let seed = first; seed < first + runs; seed++) {
    const run = await play(seed).catch((error: unknown) => {
      throw new Error(`stock: seed ${seed}: ${String(error)}`, { cause: error })
    })
    assert.deepEqual(run.violations, [], `stock: seed ${seed}: ${run.violations[0]}`)
    for (const [what, times] of Object.entries(run.tally)) tally[what] = (tally[what] ?? 0) + times
  }
  if (runs >= 200)
    for (const what of WANTED) assert.ok((tally[what] ?? 0) >= runs / 10, `${what}: ${tally[what]}`)
  return tally
}
