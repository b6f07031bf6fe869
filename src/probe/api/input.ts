/** What the routes of the orchestrator read. Names in bodies have hyphens, as its clients know them. */
import { flag, listOf, oneOf, optional, shape, text, whole, type Shape } from '../../http/index.ts'
import {
  BUCKET_CHARS_MAX,
  EXCLUSIVE_CHARS_MAX,
  EXCLUSIVE_MAX,
  EXTEND_MS_MAX,
  LIST_TESTS_DEFAULT,
  LIST_TESTS_MAX,
  TAGS_CHARS_MAX,
  TEST_PRIORITY_MAX,
  TEST_REQUEST_ID_CHARS_MAX,
  TEST_TYPE_CHARS_MAX,
} from '../limits.ts'

/** Something besides blanks, and no NUL. */
const FILLED = /^[^\0]*[^\s\0][^\0]*$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

const testId: Shape<string> = text({ min: 36, max: 36, pattern: UUID })
const testType: Shape<string> = text({ min: 1, max: TEST_TYPE_CHARS_MAX, pattern: FILLED })
const requestId: Shape<string> = text({ min: 1, max: TEST_REQUEST_ID_CHARS_MAX, pattern: FILLED })
const priority: Shape<number> = whole(0, TEST_PRIORITY_MAX)

export const testParams: Shape<Readonly<{ testId: string }>> = shape({ testId })
export const fileParams: Shape<Readonly<{ testId: string; name: string }>> = shape({
  testId,
  name: text({ min: 1, max: 255, pattern: FILLED }),
})

export const initializeBody: Shape<Readonly<{ 'request-id'?: string; priority?: number }>> =
  optional(shape({ 'request-id': optional(requestId), priority: optional(priority) }), {})

export type StartBody = Readonly<{
  'test-id': string
  'block-storage-path': string
  'test-type'?: string
  tags?: string
  priority?: number
  exclusive?: readonly string[]
  'dry-run'?: boolean
  'request-id'?: string
}>

export const startBody: Shape<StartBody> = shape({
  'test-id': testId,
  'block-storage-path': text({ min: 1, max: BUCKET_CHARS_MAX, pattern: FILLED }),
  'test-type': optional(testType),
  tags: optional(text({ min: 1, max: TAGS_CHARS_MAX, pattern: FILLED })),
  priority: optional(priority),
  exclusive: optional(
    listOf(text({ min: 1, max: EXCLUSIVE_CHARS_MAX, pattern: FILLED }), { max: EXCLUSIVE_MAX }),
  ),
  'dry-run': optional(flag()),
  'request-id': optional(requestId),
})

export const queueQuery: Shape<Readonly<{ testId?: string }>> = shape({ testId: optional(testId) })

export const extendBody: Shape<Readonly<{ ms: number }>> = shape({ ms: whole(1, EXTEND_MS_MAX) })

export const modeBody: Shape<Readonly<{ mode: 'open' | 'paused' | 'draining' }>> = shape({
  mode: oneOf(['open', 'paused', 'draining']),
})

export type ListQuery = Readonly<{
  state?: 'Setup' | 'Loading' | 'Loaded' | 'Testing' | 'Completed' | 'Exception'
  outcome?: 'passed' | 'failed' | 'errored' | 'cancelled' | 'timed-out' | 'interrupted'
  'test-type'?: string
  text?: string
  after?: string
  limit: number
}>

export const listQuery: Shape<ListQuery> = shape({
  state: optional(oneOf(['Setup', 'Loading', 'Loaded', 'Testing', 'Completed', 'Exception'])),
  outcome: optional(
    oneOf(['passed', 'failed', 'errored', 'cancelled', 'timed-out', 'interrupted']),
  ),
  'test-type': optional(testType),
  text: optional(text({ min: 1, max: 256, pattern: FILLED })),
  after: optional(text({ min: 1, max: 256 })),
  limit: optional(whole(1, LIST_TESTS_MAX), LIST_TESTS_DEFAULT),
})

export const eventsQuery: Shape<Readonly<{ after?: number; testId?: string; limit?: number }>> =
  shape({
    after: optional(whole(0, Number.MAX_SAFE_INTEGER)),
    testId: optional(testId),
    limit: optional(whole(1, Number.MAX_SAFE_INTEGER)),
  })
