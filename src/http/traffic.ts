/**
 * What the http layer counts. A label is a route's template, a method of ours, a class of statuses or
 * a fault code, so the number of series has a bound whatever callers send.
 */
import { PRODUCT } from '../std/index.ts'
import type { Metric, Sample } from './metrics.ts'
import type { Route } from './route.ts'

const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx']
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const MILLISECONDS = SECONDS.map((seconds) => seconds * 1_000)

/** The answers of one route. */
export class RouteTraffic {
  readonly labels: Readonly<Record<string, string>>
  readonly byClass: number[] = [0, 0, 0, 0, 0]
  /** Each answer is in exactly one; the last is for what took longer than all ends. */
  readonly byDuration: number[] = new Array<number>(MILLISECONDS.length + 1).fill(0)
  totalMs = 0

  constructor(route: Pick<Route, 'path' | 'method'> | undefined) {
    this.labels =
      route === undefined
        ? { route: 'none', method: 'any' }
        : { route: route.path, method: route.method }
  }

  count(status: number, tookMs: number): void {
    const at = Math.min(Math.max(Math.trunc(status / 100), 1), 5) - 1
    this.byClass[at]!++
    let bucket = 0
    while (bucket < MILLISECONDS.length && tookMs > MILLISECONDS[bucket]!) bucket++
    this.byDuration[bucket]!++
    this.totalMs += tookMs
  }
}

/** The whole layer. */
export class Traffic {
  readonly routes: RouteTraffic[] = []
  readonly refusals: Map<string, number> = new Map()
  connections = 0
  connectionsAccepted = 0
  connectionsDropped = 0
  stalled = 0
  inFlight: () => number = () => 0

  of(route: Pick<Route, 'path' | 'method'> | undefined): RouteTraffic {
    const made = new RouteTraffic(route)
    this.routes.push(made)
    return made
  }

  refused(code: string): void {
    this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1)
  }

  metrics(): readonly Metric[] {
    return [
      counter('requests_total', 'Requests answered.', this.#requests()),
      this.#durations(),
      gauge('requests_in_flight', 'Requests that are owed an answer.', this.inFlight()),
      counter('refusals_total', 'Requests refused before a route saw them.', this.#refusals()),
      gauge('connections', 'Connections that are open.', this.connections),
      counter('connections_total', 'Connections accepted.', [{ value: this.connectionsAccepted }]),
      counter(
        'connections_dropped_total',
        'Connections closed unanswered, for there were too many.',
        [{ value: this.connectionsDropped }],
      ),
      counter('stalled_total', 'Callers cut off because they did not read their stream.', [
        { value: this.stalled },
      ]),
    ]
  }

  #requests(): Sample[] {
    return this.routes.flatMap(({ labels, byClass }) =>
      byClass.flatMap((value, at) =>
        value === 0 ? [] : [{ labels: { ...labels, status: CLASSES[at]! }, value }],
      ),
    )
  }

  #durations(): Metric {
    return {
      name: `${PREFIX}request_duration_seconds`,
      help: 'From the last header of a request until its answer was handed over.',
      type: 'histogram',
      samples: this.routes
        .filter(({ byClass }) => byClass.some((value) => value > 0))
        .map(({ labels, byDuration, totalMs }) => {
          let count = 0
          const ends = byDuration.map((value) => (count += value))
          return {
            labels,
            buckets: SECONDS.map((upTo, at) => [upTo, ends[at]!] as const),
            sum: totalMs / 1_000,
            count,
          }
        }),
    }
  }

  #refusals(): Sample[] {
    return [...this.refusals].map(([code, value]) => ({ labels: { code }, value }))
  }
}

const PREFIX = `${PRODUCT}_http_`

function counter(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name: PREFIX + name, help, type: 'counter', samples }
}

function gauge(name: string, help: string, value: number): Metric {
  return { name: PREFIX + name, help, type: 'gauge', samples: [{ value }] }
}
