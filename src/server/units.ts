/** Durations and sizes as people write them in a config: `100ms`, `30s`, `5m`, `2h`; `64KiB`, `1MiB`. */
import { custom, type Shape } from '../http/index.ts'

const MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
const BYTES: Readonly<Record<string, number>> = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }

/** Read as milliseconds. A number without a unit is refused: nobody knows which one was meant. */
export function duration(minMs: number, maxMs: number): Shape<number> {
  const range = `from ${durationText(minMs)} to ${durationText(maxMs)}`
  return inUnits(MS, [minMs, maxMs], `a duration ${range}, such as 100ms, 30s, 5m or 2h`)
}

/** Read as bytes. */
export function size(minBytes: number, maxBytes: number): Shape<number> {
  const range = `from ${sizeText(minBytes)} to ${sizeText(maxBytes)}`
  return inUnits(BYTES, [minBytes, maxBytes], `a size ${range}, such as 64KiB or 1MiB`)
}

/** In the largest unit that says it exactly. */
export function durationText(ms: number): string {
  return inLargest(ms, MS)
}

export function sizeText(bytes: number): string {
  return inLargest(bytes, BYTES)
}

/** For people to read, not to read back: `3.4 GiB`. */
export function aboutBytes(bytes: number): string {
  const [unit, each] = Object.entries(BYTES).findLast(([, one]) => bytes >= one) ?? ['B', 1]
  return `${Number((bytes / each).toFixed(each === 1 ? 0 : 1))} ${unit}`
}

function inUnits(
  units: Readonly<Record<string, number>>,
  [min, max]: readonly [number, number],
  expected: string,
): Shape<number> {
  const pattern = new RegExp(`^(\\d+(?:\\.\\d+)?) ?(${Object.keys(units).join('|')})$`)
  return custom({
    schema: { type: 'string', pattern: pattern.source },
    expected,
    read(value) {
      const [, digits, unit = ''] = (typeof value === 'string' && pattern.exec(value)) || []
      const amount = Number(digits) * (units[unit] ?? Number.NaN)
      return Number.isInteger(amount) && amount >= min && amount <= max ? amount : undefined
    },
  })
}

function inLargest(amount: number, units: Readonly<Record<string, number>>): string {
  const [unit, each] =
    Object.entries(units).findLast(([, one]) => amount % one === 0 && amount >= one) ??
    Object.entries(units)[0]!
  return `${amount / each}${unit}`
}
