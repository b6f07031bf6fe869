/**
 * Answers of a test to what it is asked in any state: its status, and what cannot be done in this one.
 *
 * Texts and fields are those that clients of earlier orchestrators know.
 */
import { fault, unreachable } from '../../std/index.ts'
import { ERROR_CHARS_MAX, FAILED_SCENARIOS_MAX } from '../limits.ts'
import type {
  Cancelled,
  ProbeFault,
  Standing,
  Started,
  StartRefusal,
  TestState,
  TestStatus,
} from '../protocol.ts'
import type { StartOptions, TestError, TestRecord } from '../record.ts'
import type { RunResult } from '../result.ts'
import type { Progress } from '../runner/runner.ts'
import type { Mask } from '../secrets/secrets.ts'

export function statusOf(
  record: TestRecord,
  standing: Standing = {},
  progress?: Progress,
): TestStatus {
  const { testId, state, outcome, createdAt, by, priority, start, attempt, evidence, files } =
    record
  const { startTime, endTime, result, error } = record
  return {
    testId,
    state,
    createdAt,
    priority,
    attempt,
    evidence,
    files,
    ...(outcome !== undefined && { outcome }),
    ...(by !== undefined && { by }),
    ...(start !== undefined && { bucket: start.bucket }),
    ...(start?.testType !== undefined && { testType: start.testType }),
    ...(startTime !== undefined && { startTime }),
    ...(endTime !== undefined && { endTime }),
    ...successOf(record),
    ...(error !== undefined && {
      error: error.message,
      errorKind: error.kind,
      errorCode: error.code,
      ...(error.remedy !== undefined && { errorRemedy: error.remedy }),
    }),
    ...(result !== undefined && { result }),
    ...(progress !== undefined && state === 'Testing' && { progress }),
    ...standing,
  }
}

/** A test that never ran has neither succeeded nor failed. */
function successOf({ outcome, startTime }: TestRecord): Pick<TestStatus, 'success'> {
  if (outcome === undefined || startTime === undefined) return {}
  return { success: outcome === 'passed' }
}

export function accepted(testId: string, options: StartOptions, standing: Standing): Started {
  const { testType } = options
  return {
    testId,
    accepted: true,
    message: 'Test loading initiated',
    ...(testType !== undefined && { testType }),
    ...standing,
  }
}

export function notAccepted(testId: string, reason: StartRefusal): Started {
  return { testId, accepted: false, reason, message: wordsOf(reason) }
}

function wordsOf(reason: StartRefusal): string {
  switch (reason) {
    case 'queue-full':
      return 'The queue is full, try again later'
    case 'draining':
      return 'The server is about to stop and takes no tests'
    case 'already-started':
      return 'Test was started before, with other options'
    case 'finished':
      return 'Test has ended, retry it or initialize another'
    case 'shutting-down':
      return 'Test is shutting down'
    case 'never-started':
      return 'Test was never started, there is nothing to retry'
    case 'not-finished':
      return 'Test has not ended, there is nothing to retry'
    case 'evidence-pending':
      return 'Evidence of the test is still to be stored, try again later'
    default:
      return unreachable(reason)
  }
}

/** A start of a test that was started before: the same one again is as good as the first. */
export function startedBefore(
  record: TestRecord,
  wanted: StartOptions,
  standing: Standing,
): Started {
  const { testId, start, outcome } = record
  if (start === undefined) return notAccepted(testId, 'finished')
  const isRepeated = wanted.requestId !== undefined && wanted.requestId === start.requestId
  if (isSame(start, wanted) && (isRepeated || outcome === undefined))
    return accepted(testId, start, standing)
  return notAccepted(testId, outcome === undefined ? 'already-started' : 'finished')
}

function isSame(a: StartOptions, b: StartOptions): boolean {
  return (
    a.bucket === b.bucket &&
    a.testType === b.testType &&
    a.tags === b.tags &&
    a.priority === b.priority &&
    a.isDryRun === b.isDryRun &&
    a.exclusive.length === b.exclusive.length &&
    a.exclusive.every((key, at) => key === b.exclusive[at])
  )
}

export function notCancelled({ testId, state, outcome }: TestRecord): Cancelled {
  if (outcome === 'cancelled') return { testId, cancelled: true }
  const message =
    state === 'Completed'
      ? 'Test already completed, cannot cancel'
      : 'Test in exception state, cleanup in progress'
  return { testId, cancelled: false, message }
}

export function notExtendable(testId: string, state: TestState): ProbeFault {
  return fault('not-extendable', `the test ${testId} is ${state} and has no deadline`, {
    testId,
    state,
    remedy: 'extend a test while it is set up, loaded or run',
  })
}

export function noSuchTest(testId: string): ProbeFault {
  return fault('no-such-test', `there is no test ${testId}`, {
    testId,
    remedy: 'initialize a test and use the id that was answered',
  })
}

/** Without any secret, and no longer than a record should be. */
export function errorInWords(mask: Mask | undefined, error: TestError): TestError {
  const { message, remedy } = error
  return {
    ...error,
    message: inWords(mask, message),
    ...(remedy !== undefined && { remedy: inWords(mask, remedy) }),
  }
}

export function resultInWords(mask: Mask | undefined, result: RunResult): RunResult {
  const { errorMessage, failedScenarios } = result
  return {
    ...result,
    ...(errorMessage !== undefined && { errorMessage: inWords(mask, errorMessage) }),
    failedScenarios: failedScenarios
      .slice(0, FAILED_SCENARIOS_MAX)
      .map(({ name, location, error }) => ({
        name: inWords(mask, name),
        location: inWords(mask, location),
        error: inWords(mask, error),
      })),
  }
}

function inWords(mask: Mask | undefined, text: string): string {
  return (mask?.text(text) ?? text).slice(0, ERROR_CHARS_MAX)
}
