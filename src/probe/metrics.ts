/** What the orchestrator counts. */
import type { House } from './house.ts'
import type { Outcome } from './result.ts'
import { RUN_SECONDS, type Runs } from './tally.ts'

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
  /** How long runs took, from Testing until they had an outcome. */
  runSeconds: Readonly<{
    /** Upper ends with how many runs are at or below each. */
    buckets: readonly (readonly [upTo: number, count: number])[]
    sum: number
    count: number
  }>
  /** Actors of tests that ended unasked, and starts of the queue. */
  crashes: number
  recoveries: number
  forgotten: number
  commits: number
}>

export function metricsOf({ seen, settings, tally, register }: House): ProbeMetrics {
  const { schedule } = seen
  const counts = schedule?.counts
  return {
    setup: counts?.Setup ?? 0,
    loading: counts?.Loading ?? 0,
    loaded: counts?.Loaded ?? 0,
    testing: counts?.Testing ?? 0,
    completed: counts?.Completed ?? 0,
    exception: counts?.Exception ?? 0,
    pending: schedule?.pending ?? 0,
    slots: settings.slots,
    initialized: tally.initialized,
    started: tally.started,
    refused: tally.refused,
    outcomes: { ...tally.outcomes },
    runSeconds: runSeconds(tally.runs),
    crashes: tally.crashes,
    recoveries: tally.recoveries,
    forgotten: tally.forgotten,
    commits: register.commits,
  }
}

function runSeconds({ byDuration, totalMs }: Runs): ProbeMetrics['runSeconds'] {
  let count = 0
  const ends = byDuration.map((runs) => (count += runs))
  const buckets = RUN_SECONDS.map((upTo, at) => [upTo, ends[at]!] as const)
  return { buckets, sum: totalMs / 1_000, count }
}
