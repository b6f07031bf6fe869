/**
 * Time as a port, and the one adapter of it that is real.
 *
 * No other file under `src` reads a clock or asks the host to call it later, so a test that passes
 * in its own clock decides all of time. Wall time is for people and records; it may jump. Deadlines
 * run on monotonic time, which does not.
 */
import { assert } from './assert.ts'

export interface Timer {
  /** Afterwards the callback does not run; without effect once it has. */
  cancel(): void
}

export interface Clock {
  /** Wall time in milliseconds since the epoch. */
  now(): number
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonic(): number
  /** Calls back once, later than this call and never before `monotonic() >= dueMs`. */
  setTimer(dueMs: number, callback: () => void): Timer
}

/** What a clock needs from its host; delays are milliseconds and at most `DELAY_MS_MAX`. */
export interface ClockHost {
  now(): number
  monotonic(): number
  arm(delayMs: number, callback: () => void): () => void
}

// Node turns any longer delay into 1 ms.
const DELAY_MS_MAX = 2 ** 31 - 1

export function clockOver(host: ClockHost): Clock {
  return {
    now: () => host.now(),
    monotonic: () => host.monotonic(),
    setTimer(dueMs, callback) {
      assert(!Number.isNaN(dueMs), 'a timer is due at a number')
      let disarm = arm()
      return { cancel: () => disarm() }

      function arm(): () => void {
        const leftMs = Math.ceil(dueMs - host.monotonic())
        return host.arm(Math.min(Math.max(leftMs, 0), DELAY_MS_MAX), onElapsed)
      }

      // The host may be up to a millisecond early, and a long way is gone in several steps.
      function onElapsed(): void {
        if (host.monotonic() < dueMs) disarm = arm()
        else callback()
      }
    },
  }
}

export const systemClock: Clock = clockOver({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  arm(delayMs, callback) {
    const handle = setTimeout(callback, delayMs)
    return () => clearTimeout(handle)
  },
})

/** Wall time as people and other programs write it, such as `2026-01-01T00:00:00.000Z`. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

/** Runs the callback once I/O that is already pending has had its turn. */
export function afterIo(callback: () => void): void {
  setImmediate(callback)
}

/** Runs the callback when the running code has returned, before any I/O or timer. */
export function afterTurn(callback: () => void): void {
  queueMicrotask(callback)
}
