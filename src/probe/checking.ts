/** What can be asked of the orchestrator at all, before any actor hears of it. */
import { fault } from '../std/index.ts'
import { TAGS_REMEDY, tagsProblem } from './bundle/read-bundle.ts'
import {
  BUCKET_CHARS_MAX,
  EXCLUSIVE_CHARS_MAX,
  EXCLUSIVE_MAX,
  EXTEND_MS_MAX,
  LIST_TESTS_MAX,
  TAGS_CHARS_MAX,
  TEST_PRIORITY_MAX,
  TEST_REQUEST_ID_CHARS_MAX,
  TEST_TYPE_CHARS_MAX,
} from './limits.ts'
import type { InitializeOptions, ListTestsOptions, StartTestOptions } from './probe.ts'
import type { ProbeFault } from './protocol.ts'

/** No other text is the id of a test. */
export function isTestId(testId: string): boolean {
  return TEST_ID.test(testId)
}

export function badInitialize({
  requestId,
  priority,
  by,
}: InitializeOptions): ProbeFault | undefined {
  return (
    badText('requestId', requestId, TEST_REQUEST_ID_CHARS_MAX) ??
    badWhole('priority', priority, 0, TEST_PRIORITY_MAX) ??
    badText('by', by, TEST_TYPE_CHARS_MAX)
  )
}

export function badStart(options: StartTestOptions): ProbeFault | undefined {
  const { bucket, testType, tags, priority, exclusive = [], requestId } = options
  const refusal =
    badText('bucket', bucket, BUCKET_CHARS_MAX) ??
    badText('testType', testType, TEST_TYPE_CHARS_MAX) ??
    badText('tags', tags, TAGS_CHARS_MAX) ??
    badWhole('priority', priority, 0, TEST_PRIORITY_MAX) ??
    badText('requestId', requestId, TEST_REQUEST_ID_CHARS_MAX)
  if (refusal !== undefined) return refusal
  if (exclusive.length > EXCLUSIVE_MAX)
    return bad('exclusive', `has at most ${EXCLUSIVE_MAX} names`)
  for (const name of exclusive) {
    const badName = badText('exclusive', name, EXCLUSIVE_CHARS_MAX)
    if (badName !== undefined) return badName
  }
  return undefined
}

/** Before anything is written down: a run would only find it out at its turn. */
export async function badTags({
  tags,
}: Pick<StartTestOptions, 'tags'>): Promise<ProbeFault | undefined> {
  const problem = tags === undefined ? undefined : await tagsProblem(tags)
  if (problem === undefined) return undefined
  return fault('bad-test-request', `tags is no tag expression: ${problem}`, {
    field: 'tags',
    remedy: TAGS_REMEDY,
  })
}

export function badExtension(ms: number): ProbeFault | undefined {
  return badWhole('ms', ms, 1, EXTEND_MS_MAX)
}

export function badListing({ limit, text, after }: ListTestsOptions): ProbeFault | undefined {
  return (
    badWhole('limit', limit, 1, LIST_TESTS_MAX) ??
    badText('text', text, TEST_TYPE_CHARS_MAX) ??
    badText('after', after, TEST_REQUEST_ID_CHARS_MAX)
  )
}

const TEST_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/

function badText(
  field: string,
  given: string | undefined,
  charsMax: number,
): ProbeFault | undefined {
  if (given === undefined) return undefined
  if (given.trim() === '') return bad(field, 'is not blank')
  if (given.length > charsMax) return bad(field, `has at most ${charsMax} characters`)
  if (given.includes('\0') || !given.isWellFormed()) return bad(field, 'is text, without NUL')
  return undefined
}

function badWhole(
  field: string,
  given: number | undefined,
  least: number,
  most: number,
): ProbeFault | undefined {
  if (given === undefined) return undefined
  if (Number.isInteger(given) && given >= least && given <= most) return undefined
  return bad(field, `is a whole number from ${least} to ${most}`)
}

function bad(field: string, rule: string): ProbeFault {
  return fault('bad-test-request', `${field} ${rule}`, {
    field,
    remedy: `give a ${field} that ${rule}`,
  })
}
