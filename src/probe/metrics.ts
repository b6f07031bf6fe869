/** What the orchestrator counts. */
import type { Outcome } from './result.ts'

export type ProbeMetrics = Readonly<{
  /** Tests that have an actor, by state. */
  setup: number
  loading: number
  loaded: number
  testing: number
  completed: number
  exception: number
  /** Tests in line, and places for those that run. */
  pending: number
  slots: number
  initialized: number
  started: number
  refused: number
  outcomes: Readonly<Record<Outcome, number>>
  /** Actors of tests that ended unasked, and starts of the queue. */
  crashes: number
  recoveries: number
  evidence_pending: number
  commits: number
  forgotten: number
}>
