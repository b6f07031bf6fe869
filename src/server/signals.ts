/** Signals that want a process to end, and what it ends with where one of them ends it. */
import type { Clock } from '../std/index.ts'
import { EXIT } from './io.ts'

export type EndingSignal = 'SIGINT' | 'SIGTERM'

export const SIGNALS: Readonly<Record<EndingSignal, number>> = {
  SIGINT: EXIT.interrupted,
  SIGTERM: EXIT.ended,
}

/** A terminal and npm both send the signal of one Ctrl-C: that is one, not two. */
const SAME_SIGNAL_MS = 200

/** For a listener of both; `heard` is not told of the echo of the first. */
export function withoutEcho(
  clock: Clock,
  heard: (signal: EndingSignal) => void,
): (signal: EndingSignal) => void {
  let first: Readonly<{ signal: EndingSignal; atMs: number }> | undefined
  return (signal) => {
    const atMs = clock.monotonic()
    if (first?.signal === signal && atMs - first.atMs < SAME_SIGNAL_MS) return
    first ??= { signal, atMs }
    heard(signal)
  }
}
