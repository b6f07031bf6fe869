/** What the actors of the orchestrator count, for its metrics. */
import type { Outcome } from './result.ts'

export type Tally = {
  initialized: number
  started: number
  refused: number
  crashes: number
  recoveries: number
  forgotten: number
  readonly outcomes: Record<Outcome, number>
  readonly runs: Runs
}

/** How long runs took, in the classes of `RUN_SECONDS`; one more for those that took longer. */
export type Runs = { readonly byDuration: number[]; totalMs: number }

export const RUN_SECONDS: readonly number[] = [1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800]

export function newTally(): Tally {
  return {
    initialized: 0,
    started: 0,
    refused: 0,
    crashes: 0,
    recoveries: 0,
    forgotten: 0,
    outcomes: { passed: 0, failed: 0, errored: 0, cancelled: 0, 'timed-out': 0, interrupted: 0 },
    runs: { byDuration: new Array<number>(RUN_SECONDS.length + 1).fill(0), totalMs: 0 },
  }
}

export function countRun(runs: Runs, tookMs: number): void {
  const at = RUN_SECONDS.findIndex((seconds) => tookMs <= seconds * 1_000)
  runs.byDuration[at < 0 ? RUN_SECONDS.length : at]!++
  runs.totalMs += tookMs
}
