/**
 * Answers that several routes give: what was recorded, and pages of a list; and the schemas they are
 * documented with.
 */
import { json, type Answer, type Call, type JsonSchema, type Reply } from '../../http/index.ts'
import type { Clock, Fault } from '../../std/index.ts'
import type { Listed, Recorded, StockRefusal } from '../stock.ts'
import { refused } from './refusing.ts'

export type Wall = Pick<Clock, 'now'>

export const TEXT: JsonSchema = { type: 'string' }
export const NUMBER: JsonSchema = { type: 'number' }
export const WHOLE: JsonSchema = { type: 'integer' }
export const TIME: JsonSchema = { type: 'string', format: 'date-time' }

export function recordedAnswer(description: string, schema: JsonSchema): Answer {
  return {
    description,
    schema,
    headers: {
      ETag: 'the version of the pot after it, in quotes',
      'Consistency-Token': 'what a later read sends to see at least this write',
      'Idempotency-Replayed': 'true, where the request had been recorded before',
    },
  }
}

export const READ_HEADERS: Readonly<Record<string, string>> = {
  'Consistency-Token': 'what a later read sends to see at least as much',
}

/** A write that was granted, now or before, or the refusal of it. */
export function recorded(
  result: Recorded<object> | Fault<StockRefusal>,
  call: Pick<Call, 'url'>,
  clock: Wall,
  timeField: string,
): Reply {
  if (!result.ok) return refused(result, { url: call.url, now: clock.now(), field: timeField })
  const headers = { etag: etag(result.version), 'consistency-token': String(result.position) }
  return json(
    201,
    result.body,
    result.replayed ? { ...headers, 'idempotency-replayed': 'true' } : headers,
  )
}

export function etag(version: number): string {
  return `"${version}"`
}

export function consistency(position: number): Readonly<Record<string, string>> {
  return { 'consistency-token': String(position) }
}

/** One page under its name; `nextCursor` is missing on the last. */
export function paged(
  name: string,
  { items, next, position }: Omit<Listed<unknown>, 'ok'>,
  head: object = {},
): Reply {
  return json(
    200,
    { ...head, [name]: items, ...(next !== undefined && { nextCursor: next }) },
    consistency(position),
  )
}
