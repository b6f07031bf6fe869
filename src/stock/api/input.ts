/**
 * What the stock API reads: ids, quantities and times as they are kept, and the headers that go with
 * a write or a read.
 *
 * A value that is read here satisfies what `Stock` asks of its callers, so nothing behind the routes
 * checks it again.
 */
import {
  custom,
  mayDo,
  optional,
  shape,
  text,
  whole,
  type Call,
  type Principal,
  type RawParams,
  type Shape,
} from '../../http/index.ts'
import { fault, traceparentOf, type Fault } from '../../std/index.ts'
import {
  ID_ENCODED_CHARS_MAX,
  isId,
  isRequestId,
  potPlace,
  REQUEST_ID_CHARS_MAX,
} from '../names.ts'
import { MOVE_REASONS, type MoveReason } from '../pot.ts'
import {
  isNegative,
  isPositive,
  QUANTITY_DECIMALS_MAX,
  QUANTITY_MAX,
  quantityOf,
  type Quantity,
} from '../quantity.ts'
import { STOCK_LIST_DEFAULT, STOCK_LIST_MAX } from '../reading.ts'
import type { By, StockPage } from '../stock.ts'
import { timeOf } from '../time.ts'

/** Characters of a cursor. */
const CURSOR_CHARS_MAX = 1_024

export const id: Shape<string> = custom({
  schema: { type: 'string', minLength: 1, maxLength: ID_ENCODED_CHARS_MAX },
  expected: `an id: not blank, at most ${ID_ENCODED_CHARS_MAX} characters when percent-encoded`,
  read: (value) => (typeof value === 'string' && isId(value) ? value : undefined),
})

export const requestId: Shape<string> = custom({
  schema: { type: 'string', minLength: 1, maxLength: REQUEST_ID_CHARS_MAX },
  expected: `a request id: not blank, at most ${REQUEST_ID_CHARS_MAX} characters`,
  read: (value) => (typeof value === 'string' && isRequestId(value) ? value : undefined),
})

export const amount: Shape<Quantity> = quantity('above 0', isPositive)
export const counted: Shape<Quantity> = quantity('of 0 or more', (it) => !isNegative(it))

/** ISO-8601; without an offset it is UTC. */
export const time: Shape<number> = custom({
  schema: { type: 'string', format: 'date-time', examples: ['2026-01-15T10:00:00Z'] },
  expected: 'a time as in ISO 8601, with an offset or in UTC',
  read: timeOf,
})

/** Upper and lower case are the same. */
export const moveReason: Shape<MoveReason> = custom({
  schema: { type: 'string', enum: MOVE_REASONS },
  expected: `one of ${MOVE_REASONS.join(', ')}`,
  read: (value) =>
    typeof value === 'string'
      ? MOVE_REASONS.find((reason) => reason === value.toLowerCase())
      : undefined,
})

export const cursor: Shape<string> = custom({
  schema: { type: 'string', minLength: 1, maxLength: CURSOR_CHARS_MAX },
  expected: 'the nextCursor of the page before',
  read: (value) =>
    typeof value === 'string' && value !== '' && value.length <= CURSOR_CHARS_MAX
      ? value
      : undefined,
})

export const position: Shape<number> = whole(0, Number.MAX_SAFE_INTEGER)

type PageQuery = Readonly<{ cursor?: string; limit: number }>

export const page: Shape<PageQuery> = shape({
  cursor: optional(cursor),
  limit: optional(whole(1, STOCK_LIST_MAX), STOCK_LIST_DEFAULT),
})

export function pageOf({ cursor: after, limit }: PageQuery): Omit<StockPage, 'seen'> {
  return after === undefined ? { limit } : { limit, after }
}

/** The key of a pot; whether there is such a pot is for the stock to say. */
export const key: Shape<string> = text({ min: 1, max: 2 * ID_ENCODED_CHARS_MAX + 1 })

/** Where the pot with that key is; a key of no pot is nowhere. */
export function placesOfPot(params: RawParams): readonly string[] {
  const locationId = potPlace(params['key'] ?? '')?.locationId
  return locationId === undefined ? [] : [locationId]
}

type Headed = Pick<Call, 'headers' | 'principal' | 'trace'>

/** Who writes, and on which version: `If-Match` carries the `ETag` of a read. */
export function byOf(call: Headed): By | Fault<'bad-input'> {
  const by = { actor: call.principal.subject, trace: traceparentOf(call.trace) }
  const condition = call.headers['if-match']
  if (condition === undefined || condition.trim() === '*') return by
  const expected = /^\s*"(\d{1,15})"\s*$/.exec(condition)?.[1]
  if (expected === undefined) return badHeader('If-Match', 'one ETag of a level, or *')
  return { ...by, expected: Number(expected) }
}

/** What the reader has seen: `Consistency-Token` carries that of a write or of another read. */
export function seenOf(call: Headed): Readonly<{ seen?: number }> | Fault<'bad-input'> {
  const token = call.headers['consistency-token']
  if (token === undefined) return {}
  return /^\d{1,15}$/.test(token)
    ? { seen: Number(token) }
    : badHeader('Consistency-Token', 'the Consistency-Token of an answer')
}

/** Whether a principal may see or touch these places; one without places may everywhere. */
export function isInScope({ places }: Principal, ...locationIds: readonly string[]): boolean {
  return places === undefined || locationIds.every((locationId) => places.includes(locationId))
}

export function outOfScope(locationId: string): Fault<'out-of-scope'> {
  return fault('out-of-scope', 'the caller may do this, but not at this place', {
    places: [locationId],
    remedy: 'use a place that the token names',
  })
}

/** The permission to send stock to places outside of one's own. */
export const DISPATCH = 'stock:movement:dispatch'

export function mayDispatch(principal: Principal, destinationLocationId: string): boolean {
  return isInScope(principal, destinationLocationId) || mayDo(principal, DISPATCH)
}

function quantity(bounds: string, isAllowed: (it: Quantity) => boolean): Shape<Quantity> {
  return custom({
    schema: {
      oneOf: [
        { type: 'number', minimum: 0, maximum: QUANTITY_MAX },
        { type: 'string', pattern: String.raw`^\d{1,16}(\.\d{1,${QUANTITY_DECIMALS_MAX}})?$` },
      ],
    },
    expected: `a decimal ${bounds}, at most ${QUANTITY_MAX}, with at most ${QUANTITY_DECIMALS_MAX} decimals`,
    read(value) {
      const read = quantityOf(value)
      return read !== undefined && isAllowed(read) ? read : undefined
    },
  })
}

function badHeader(name: string, expected: string): Fault<'bad-input'> {
  return fault('bad-input', 'the request has a header that is wrong', {
    missing: [],
    invalid: [name],
    expected: { [name]: expected },
    remedy: 'send what is expected of the header, or leave it out',
  })
}
