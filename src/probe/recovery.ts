/**
 * Where tests stand that were there when the server ended.
 *
 * Those that were in line stand where they stood. Those that ran and are to run again come first of their
 * priority, in the order in which they had stood. The rest is in no line.
 */
import { isRunAgain } from './execution/execution.ts'
import type { ProbeSettings } from './options.ts'
import type { RecordedState, TestRecord } from './record.ts'

export type Recovered = Readonly<{
  record: TestRecord
  state: RecordedState
  place: number
  isWaiting: boolean
}>

export type LinedUp = Readonly<{
  /** In the order of the line. */
  tests: readonly Recovered[]
  nextPlace: number
  /** Those whose directories are still needed. */
  kept: ReadonlySet<string>
}>

export function lineUp(records: readonly TestRecord[], settings: ProbeSettings): LinedUp {
  const byPlace = records.toSorted((a, b) => (a.place ?? 0) - (b.place ?? 0))
  const first = byPlace.find(({ place }) => place !== undefined)?.place ?? 1
  const interrupted = byPlace.filter((record) => isInterrupted(record, settings))
  let front = first - interrupted.length
  const tests = byPlace.map((record): Recovered => {
    const state = stateOf(record, settings)
    const isWaiting = state === 'Loading'
    const place = isInterrupted(record, settings) ? front++ : (record.place ?? 0)
    return { record, state, place, isWaiting }
  })
  return {
    tests: tests.toSorted((a, b) => a.place - b.place),
    nextPlace: Math.max(0, byPlace.at(-1)?.place ?? 0) + 1,
    kept: new Set(records.filter(hasEvidence).map(({ testId }) => testId)),
  }
}

function isInterrupted(record: TestRecord, settings: ProbeSettings): boolean {
  return record.state === 'Testing' && record.result === undefined && isRunAgain(record, settings)
}

function stateOf(record: TestRecord, settings: ProbeSettings): RecordedState {
  if (record.state === 'Loaded') return 'Loading'
  if (record.state !== 'Testing') return record.state
  if (record.result !== undefined) return 'Completed'
  return isInterrupted(record, settings) ? 'Loading' : 'Exception'
}

function hasEvidence({ state, result, evidence }: TestRecord): boolean {
  return evidence === 'pending' || (state === 'Testing' && result !== undefined)
}
