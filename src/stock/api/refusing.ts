/**
 * Refusals on the wire: which status and which word each has, and how its body looks.
 *
 * A body is problem+json whose `status` is a word (`InsufficientStock`), the number being in the
 * status line; `missingFields` and `invalidValues` name what is wrong with the input. The table is
 * complete by type, and the documentation of every route is made from it.
 */
import { problem, type Answer, type JsonSchema, type Reply } from '../../http/index.ts'
import { PRODUCT, type Fault } from '../../std/index.ts'
import type { StockReadRefusal, StockRefusal } from '../stock.ts'
import type { RegistryRefusal } from '../locations/registry.ts'

/** What the http layer refuses before a route is asked. */
type HttpRefusal =
  | 'bad-input'
  | 'bad-json'
  | 'unauthenticated'
  | 'forbidden'
  | 'out-of-scope'
  | 'body-too-large'
  | 'unsupported-media-type'
  | 'header-too-large'
  | 'too-many-connections'
  | 'answer-overdue'
  | 'draining'
  | 'internal'

export type WireCode = StockRefusal | StockReadRefusal | RegistryRefusal | HttpRefusal

type Wire = Readonly<{
  status: number
  word: string
  when: string
  /** Seconds after which to try again, where nothing says when. */
  retryAfterS?: number
}>

const WIRE: Readonly<Record<WireCode, Wire>> = {
  'bad-input': { status: 400, word: 'BadRequest', when: 'fields are missing or wrong' },
  'bad-json': { status: 400, word: 'BadRequest', when: 'the body is not JSON' },
  'insufficient-stock': { status: 400, word: 'InsufficientStock', when: 'less is there' },
  'same-location': { status: 400, word: 'SameLocation', when: 'a move ends where it begins' },
  'location-not-tracked': {
    status: 400,
    word: 'LocationNotTracked',
    when: 'no stock is kept there, nor at any location above it',
  },
  'books-closed': { status: 400, word: 'BooksClosed', when: 'that time is closed' },
  'in-the-future': { status: 400, word: 'BadRequest', when: 'that time is yet to come' },
  'bad-cursor': { status: 400, word: 'BadRequest', when: 'the cursor is not one of ours' },
  'no-such-version': { status: 400, word: 'BadRequest', when: 'the pot had no such version' },
  unauthenticated: { status: 401, word: 'Unauthorized', when: 'the token is missing or not valid' },
  forbidden: { status: 403, word: 'PermissionDenied', when: 'the permission is missing' },
  'out-of-scope': { status: 403, word: 'PermissionDenied', when: 'the location is out of scope' },
  'location-not-found': {
    status: 404,
    word: 'LocationNotFound',
    when: 'there is no such location',
  },
  'no-such-request': {
    status: 404,
    word: 'RequestNotFound',
    when: 'no such request is remembered',
  },
  'no-such-move': { status: 404, word: 'MoveNotFound', when: 'there is no such move' },
  'no-such-pot': { status: 404, word: 'PotNotFound', when: 'the key is that of no pot' },
  'request-mismatch': {
    status: 409,
    word: 'IdempotencyContentMismatch',
    when: 'the request id was used for something else',
  },
  'location-cycle': { status: 409, word: 'LocationCycle', when: 'it would be inside itself' },
  'location-exists': { status: 409, word: 'LocationExists', when: 'there is one already' },
  'too-deep': { status: 409, word: 'LocationTooDeep', when: 'it would be nested too deep' },
  'too-many-locations': {
    status: 409,
    word: 'TooManyLocations',
    when: 'there is room for no more',
  },
  'version-mismatch': { status: 412, word: 'VersionMismatch', when: 'If-Match is out of date' },
  'body-too-large': { status: 413, word: 'PayloadTooLarge', when: 'the body is too large' },
  'unsupported-media-type': {
    status: 415,
    word: 'UnsupportedMediaType',
    when: 'the body is not application/json',
  },
  'header-too-large': { status: 431, word: 'HeadersTooLarge', when: 'there are too many headers' },
  'history-too-long': { status: 422, word: 'HistoryTooLong', when: 'there is too much to fold' },
  overloaded: { status: 429, word: 'Overloaded', when: 'too much waits', retryAfterS: 1 },
  internal: { status: 500, word: 'InternalError', when: 'something broke; traceId finds it' },
  'upstream-unavailable': {
    status: 502,
    word: 'UpstreamServiceUnavailable',
    when: 'the locations cannot be asked',
  },
  'view-behind': { status: 503, word: 'ReadBehind', when: 'not there yet', retryAfterS: 1 },
  'shutting-down': { status: 503, word: 'ShuttingDown', when: 'the server ends', retryAfterS: 5 },
  'too-many-connections': {
    status: 503,
    word: 'Overloaded',
    when: 'the server has no connection left',
    retryAfterS: 5,
  },
  'answer-overdue': {
    status: 503,
    word: 'AnswerOverdue',
    when: 'it took too long; the request may be recorded',
    retryAfterS: 5,
  },
  draining: { status: 503, word: 'ShuttingDown', when: 'the server ends', retryAfterS: 5 },
  'pot-unavailable': {
    status: 503,
    word: 'PotUnavailable',
    when: 'the pot cannot be brought back',
    retryAfterS: 1,
  },
}

export type Refusing = Readonly<{
  /** The call that is refused, as it was sent. */
  url: string
  now: number
  /** The field that carries the time of effect. */
  timeField?: string
}>

