/** What all routes of the queues read: which queue is meant, pages, tags; and how shapes are put together here. */
import {
  custom,
  flag,
  listOf,
  oneOf,
  optional,
  shape,
  text,
  whole,
  type Shape,
} from '../../http/index.ts'
import type { QueueName } from '../broker.ts'
import { QUEUE_TAGS_MAX } from '../limits.ts'
import { BROWSE_DEFAULT, BROWSE_MAX, ownQueue, type QueuePlace } from '../own-queues.ts'

/** Characters of a name, a text to look for and the like; what a queue may be called is for the broker to say. */
export const WORD_CHARS_MAX = 256
/** Characters of a receipt, and of the name of a task. */
export const HANDLE_CHARS_MAX = 1_024

export const word: Shape<string> = text({ min: 1, max: WORD_CHARS_MAX })
const place = { account: optional(word), region: optional(word) }

export const ms = (max: number): Shape<number> => whole(0, max)

export type PlaceQuery = Readonly<{ account?: string; region?: string }>

/** For routes that have no query of their own. */
export const placeQuery: Shape<PlaceQuery> = shape(place)

export const queueParams: Shape<Readonly<{ queue: string }>> = shape({ queue: word })
export const messageParams: Shape<Readonly<{ queue: string; messageId: string }>> = shape({
  queue: word,
  messageId: word,
})
export const taskParams: Shape<Readonly<{ queue: string; task: string }>> = shape({
  queue: word,
  task: text({ min: 1, max: HANDLE_CHARS_MAX }),
})

export function placeOf({ account, region }: PlaceQuery, home: QueuePlace): QueuePlace {
  return { account: account ?? home.account, region: region ?? home.region }
}

export function queueAt(
  { params, query }: Readonly<{ params: Readonly<{ queue: string }>; query: PlaceQuery }>,
  home: QueuePlace,
): QueueName {
  return ownQueue(params.queue, placeOf(query, home))
}

export const listQuery: Shape<
  PlaceQuery & Readonly<{ prefix?: string; after?: string; limit: number; stats: boolean }>
> = shape({
  ...place,
  prefix: optional(word),
  after: optional(word),
  limit: optional(whole(1, BROWSE_MAX), BROWSE_DEFAULT),
  stats: optional(flag(), false),
})

export const browseQuery: Shape<
  PlaceQuery &
    Readonly<{
      state?: 'ready' | 'delayed' | 'leased'
      search?: string
      after?: number
      limit: number
    }>
> = shape({
  ...place,
  state: optional(oneOf(['ready', 'delayed', 'leased'])),
  search: optional(word),
  after: optional(whole(0, Number.MAX_SAFE_INTEGER)),
  limit: optional(whole(1, BROWSE_MAX), BROWSE_DEFAULT),
})

export const purgeQuery: Shape<PlaceQuery & Readonly<{ includeLeased: boolean }>> = shape({
  ...place,
  includeLeased: optional(flag(), false),
})

export const tags: Shape<Readonly<Record<string, string>>> = custom({
  schema: {
    type: 'object',
    additionalProperties: { type: 'string' },
    maxProperties: QUEUE_TAGS_MAX,
  },
  expected: `at most ${QUEUE_TAGS_MAX} tags, each a text of at most ${WORD_CHARS_MAX} characters`,
  read(value) {
    const entries = entriesOf(value, QUEUE_TAGS_MAX)
    const read = entries?.map(([name, tag]) => [name, textWithin(tag)] as const)
    if (read === undefined || read.some(([, tag]) => tag === undefined)) return undefined
    return Object.fromEntries(read.map(([name, tag]) => [name, tag ?? '']))
  },
})

export const tagNames: Shape<readonly string[]> = listOf(word, { max: QUEUE_TAGS_MAX })

export function entriesOf(value: unknown, max: number): [string, unknown][] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const entries = Object.entries(value)
  const areNames = entries.every(([name]) => name !== '' && name.length <= WORD_CHARS_MAX)
  return areNames && entries.length <= max ? entries : undefined
}

export function textWithin(value: unknown): string | undefined {
  const isText = typeof value === 'string' && value.length <= WORD_CHARS_MAX && value.isWellFormed()
  return isText ? value : undefined
}

/** The shape, and what is made of it; `wrong` names a field of it. */
export function mapped<T, U>(
  of: Shape<T>,
  make: (read: T, wrong: (field: string, expected: string) => undefined) => U | undefined,
): Shape<U> {
  return {
    isOptional: of.isOptional,
    schema: of.schema,
    read(value, path, issues) {
      const read = of.read(value, path, issues)
      if (read === undefined) return undefined
      return make(read, (field, expected) => {
        issues.push({
          path: path === '' ? field : `${path}.${field}`,
          problem: 'invalid',
          expected,
        })
        return undefined
      })
    },
  }
}
