/**
 * What is on record of a test: its events, and the fold of them.
 *
 * The fold is pure and total: replaying the events of a stream gives exactly the record that was
 * written beside the last of them. A test has an outcome from its end until it is queued again, and
 * an outcome never turns into another.
 */
import { assert, unreachable, type Fault } from '../std/index.ts'
import type { Outcome, RunResult } from './result.ts'

/** States of a test on record. The machine has one more, for its last moments. */
export type RecordedState = 'Setup' | 'Loading' | 'Loaded' | 'Testing' | 'Completed' | 'Exception'

/** What went wrong, and where: a child, a deadline, or the house itself. */
export type TestError = Readonly<{
  kind: string
  code: string
  message: string
  /** What to do about it. */
  remedy?: string
}>

export type EvidenceFile = Readonly<{ name: string; bytes: number; sha256: string }>

/** Pending: it could not be stored yet and is tried again. Lost: it was tried too often. */
export type EvidenceState = 'none' | 'pending' | 'stored' | 'lost'

/** What a test was started with. */
export type StartOptions = Readonly<{
  bucket: string
  testType?: string
  tags?: string
  priority: number
  exclusive: readonly string[]
  isDryRun: boolean
  requestId?: string
}>

export type TestEvent =
  | Readonly<{ type: 'initialized'; at: number; deadlineAt: number; priority: number; by?: string }>
  | Readonly<{
      type: 'started'
      at: number
      options: StartOptions
      /** Its place in line: lower ones of its priority go first. */
      place: number
    }>
  | Readonly<{ type: 'loaded'; at: number; exclusive: readonly string[] }>
  | Readonly<{ type: 'testing'; at: number; attempt: number }>
  /** Kept before the evidence is stored, so that it outlives a failure of that. */
  | Readonly<{ type: 'result-kept'; at: number; result: RunResult }>
  | Readonly<{
      type: 'completed'
      at: number
      outcome: 'passed' | 'failed'
      result: RunResult
      evidence: EvidenceState
      files: readonly EvidenceFile[]
    }>
  | Readonly<{
      type: 'errored'
      at: number
      outcome: 'errored' | 'timed-out'
      error: TestError
      evidence: EvidenceState
      files: readonly EvidenceFile[]
    }>
  | Readonly<{ type: 'cancelled'; at: number; by?: string }>
  /** The server ended while it ran. */
  | Readonly<{ type: 'interrupted'; at: number }>
  | Readonly<{ type: 'requeued'; at: number; why: RequeueReason; place: number }>
  | Readonly<{ type: 'extended'; at: number; ms: number; deadlineAt: number }>
  | Readonly<{ type: 'evidence-stored'; at: number; files: readonly EvidenceFile[] }>
  | Readonly<{ type: 'evidence-lost'; at: number; error: TestError }>
  /** Its record is gone; its history ends here. */
  | Readonly<{ type: 'forgotten'; at: number }>

export type RequeueReason = 'restart' | 'interrupted' | 'retry'

export type TestRecord = Readonly<{
  testId: string
  /** Events so far. */
  version: number
  state: RecordedState
  outcome?: Outcome
  createdAt: number
  updatedAt: number
  by?: string
  priority: number
  /** When the present state is over, in Setup. */
  deadlineAt?: number
  start?: StartOptions
  place?: number
  /** When it was asked to start. */
  requestedAt?: number
  exclusive: readonly string[]
  /** Runs that have begun. */
  attempt: number
  startTime?: number
  endTime?: number
  result?: RunResult
  error?: TestError
  evidence: EvidenceState
  files: readonly EvidenceFile[]
}>

/** The record after one more event; undefined once it is forgotten. */
export function evolve(
  testId: string,
  record: TestRecord | undefined,
  event: TestEvent,
): TestRecord | undefined {
  if (event.type === 'initialized') {
    assert(record === undefined, 'a test is initialized once')
    return {
      testId,
      version: 1,
      state: 'Setup',
      createdAt: event.at,
      updatedAt: event.at,
      ...(event.by !== undefined && { by: event.by }),
      priority: event.priority,
      deadlineAt: event.deadlineAt,
      exclusive: [],
      attempt: 0,
      evidence: 'none',
      files: [],
    }
  }
  assert(record !== undefined, 'a test begins by being initialized')
  if (event.type === 'forgotten') return undefined
  return { ...changed(record, event), version: record.version + 1, updatedAt: event.at }
}

export function fold(testId: string, events: Iterable<TestEvent>): TestRecord | undefined {
  let record: TestRecord | undefined
  for (const event of events) record = evolve(testId, record, event)
  return record
}

/** Whether it has to be looked after: it has not ended, or its evidence is not stored. */
export function isLive({ outcome, evidence }: TestRecord): boolean {
  return outcome === undefined || evidence === 'pending'
}

/** What went wrong as a record keeps it. */
export function errorOf(kind: string, { code, message, detail: { remedy } }: Fault): TestError {
  return { kind, code, message, ...(typeof remedy === 'string' && { remedy }) }
}

type Change = Exclude<TestEvent, Readonly<{ type: 'initialized' | 'forgotten' }>>

function changed(record: TestRecord, event: Change): TestRecord {
  switch (event.type) {
    case 'started': {
      const { options, place, at } = event
      const { priority, exclusive } = options
      const rest = without(record, 'deadlineAt')
      return {
        ...rest,
        state: 'Loading',
        start: options,
        place,
        priority,
        exclusive,
        requestedAt: at,
      }
    }
    case 'loaded':
      return { ...record, state: 'Loaded', exclusive: event.exclusive }
    case 'testing':
      return { ...record, state: 'Testing', attempt: event.attempt, startTime: event.at }
    case 'result-kept':
      return { ...record, result: event.result }
    case 'completed': {
      const { at, outcome, result, evidence, files } = event
      return { ...record, state: 'Completed', outcome, result, evidence, files, endTime: at }
    }
    case 'errored': {
      const { outcome, error, evidence, files } = event
      return { ...ended(record, event.at), outcome, error, evidence, files }
    }
    case 'cancelled':
      return { ...ended(record, event.at), outcome: 'cancelled', error: CANCELLED }
    case 'interrupted':
      return { ...ended(record, event.at), outcome: 'interrupted', error: INTERRUPTED }
    case 'requeued':
      return { ...again(record), state: 'Loading', place: event.place, evidence: 'none', files: [] }
    case 'extended':
      return record.state === 'Setup' ? { ...record, deadlineAt: event.deadlineAt } : record
    case 'evidence-stored':
      return { ...record, evidence: 'stored', files: event.files }
    case 'evidence-lost':
      return { ...record, evidence: 'lost' }
    default:
      return unreachable(event)
  }
}

const CANCELLED: TestError = {
  kind: 'test',
  code: 'cancelled',
  message: 'the test was cancelled',
}

const INTERRUPTED: TestError = {
  kind: 'test',
  code: 'interrupted',
  message: 'the server ended while the test ran',
}

/** Times of a test that never ran stay absent. */
function ended(record: TestRecord, at: number): TestRecord {
  const rest = without(record, 'deadlineAt')
  return { ...rest, state: 'Exception', ...(record.startTime !== undefined && { endTime: at }) }
}

/** As before its run: what came of an earlier one is in its history. */
function again(record: TestRecord): TestRecord {
  const { outcome: _o, startTime: _s, endTime: _e, result: _r, error: _x, ...rest } = record
  return rest
}

function without<K extends keyof TestRecord>(record: TestRecord, key: K): Omit<TestRecord, K> {
  const { [key]: _, ...rest } = record
  return rest
}
