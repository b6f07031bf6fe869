/**
 * The numbers of one system. Counters only grow; `now` figures go both ways.
 *
 * They are written on the slow paths alone, where a turn is suspended, fails or
 * ends, so that a plain message pays nothing for them.
 */
const BUCKETS = 32

/** Counts durations in buckets that double: 1 µs, 2 µs, 4 µs, … */
export class Histogram {
  readonly buckets: number[] = Array.from({ length: BUCKETS }, () => 0)
  count = 0
  sumMs = 0
  maxMs = 0

  record(ms: number): void {
    const bucket = ms <= 0.001 ? 0 : Math.ceil(Math.log2(ms * 1_000))
    this.buckets[Math.min(bucket, BUCKETS - 1)]!++
    this.count++
    this.sumMs += ms
    if (ms > this.maxMs) this.maxMs = ms
  }

  /** The upper edge of the bucket that holds the given share of all durations. */
  quantileMs(share: number): number {
    let left = Math.ceil(this.count * share)
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      left -= this.buckets[bucket]!
      if (left <= 0) return 2 ** bucket / 1_000
    }
    return this.maxMs
  }
}

export class Metrics {
  spawned = 0
  stopped = 0
  failures = 0
  retries = 0
  restarts = 0
  escalations = 0
  suspendCount = 0
  resumeCount = 0
  /** Resumes of tokens that had been resumed already. */
  resumeUnbalanced = 0
  suspendedNow = 0
  suspendedMsTotal = 0
  readonly resumeLatency: Histogram = new Histogram()
  blockedSenders = 0
  backpressureCycles = 0
  slowTurns = 0
  asksOverdue = 0
  readonly deadLetters: Map<string, number> = new Map()
}

/** A copy of the numbers at one moment. */
export type MetricsSnapshot = Readonly<{
  spawned: number
  stopped: number
  failures: number
  retries: number
  restarts: number
  escalations: number
  suspend_count: number
  resume_count: number
  resume_unbalanced: number
  suspended_now: number
  suspended_ms_total: number
  resume_latency: Readonly<{ count: number; p50Ms: number; p99Ms: number; maxMs: number }>
  ready_depth: number
  blocked_senders: number
  backpressure_cycles: number
  slow_turns: number
  asks_overdue: number
  timers_pending: number
  dead_letters: Readonly<Record<string, number>>
  /** Of the whole thread, all systems together. */
  thread: Readonly<{ messages: number; drains: number; yields: number; hold_ms_max: number }>
}>
