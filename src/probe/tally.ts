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
}

export function newTally(): Tally {
  return {
    initialized: 0,
    started: 0,
    refused: 0,
    crashes: 0,
    recoveries: 0,
    forgotten: 0,
    outcomes: { passed: 0, failed: 0, errored: 0, cancelled: 0, 'timed-out': 0, interrupted: 0 },
  }
}
