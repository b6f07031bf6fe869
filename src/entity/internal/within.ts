/** Work that has to be done by a deadline. What it comes to later is nobody's business any more. */
import type { Accident, TimerQueue } from '../../std/index.ts'

/** What the work comes to; rejects with `late` where that takes too long. */
export async function within<T>(
  timers: TimerQueue,
  ms: number,
  work: Promise<T>,
  late: () => Accident,
): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>()
  const limit = timers.after(ms, () => reject(late()))
  try {
    return await Promise.race([work, tooLate])
  } finally {
    timers.cancel(limit)
  }
}

/** Settles with the work, either way, or when the time is up. */
export async function soon(timers: TimerQueue, ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: timeIsUp, resolve } = Promise.withResolvers<void>()
  const limit = timers.after(ms, resolve)
  await Promise.race([Promise.allSettled([work]), timeIsUp])
  timers.cancel(limit)
}
