/**
 * Refusals of the test orchestrator on the wire.
 *
 * Its clients know a body of their own: `error` is a word, `message` is for people, `details` has the
 * facts, `timestamp` is in milliseconds. The table is complete by type; the documentation of every
 * route is made of it.
 */
import type { Answer, JsonSchema, Reply } from '../../http/index.ts'
import type { Clock, Fault } from '../../std/index.ts'
import type { ProbeFaultCode, StartRefusal } from '../protocol.ts'

export type Wall = Pick<Clock, 'now'>

type Wire = Readonly<{ status: number; error: string; when: string; retryAfterS?: number }>

export const PROBE_REFUSALS: Readonly<Record<ProbeFaultCode, Wire>> = {
  'bad-test-request': {
    status: 400,
    error: 'validation_error',
    when: 'a test cannot be told that',
  },
  'no-such-test': { status: 404, error: 'not_found', when: 'there is no such test' },
  'no-such-evidence': { status: 404, error: 'not_found', when: 'there is no such file' },
  'request-mismatch': {
    status: 409,
    error: 'conflict',
    when: 'the request id was used for something else',
  },
  'not-extendable': { status: 409, error: 'conflict', when: 'nothing waits for an end' },
  'probe-overloaded': {
    status: 429,
    error: 'rate_limit_exceeded',
    when: 'too many tests are there',
    retryAfterS: 5,
  },
  'probe-draining': {
    status: 503,
    error: 'service_unavailable',
    when: 'no test is admitted any more',
    retryAfterS: 30,
  },
  'probe-unavailable': {
    status: 503,
    error: 'not_ready',
    when: 'the queue is being brought back',
    retryAfterS: 5,
  },
  'probe-closed': {
    status: 503,
    error: 'service_unavailable',
    when: 'the server ends',
    retryAfterS: 30,
  },
  'test-crashed': {
    status: 503,
    error: 'service_unavailable',
    when: 'the test broke',
    retryAfterS: 1,
  },
  'unknown-outcome': {
    status: 504,
    error: 'actor_timeout',
    when: 'nobody knows whether it took effect',
  },
}

/** Why a start is not accepted, by status: what may change by itself may be tried again. */
export const START_REFUSALS: Readonly<Record<StartRefusal, number>> = {
  'queue-full': 429,
  draining: 503,
  'shutting-down': 503,
  'already-started': 409,
  finished: 409,
  'never-started': 409,
  'not-finished': 409,
  'evidence-pending': 409,
}
export const START_RETRY_AFTER_S = 30

/** Words for what the http layer refuses, by code and otherwise by status. */
const ERRORS: Readonly<Record<string, string>> = {
  'bad-json': 'bad_request',
  'answer-overdue': 'timeout',
  400: 'bad_request',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  408: 'timeout',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  429: 'rate_limit_exceeded',
  500: 'internal_server_error',
  503: 'service_unavailable',
}

/** The answer to a call that the orchestrator refuses. */
export function refused(refusal: Fault<ProbeFaultCode>, clock: Wall): Reply {
  const { status, error, retryAfterS } = PROBE_REFUSALS[refusal.code]
  return bodyOf(
    { status, error, ...(retryAfterS !== undefined && { retryAfterS }) },
    refusal,
    clock,
  )
}

/** What an archive can be refused for; other faults are those of any call. */
const UPLOAD_STATUSES: Readonly<Record<string, number>> = {
  'bundle-file-refused': 400,
  'bad-storage-path': 400,
  'upload-busy': 409,
  'bundle-not-wanted': 409,
  'bundle-too-large': 413,
  'storage-unavailable': 503,
}

export function refusedUpload(refusal: Fault, clock: Wall): Reply {
  if (isProbeFault(refusal)) return refused(refusal, clock)
  return refusing(clock)(refusal, UPLOAD_STATUSES[refusal.code] ?? 500)
}

function isProbeFault(refusal: Fault): refusal is Fault<ProbeFaultCode> {
  return Object.hasOwn(PROBE_REFUSALS, refusal.code)
}

/** The answer to a call that the http layer refuses, or that ended in an accident. */
export function refusing(clock: Wall): (refusal: Fault, status: number) => Reply {
  return (refusal, status) => {
    if (breaksRule(refusal))
      return bodyOf(
        { status, error: 'validation_error' },
        { ...refusal, message: 'Request validation failed' },
        clock,
      )
    const error = ERRORS[refusal.code] ?? ERRORS[status] ?? 'internal_server_error'
    return bodyOf({ status, error, ...(status === 503 && { retryAfterS: 30 }) }, refusal, clock)
  }
}

/** Everything is there and ids are ids, but a value is none that the field takes. */
function breaksRule({ code, detail: { missing, invalid } }: Fault): boolean {
  if (code !== 'bad-input' || !Array.isArray(missing) || !Array.isArray(invalid)) return false
  return missing.length === 0 && !invalid.some((field) => IDS.has(field))
}

const IDS: ReadonlySet<unknown> = new Set(['test-id', 'testId', '']) // and what is no object at all

/** What a route that can meet these answers with. */
export function refusals(...codes: readonly ProbeFaultCode[]): Readonly<Record<number, Answer>> {
  const all = [...codes, ...ALWAYS]
  return Object.fromEntries(
    [...Map.groupBy(all, (code) => PROBE_REFUSALS[code].status)].map(([status, those]) => [
      status,
      {
        description: those.map((code) => `${code}: ${PROBE_REFUSALS[code].when}`).join('; '),
        schema: ERROR_SCHEMA,
        contentType: 'application/json',
      },
    ]),
  )
}

export const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    error: { type: 'string' },
    message: { type: 'string' },
    code: { type: 'string' },
    details: { type: 'object' },
    retryAfter: { type: 'string' },
    timestamp: { type: 'integer' },
  },
  required: ['error', 'message', 'code', 'timestamp'],
}

const ALWAYS: readonly ProbeFaultCode[] = ['probe-unavailable', 'probe-closed', 'unknown-outcome']

function bodyOf(
  { status, error, retryAfterS }: Readonly<{ status: number; error: string; retryAfterS?: number }>,
  { code, message, detail }: Fault,
  clock: Wall,
): Reply {
  return {
    status,
    headers: {
      'content-type': 'application/json',
      ...(retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }),
    },
    body: {
      error,
      message,
      code,
      ...(Object.keys(detail).length > 0 && { details: detail }),
      ...(retryAfterS !== undefined && { retryAfter: `${retryAfterS}s` }),
      timestamp: clock.now(),
    },
  }
}
