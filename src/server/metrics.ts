/**
 * What the parts count, as Prometheus reads it.
 *
 * A name is made from the field: `resume_latency.p50Ms` of the kernel is `flytower_kernel_resume_latency_p50_ms`,
 * and what only grows has `_total` behind it. `docs/reference/metrics.md` lists the fields, and a test holds
 * both together.
 */
import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

import type { BrokerMetrics } from '../broker/index.ts'
import type { EntityMetrics } from '../entity/index.ts'
import type { Metric, Sample } from '../http/index.ts'
import type { JournalState, JournalStats } from '../journal/index.ts'
import type { MetricsSnapshot } from '../kernel/index.ts'
import type { ProbeMetrics } from '../probe/index.ts'
import { PRODUCT, type Clock } from '../std/index.ts'

type Figures = Readonly<Record<string, unknown>>

/** Fields that go both ways, and the most or the share of something: all others only grow. */
const GAUGES: ReadonlySet<string> = new Set([
  'state',
  'suspended_now',
  'ready_depth',
  'blocked_senders',
  'timers_pending',
  'pending',
  'pendingBytes',
  'lagMs',
  'active',
  'activating',
  'quarantined',
  'postponed',
  'queues',
  'awakeQueues',
  'textChars',
  'ready',
  'delayed',
  'leased',
  'messageBytes',
  'waiting',
  'setup',
  'loading',
  'loaded',
  'testing',
  'completed',
  'exception',
  'slots',
])
/** Fields that are whole distributions. */
const HISTOGRAMS: ReadonlySet<string> = new Set(['runSeconds'])
const EXTREME = /(?:max|max_?ms|p\d+_?ms|_max)$/i

const STATES: readonly JournalState[] = ['open', 'read-only', 'damaged', 'failed', 'closed']

export function kernelMetrics(snapshot: MetricsSnapshot): Metric[] {
  const { dead_letters: letters, ...rest } = snapshot
  return [
    ...figureMetrics('kernel', rest),
    {
      name: `${PRODUCT}_kernel_dead_letters_total`,
      help: 'dead_letters',
      type: 'counter',
      samples: Object.entries(letters).map(([reason, value]) => ({ labels: { reason }, value })),
    },
  ]
}

export function journalMetrics(stats: JournalStats): Metric[] {
  const { state, ...rest } = stats
  return [
    ...figureMetrics('journal', rest),
    {
      name: `${PRODUCT}_journal_state`,
      help: 'state',
      type: 'gauge',
      samples: STATES.map((each) => ({ labels: { state: each }, value: each === state ? 1 : 0 })),
    },
  ]
}

export function entityMetrics(metrics: EntityMetrics): Metric[] {
  return figureMetrics('entity', metrics)
}

export function brokerMetrics(metrics: BrokerMetrics): Metric[] {
  return figureMetrics('broker', metrics)
}

export function probeMetrics(metrics: ProbeMetrics): Metric[] {
  const { runSeconds, ...rest } = metrics
  return [
    ...figureMetrics('probe', rest),
    {
      name: metricName('probe', 'runSeconds'),
      help: 'runSeconds',
      type: 'histogram',
      samples: [runSeconds],
    },
  ]
}

/** Numbers of this process. */
export class ProcessMetrics {
  readonly #startedAt: number
  readonly #delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })

  constructor(clock: Clock) {
    this.#startedAt = clock.now() - process.uptime() * 1_000
    this.#delay.enable()
  }

  /** The delays are those since it was last asked. */
  metrics(): Metric[] {
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed, external } = process.memoryUsage()
    const delay = this.#delay
    const metrics = [
      counter('process_cpu_seconds_total', 'processor time', (user + system) / 1e6),
      gauge('process_resident_memory_bytes', 'memory in use', rss),
      gauge('process_start_time_seconds', 'when it was started', this.#startedAt / 1_000),
      gauge('process_uptime_seconds', 'how long it runs', process.uptime()),
      gauge('process_open_fds', 'open files and connections', openFiles()),
      gauge('nodejs_heap_size_used_bytes', 'memory in use by JavaScript', heapUsed),
      gauge('nodejs_external_memory_bytes', 'memory that JavaScript holds outside', external),
      gauge(
        'nodejs_eventloop_lag_p99_seconds',
        'how late the loop was',
        seconds(delay.percentile(99)),
      ),
      gauge('nodejs_eventloop_lag_max_seconds', 'how late it was at worst', seconds(delay.max)),
    ]
    delay.reset()
    return metrics
  }

  stop(): void {
    this.#delay.disable()
  }
}

const DELAY_RESOLUTION_MS = 20

function seconds(nanoseconds: number): number {
  const late = nanoseconds / 1e9 - DELAY_RESOLUTION_MS / 1_000
  return Number.isFinite(late) ? Math.max(0, late) : 0
}

/** Where the system does not tell, none. */
function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return Number.NaN
  }
}

function figureMetrics(part: string, figures: Figures, path = ''): Metric[] {
  return Object.entries(figures).flatMap(([field, value]): Metric[] => {
    const full = path === '' ? field : `${path}.${field}`
    if (typeof value === 'object' && value !== null) return figureMetrics(part, { ...value }, full)
    if (typeof value !== 'number') return []
    const name = metricName(part, full)
    return [isGauge(full) ? gauge(name, full, value) : counter(name, full, value)]
  })
}

/** What a field of a part is called at `/metrics`. */
export function metricName(part: string, field: string): string {
  const words = field
    .replaceAll(/[.-]/g, '_')
    .replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return `${PRODUCT}_${part}_${words}${isGauge(field) || HISTOGRAMS.has(field) ? '' : '_total'}`
}

function isGauge(field: string): boolean {
  return GAUGES.has(field) || EXTREME.test(field)
}

function counter(name: string, help: string, value: number): Metric {
  return { name, help, type: 'counter', samples: [sample(value)] }
}

function gauge(name: string, help: string, value: number): Metric {
  return { name, help, type: 'gauge', samples: [sample(value)] }
}

function sample(value: number): Sample {
  return { value }
}