/** The answer to a call that the stock or a location refuses. */
export function refused(refusal: Fault<WireCode>, about: Refusing): Reply {
  const { status, word, retryAfterS } = WIRE[refusal.code]
  const { redirect, retryAtMs } = refusal.detail
  if (refusal.code === 'location-not-tracked' && typeof redirect === 'string')
    return problem(303, refusal, { status: word }, { location: movedTo(about.url, redirect) })
  const afterS =
    typeof retryAtMs === 'number' ? Math.ceil((retryAtMs - about.now) / 1_000) : retryAfterS
  return problem(
    status,
    withoutPaths(refusal),
    { status: word, ...pathsOf(refusal, about) },
    afterS === undefined ? {} : { 'retry-after': String(Math.max(afterS, 1)) },
  )
}

/** The answer to a call that the http layer refuses, or that ended in an accident. */
export function refuse(refusal: Fault, status: number): Reply {
  const word = isWireCode(refusal.code) ? WIRE[refusal.code].word : (WORDS[status] ?? 'Failed')
  return problem(status, withoutPaths(refusal), { status: word, ...pathsOf(refusal, {}) })
}

/** What a route may answer besides success, by status: the refusals of all these codes. */
export function refusals(...codes: readonly WireCode[]): Readonly<Record<number, Answer>> {
  const byStatus = Map.groupBy(codes, (code) => WIRE[code].status)
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]): [number, Answer] => [
      status,
      {
        description: ofStatus.map((code) => `${WIRE[code].word}: ${WIRE[code].when}`).join('; '),
        schema: problemSchema(ofStatus),
        ...(ofStatus.some((code) => WIRE[code].retryAfterS !== undefined) && {
          headers: { 'Retry-After': 'seconds after which to try again' },
        }),
      },
    ]),
  )
}

/** What every route that is not open may answer, whatever it does. */
export const ALWAYS: readonly WireCode[] = [
  'bad-input',
  'unauthenticated',
  'forbidden',
  'header-too-large',
  'internal',
  'too-many-connections',
  'answer-overdue',
  'draining',
]

/** What every route that records something may answer. */
export const WRITING: readonly WireCode[] = [
  ...ALWAYS,
  'bad-json',
  'location-not-tracked',
  'books-closed',
  'in-the-future',
  'out-of-scope',
  'location-not-found',
  'request-mismatch',
  'version-mismatch',
  'body-too-large',
  'unsupported-media-type',
  'overloaded',
  'upstream-unavailable',
  'shutting-down',
  'pot-unavailable',
]

/** What every route that reads from the projection or from history may answer. */
export const READING: readonly WireCode[] = [
  ...ALWAYS,
  'out-of-scope',
  'overloaded',
  'view-behind',
  'shutting-down',
  'pot-unavailable',
]

/** What every route that looks a location up may answer. */
export const LOOKING: readonly WireCode[] = [
  ...ALWAYS,
  'out-of-scope',
  'location-not-found',
  'upstream-unavailable',
]

export const LOCATION_NOT_TRACKED: Answer = {
  description: 'LocationNotTracked: stock is kept at a location above; repeat the request there',
  schema: problemSchema(['location-not-tracked']),
  headers: { Location: 'the same path at the nearest tracked location above' },
  contentType: 'application/problem+json',
}

// What an accident of a layer below is called.
const WORDS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  404: 'NotFound',
  429: 'Overloaded',
  500: 'InternalError',
  503: 'RepositoryFailure',
}

function movedTo(url: string, locationId: string): string {
  return url.replace(/^\/locations\/[^/?]*/, `/locations/${encodeURIComponent(locationId)}`)
}

function pathsOf(
  { code, detail }: Fault,
  { timeField }: Pick<Refusing, 'timeField'>,
): Readonly<{ missingFields?: readonly string[]; invalidValues?: readonly string[] }> {
  const [missing, invalid] = [detail['missing'], invalidPaths(code, detail['invalid'], timeField)]
  return {
    ...(code === 'bad-input' && isFilled(missing) && { missingFields: missing }),
    ...(isFilled(invalid) && { invalidValues: invalid }),
  }
}

function invalidPaths(code: string, invalid: unknown, timeField: string | undefined): unknown {
  switch (code) {
    case 'bad-input':
      return invalid
    case 'in-the-future':
    case 'books-closed':
      return timeField === undefined ? [] : [timeField]
    case 'bad-cursor':
      return ['cursor']
    case 'no-such-version':
      return ['between']
    default:
      return []
  }
}

function isFilled(paths: unknown): paths is readonly string[] {
  return Array.isArray(paths) && paths.length > 0
}

// The paths are there already under the names that callers know.
function withoutPaths(refusal: Fault): Fault {
  if (refusal.code !== 'bad-input') return refusal
  const { missing: _missing, invalid: _invalid, ...detail } = refusal.detail
  return { ...refusal, detail }
}

function isWireCode(code: string): code is WireCode {
  return Object.hasOwn(WIRE, code)
}

function problemSchema(codes: readonly WireCode[]): JsonSchema {
  const paths = { type: 'array', items: { type: 'string' } }
  const text = { type: 'string' }
  return {
    type: 'object',
    properties: {
      status: { type: 'string', enum: [...new Set(codes.map((code) => WIRE[code].word))] },
      missingFields: paths,
      invalidValues: paths,
      type: text,
      title: text,
      detail: text,
      code: { type: 'string', enum: codes },
      traceId: text,
    },
    required: ['status', 'type', 'title', 'detail', 'code'],
    examples: codes.map(exampleOf),
  }
}

function exampleOf(code: WireCode): JsonSchema {
  const title = code.replaceAll('-', ' ')
  return {
    status: WIRE[code].word,
    ...(code === 'bad-input' && { missingFields: ['requestId'], invalidValues: ['quantity'] }),
    ...(code === 'request-mismatch' && { fields: ['quantity'] }),
    type: `urn:${PRODUCT}:fault:${code}`,
    title: title.charAt(0).toUpperCase() + title.slice(1),
    detail: WIRE[code].when,
    code,
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  }
}
