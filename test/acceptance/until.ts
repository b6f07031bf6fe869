/**
 * Waiting for something to become true in another process, which no clock of ours decides. Whoever
 * waits says for what; after the limit the test has failed with those words.
 *
 * Time in which this process stood still does not count: on such a machine the other one had none
 * to do it in either.
 */
import { AssertionError } from 'node:assert/strict'

import { systemClock } from '../../src/std/index.ts'

const LOOK_EVERY_MS = 5
/** What one look counts for at most, however long it took. */
const LOOK_MS_MAX = 1_000

export async function until<T>(
  what: string,
  limitMs: number,
  look: () => T | undefined | Promise<T | undefined>,
): Promise<NonNullable<T>> {
  let waitedMs = 0
  for (let lastMs = systemClock.monotonic(); ;) {
    const found = await look()
    if (found !== undefined && found !== null && found !== false) return found
    const nowMs = systemClock.monotonic()
    waitedMs += Math.min(nowMs - lastMs, LOOK_MS_MAX)
    lastMs = nowMs
    if (waitedMs > limitMs)
      throw new AssertionError({ message: `after ${limitMs} ms still not so: ${what}` })
    await passing(LOOK_EVERY_MS)
  }
}

/** So much real time; for loads that pause and for things that must not happen meanwhile. */
export function passing(ms: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.setTimer(systemClock.monotonic() + ms, resolve)
  })
}
