/**
 * Figures for Prometheus: what a metric is, and its text form (exposition format 0.0.4).
 *
 * Names and labels are ours; label values may be anybody's and are escaped. Whoever makes a label
 * value out of a request must have a bound on how many there are.
 */

export type Labels = Readonly<Record<string, string>>

export type Sample = Readonly<{ labels?: Labels; value: number }>

export type HistogramSample = Readonly<{
  labels?: Labels
  /** Upper ends with how many values are at or below each, without the infinite one. */
  buckets: readonly (readonly [upTo: number, count: number])[]
  sum: number
  count: number
}>

export type Metric = Readonly<{ name: string; help: string }> &
  (
    | Readonly<{ type: 'counter' | 'gauge'; samples: readonly Sample[] }>
    | Readonly<{ type: 'histogram'; samples: readonly HistogramSample[] }>
  )

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function expositionOf(metrics: readonly Metric[]): string {
  const lines: string[] = []
  for (const metric of metrics) {
    lines.push(`# HELP ${metric.name} ${metric.help.replace(/[\\\n]/g, escaped)}`)
    lines.push(`# TYPE ${metric.name} ${metric.type}`)
    if (metric.type === 'histogram')
      for (const sample of metric.samples) lines.push(...histogramLines(metric.name, sample))
    else
      for (const { labels, value } of metric.samples)
        lines.push(`${metric.name}${labelText(labels)} ${numberText(value)}`)
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

function histogramLines(name: string, sample: HistogramSample): string[] {
  const { labels, buckets, sum, count } = sample
  const ends = [...buckets, [Infinity, count] as const]
  return [
    ...ends.map(
      ([upTo, within]) =>
        `${name}_bucket${labelText({ ...labels, le: numberText(upTo) })} ${numberText(within)}`,
    ),
    `${name}_sum${labelText(labels)} ${numberText(sum)}`,
    `${name}_count${labelText(labels)} ${numberText(count)}`,
  ]
}

function labelText(labels: Labels | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(
    ([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escaped)}"`,
  )
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`
}

function numberText(value: number): string {
  if (value === Infinity) return '+Inf'
  return value === -Infinity ? '-Inf' : String(value)
}
