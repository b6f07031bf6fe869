/**
 * What the routes of the orchestrator answer, and the schemas of it. Names have hyphens, times are
 * ISO 8601, and what is not known is left out.
 */
import { fields, json, list, type JsonSchema, type Reply } from '../../http/index.ts'
import { isoTime } from '../../std/index.ts'
import type { Probe } from '../probe.ts'
import type { Cancelled, QueueStatus, Started, TestStatus } from '../protocol.ts'
import type { EvidenceFile, TestEvent } from '../record.ts'
import type { RunResult } from '../result.ts'
import { START_REFUSALS, START_RETRY_AFTER_S, type Wall } from './refusing.ts'

/** What all routes of the orchestrator share. */
export type ProbeDesk = Readonly<{
  probe: Probe
  clock: Wall
  /** Bytes of an archive. */
  uploadBytesMax: number
}>

const TEXT: JsonSchema = { type: 'string' }
const WHOLE: JsonSchema = { type: 'integer' }
const FLAG: JsonSchema = { type: 'boolean' }
const TIME: JsonSchema = { type: 'string', format: 'date-time' }

export const initializedSchema: JsonSchema = fields({ 'test-id': TEXT, message: TEXT })

export const startedSchema: JsonSchema = fields({
  'test-id': TEXT,
  accepted: FLAG,
  'test-type?': TEXT,
  message: TEXT,
  'reason?': TEXT,
  'position?': WHOLE,
  'estimate-ms?': WHOLE,
})

/** Accepted or not; what is refused says so in both languages. */
export function startedReply(started: Started, clock: Wall): Reply {
  const { testId, accepted, testType, message, reason, position, estimateMs } = started
  const body = {
    'test-id': testId,
    accepted,
    ...(testType !== undefined && { 'test-type': testType }),
    message,
    ...(position !== undefined && { position }),
    ...(estimateMs !== undefined && { 'estimate-ms': estimateMs }),
  }
  if (reason === undefined) return json(202, body)
  const status = START_REFUSALS[reason]
  const refusal = { ...body, error: 'not_accepted', reason, timestamp: clock.now() }
  if (status === 409) return json(status, refusal)
  return json(
    status,
    { ...refusal, retryAfter: `${START_RETRY_AFTER_S}s` },
    { 'retry-after': String(START_RETRY_AFTER_S) },
  )
}

export const fileSchema: JsonSchema = fields({ name: TEXT, bytes: WHOLE, sha256: TEXT })

const resultSchema: JsonSchema = fields({
  passed: FLAG,
  'scenario-count': WHOLE,
  'scenarios-passed': WHOLE,
  'scenarios-failed': WHOLE,
  'scenarios-skipped': WHOLE,
  'step-count': WHOLE,
  'steps-passed': WHOLE,
  'steps-failed': WHOLE,
  'steps-skipped': WHOLE,
  'steps-undefined': WHOLE,
  'duration-millis': WHOLE,
  'error-message?': TEXT,
  'failed-scenarios': list(fields({ name: TEXT, location: TEXT, error: TEXT })),
})

export const statusSchema: JsonSchema = fields({
  'test-id': TEXT,
  state: TEXT,
  'outcome?': TEXT,
  'bucket?': TEXT,
  'test-type?': TEXT,
  'created-at': TIME,
  'by?': TEXT,
  priority: WHOLE,
  attempt: WHOLE,
  'start-time?': TIME,
  'end-time?': TIME,
  'success?': FLAG,
  'error?': TEXT,
  'error-kind?': TEXT,
  'error-code?': TEXT,
  'error-remedy?': TEXT,
  'result?': resultSchema,
  'progress?': fields({
    scenarios: WHOLE,
    'scenarios-done': WHOLE,
    'scenarios-failed': WHOLE,
    'step?': TEXT,
  }),
  evidence: TEXT,
  'position?': WHOLE,
  'estimate-ms?': WHOLE,
})

export function statusJson(status: TestStatus): object {
  const { createdAt, startTime, endTime, result, progress, files: _files, ...rest } = status
  return {
    ...hyphened(rest),
    'created-at': isoTime(createdAt),
    ...(startTime !== undefined && { 'start-time': isoTime(startTime) }),
    ...(endTime !== undefined && { 'end-time': isoTime(endTime) }),
    ...(result !== undefined && { result: resultJson(result) }),
    ...(progress !== undefined && { progress: hyphened(progress) }),
  }
}

function resultJson({ failedScenarios, ...counts }: RunResult): object {
  return { ...hyphened(counts), 'failed-scenarios': failedScenarios }
}

export const queueSchema: JsonSchema = fields({
  'total-tests': WHOLE,
  'setup-count': WHOLE,
  'loading-count': WHOLE,
  'loaded-count': WHOLE,
  'testing-count': WHOLE,
  'completed-count': WHOLE,
  'exception-count': WHOLE,
  'currently-testing?': TEXT,
  testing: list(TEXT),
  pending: WHOLE,
  slots: WHOLE,
  mode: TEXT,
  'test?': fields({ 'test-id': TEXT, state: TEXT, 'position?': WHOLE, 'estimate-ms?': WHOLE }),
})

export function queueJson({ test, ...counts }: QueueStatus): object {
  return { ...hyphened(counts), ...(test !== undefined && { test: hyphened(test) }) }
}

export const cancelledSchema: JsonSchema = fields({
  'test-id': TEXT,
  cancelled: FLAG,
  'message?': TEXT,
})

export function cancelledJson(cancelled: Cancelled): object {
  return hyphened(cancelled)
}

export const eventSchema: JsonSchema = fields({ type: TEXT, at: TIME })

export function eventJson({ at, ...event }: TestEvent): object {
  const times = 'deadlineAt' in event ? { 'deadline-at': isoTime(event.deadlineAt) } : {}
  return { ...hyphened(event), ...times, at: isoTime(at) }
}

export function fileJson({ name, bytes, sha256 }: EvidenceFile): object {
  return { name, bytes, sha256 }
}

/** The same facts under names with hyphens, at every depth; what is not there stays away. */
export function hyphened(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, of]) => of !== undefined)
      .map(([name, of]: [string, unknown]) => [
        name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
        isPlain(of) ? hyphened(of) : of,
      ]),
  )
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
