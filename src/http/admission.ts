/**
 * Whether a request may come in: limits, authentication, permission, places, and the kind of body, in
 * that order and before a byte of the body is read.
 */
import type { IncomingMessage } from 'node:http'

import { fault, isFault, type Fault } from '../std/index.ts'
import { ANYBODY, patternsOf, type Authenticator, type Principal } from './auth.ts'
import type { HttpLimits } from './limits.ts'
import type { RawParams, Route } from './route.ts'

/** What a route asks of a request, worked out once. */
export type Gate = Readonly<{
  isOpen: boolean
  permission: string
  /** Any of these grants it. */
  patterns: readonly string[]
  places: ((params: RawParams) => readonly string[]) | undefined
  takesBody: boolean
  /** Types of an upload; without them a body is JSON. */
  upload: readonly string[] | undefined
  bodyBytesMax: number
  whileDraining: boolean
}>

export type Doorman = Readonly<{
  authenticator: Authenticator
  limits: HttpLimits
  isDraining: () => boolean
  isSurplus: (request: IncomingMessage) => boolean
}>

export type TurnedAway = Readonly<{ refusal: Fault; status: number }>

export type Verdict = Principal | TurnedAway

export function gateOf(route: Route, limits: HttpLimits): Gate {
  const { access } = route
  const permission = access === 'open' ? '' : access.permission
  return {
    isOpen: access === 'open',
    permission,
    patterns: patternsOf(permission),
    places: access === 'open' ? undefined : access.places,
    takesBody: route.body !== undefined || route.upload !== undefined,
    upload: route.upload,
    bodyBytesMax: route.bodyBytesMax ?? limits.bodyBytes,
    whileDraining: route.whileDraining ?? false,
  }
}

export function judge(
  gate: Gate,
  doorman: Doorman,
  request: IncomingMessage,
  params: RawParams,
): Verdict | Promise<Verdict> {
  const headers = request.rawHeaders.length / 2
  if (headers > doorman.limits.headers) return tooManyHeaders(doorman.limits.headers)
  if (doorman.isSurplus(request)) return tooManyConnections(doorman.limits.connections)
  if (doorman.isDraining() && !gate.whileDraining) return draining()
  if (gate.isOpen) return judgeBody(gate, request, ANYBODY)
  if (hasTwo(request.rawHeaders, 'authorization')) return twice('authorization')
  const said = doorman.authenticator.authenticate(request.headers.authorization)
  return said instanceof Promise
    ? said.then((later) => judgeCaller(gate, request, params, later))
    : judgeCaller(gate, request, params, said)
}

function judgeCaller(
  gate: Gate,
  request: IncomingMessage,
  params: RawParams,
  caller: Principal | Fault<'unauthenticated'>,
): Verdict {
  if (isRefusal(caller)) return { refusal: caller, status: 401 }
  if (caller.via === 'loopback' && !isFromHere(request)) return fromElsewhere()
  const { permissions, places } = caller
  if (!gate.patterns.some((pattern) => permissions.has(pattern))) return forbidden(gate.permission)
  if (places !== undefined && gate.places !== undefined) {
    const outside = gate.places(params).filter((place) => !places.includes(place))
    if (outside.length > 0) return outOfScope(outside)
  }
  return judgeBody(gate, request, caller)
}

function judgeBody(gate: Gate, request: IncomingMessage, caller: Principal): Verdict {
  if (!gate.takesBody) return caller
  const { 'content-type': type, 'content-encoding': encoding } = request.headers
  if (Number(request.headers['content-length']) > gate.bodyBytesMax)
    return bodyTooLarge(gate.bodyBytesMax)
  const { upload } = gate
  if (upload !== undefined) {
    if (type === undefined || !upload.includes(type)) return unsupported(type, undefined, upload)
  } else if (type === undefined ? hasBody(request) : !isJson(type)) return unsupported(type)
  if (encoding !== undefined && encoding !== 'identity') return unsupported(type, encoding, upload)
  if (hasTwo(request.rawHeaders, 'content-type')) return unsupported('more than one content type')
  return caller
}

function isRefusal(value: Principal | Fault<'unauthenticated'>): value is Fault<'unauthenticated'> {
  return 'ok' in value && isFault(value)
}

/**
 * Without credentials the address is the credential, so a page of another site must not lend it: its
 * requests carry that site's name as their host (after its name was bound to this address) or origin.
 */
function isFromHere(request: IncomingMessage): boolean {
  const { host, origin } = request.headers
  if (host === undefined || !LOOPBACK_HOST.test(host)) return false
  return origin === undefined || origin === `http://${host}` || origin === `https://${host}`
}

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i
const JSON_BODY = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

function isJson(type: string): boolean {
  return type === 'application/json' || JSON_BODY.test(type)
}

function hasBody({ headers }: IncomingMessage): boolean {
  return (
    headers['transfer-encoding'] !== undefined ||
    (headers['content-length'] !== undefined && headers['content-length'] !== '0')
  )
}

// Node keeps the first and drops the rest, while a proxy before it may have judged the last.
function hasTwo(rawHeaders: readonly string[], name: string): boolean {
  let seen = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const one = rawHeaders[at]!
    if (one.length === name.length && one.toLowerCase() === name) seen++
  }
  return seen > 1
}

function tooManyHeaders(max: number): Verdict {
  return {
    refusal: fault('header-too-large', 'the request has too many headers', {
      max,
      remedy: 'send fewer headers',
    }),
    status: 431,
  }
}

function tooManyConnections(max: number): Verdict {
  return {
    refusal: fault('too-many-connections', 'the server has all the connections it may have', {
      max,
      remedy: 'come back later, and use one connection for many requests',
    }),
    status: 503,
  }
}

function draining(): Verdict {
  return {
    refusal: fault('draining', 'the server is going down', {
      remedy: 'come back after the time in Retry-After',
    }),
    status: 503,
  }
}

function twice(header: string): Verdict {
  return {
    refusal: fault('bad-input', `the header ${header} came twice`, {
      missing: [],
      invalid: [header],
      expected: { [header]: 'at most one' },
      remedy: 'send it once',
    }),
    status: 400,
  }
}

function fromElsewhere(): Verdict {
  return {
    refusal: fault('forbidden', 'the request was made by a page of another site', {
      remedy: 'use the address of this machine, or configure tokens',
    }),
    status: 403,
  }
}

function forbidden(permission: string): Verdict {
  return {
    refusal: fault('forbidden', 'the caller may not do this', {
      permission,
      remedy: 'ask whoever runs the server for the permission named here',
    }),
    status: 403,
  }
}

function outOfScope(places: readonly string[]): Verdict {
  return {
    refusal: fault('out-of-scope', 'the caller may do this, but not at this place', {
      places,
      remedy: 'use a place that the token names',
    }),
    status: 403,
  }
}

export function bodyTooLarge(max: number): TurnedAway {
  return {
    refusal: fault('body-too-large', 'the body is larger than this route takes', {
      max,
      remedy: 'send at most that many bytes',
    }),
    status: 413,
  }
}

export function unsupported(
  type: string | undefined,
  encoding?: string,
  types: readonly string[] = ['application/json in UTF-8'],
): TurnedAway {
  return {
    refusal: fault('unsupported-media-type', 'the body is of a kind that is not read here', {
      mediaType: type ?? null,
      ...(encoding !== undefined && { encoding }),
      remedy: `send ${types.join(' or ')}, without a content-encoding`,
    }),
    status: 415,
  }
}
