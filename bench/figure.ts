/**
 * A figure: one measured value beside its limit and its peers, held against a goal.
 *
 * The line form is read by others: add fields, never rename or remove one.
 */
export type Condition = Readonly<{
  field: 'ours' | 'ratio' | 'peerRatio'
  is: '>=' | '<='
  value: number
}>

export type Measured = Readonly<{
  suite: string
  figure: string
  /** The worst of the parts, where a figure has parts. */
  ours: number | undefined
  unit: string
  limit?: number | undefined
  /** Every limit that ran, where the best of several is `limit`. */
  limits?: Readonly<Record<string, number>>
  peers?: Readonly<Record<string, number>>
  /** The best peer among those a goal speaks of. */
  peerBest?: number | undefined
  parts?: Readonly<Record<string, number>>
  /** Timed repetitions of ours behind the median. */
  rounds: number
  goal: readonly Condition[]
}>

export type Figure = Readonly<{
  suite: string
  figure: string
  ours: number | null
  unit: string
  limit: number | null
  ratio: number | null
  peers: Readonly<Record<string, number>>
  peerRatio?: number | null
  limits?: Readonly<Record<string, number>>
  parts?: Readonly<Record<string, number>>
  rounds: number
  goal: string
  met: boolean
}>

const DIGITS = 4

export function judge(measured: Measured): Figure {
  const { ours, limit, peerBest, limits, parts, goal } = measured
  const values = { ours, ratio: quotient(ours, limit), peerRatio: quotient(ours, peerBest) }
  const speaksOfPeers = goal.some(({ field }) => field === 'peerRatio')
  return {
    suite: measured.suite,
    figure: measured.figure,
    ours: rounded(ours),
    unit: measured.unit,
    limit: rounded(limit),
    ratio: rounded(values.ratio),
    peers: roundedAll(measured.peers ?? {}),
    ...(speaksOfPeers && { peerRatio: rounded(values.peerRatio) }),
    ...(limits && { limits: roundedAll(limits) }),
    ...(parts && { parts: roundedAll(parts) }),
    rounds: measured.rounds,
    goal: goal.map(({ field, is, value }) => `${field} ${is} ${rounded(value)}`).join(' and '),
    met: goal.every((condition) => holds(condition, values[condition.field])),
  }
}

/** What was not measured does not hold. */
function holds({ is, value }: Condition, actual: number | undefined): boolean {
  if (actual === undefined) return false
  return is === '>=' ? actual >= value : actual <= value
}

export function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const low = sorted[(sorted.length - 1) >> 1]
  const high = sorted[sorted.length >> 1]
  return low === undefined || high === undefined ? undefined : (low + high) / 2
}

/** One line for a reader: value, limit, peers, goal. */
export function sentence(figure: Figure): string {
  const { ours, unit, limit, ratio, peerRatio, goal, met } = figure
  const peers = named(figure.peers)
  const parts = named(figure.parts ?? {})
  return [
    `${met ? 'met  ' : 'UNMET'} ${figure.figure.padEnd(16)}`,
    `${short(ours).padStart(8)} ${unit.padEnd(9)}`,
    limit === null ? '' : `limit ${short(limit)}, ratio ${short(ratio)}`,
    peerRatio === undefined ? '' : `, ${short(peerRatio)} x the best peer`,
    ` | goal ${goal} | ${figure.rounds} rounds`,
    parts && ` | ${parts}`,
    figure.limits ? ` | limits ${named(figure.limits)}` : '',
    peers && ` | peers ${peers}`,
  ].join('')
}

function named(values: Readonly<Record<string, number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${short(value)}`)
    .join(', ')
}

function short(value: number | null): string {
  if (value === null) return '-'
  if (value >= 1e6) return `${(value / 1e6).toPrecision(3)} M`
  if (value >= 1e4) return `${(value / 1e3).toPrecision(3)} k`
  return String(Number(value.toPrecision(3)))
}

function quotient(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined || b === 0 ? undefined : a / b
}

function rounded(value: number | undefined): number | null {
  return value === undefined ? null : Number(value.toPrecision(DIGITS))
}

function roundedAll(values: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, Number(value.toPrecision(DIGITS))]),
  )
}
