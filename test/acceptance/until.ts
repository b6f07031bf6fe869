/**
 * Waiting for something to become true in another process, which no clock of ours decides. Whoever
 * waits says for what; after the limit the test has failed with those words.
 */
import { AssertionError } from 'node:assert/strict'

import { systemClock } from '../../src/std/index.ts'

const LOOK_EVERY_MS = 5

export async function until<T>(
  what: string,
  limitMs: number,
  look: () => T | undefined | Promise<T | undefined>,
): Promise<NonNullable<T>> {
  const deadline = systemClock.monotonic() + limitMs
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== null && found !== false) return found
    if (systemClock.monotonic() > deadline)
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
