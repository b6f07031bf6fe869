/**
 * How far long work has come, told to whoever waits: on one line that is written over where somebody is
 * looking, as a line every few seconds otherwise. Short work says nothing.
 */
import type { Timer } from '../std/index.ts'
import type { Io } from './io.ts'
import { aboutBytes } from './units.ts'

const WATCHED_EVERY_MS = 200
const LINE_EVERY_MS = 5_000

export type Measure = Readonly<{
  /** What there is to do, in bytes. */
  total: number
  /** How much of it is done; none where that cannot be told. */
  done?: () => number
}>

export async function withProgress<T>(
  io: Io,
  what: string,
  measure: Measure,
  work: () => Promise<T>,
): Promise<T> {
  const beginMs = io.clock.monotonic()
  const everyMs = io.isWatched ? WATCHED_EVERY_MS : LINE_EVERY_MS
  let timer: Timer
  let hasSpoken = false
  const tell = (): void => {
    const seconds = Math.round((io.clock.monotonic() - beginMs) / 1_000)
    const text = `${what}: ${amountOf(measure)}, ${seconds} s`
    io.err(io.isWatched ? `\r\u001b[K${text}` : `${text}\n`)
    hasSpoken = true
    arm()
  }
  const arm = (): void => {
    timer = io.clock.setTimer(io.clock.monotonic() + everyMs, tell)
  }
  arm()
  try {
    return await work()
  } finally {
    timer!.cancel()
    if (hasSpoken && io.isWatched) io.err('\r\u001b[K')
  }
}

function amountOf({ total, done }: Measure): string {
  if (done === undefined) return aboutBytes(total)
  const share = total === 0 ? 1 : Math.min(1, done() / total)
  return `${Math.floor(share * 100)} % of ${aboutBytes(total)}`
}
