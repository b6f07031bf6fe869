/**
 * Callers by JSON Web Token, signed with RS256.
 *
 * The algorithm is ours to choose and not the token's: whatever else its header asks for is refused,
 * and no key comes from the token. A token must say who it is for, by whom, until when, and the
 * caller's subject, name and job; `location`, one or several, limits it to those places.
 */
import { hash, verify, type KeyObject } from 'node:crypto'

import { isFault, type Clock, type Fault } from '../std/index.ts'
import { bearerOf, noCredentials, refused, type Authenticator, type Principal } from './auth.ts'
import type { KeySource } from './jwks.ts'
import { permissionsOfJob, type Policy } from './policy.ts'
import { custom, listOf, optional, readShape, shape, text, type Shape } from './shape.ts'

export type JwtOptions = Readonly<{
  issuer: string
  audience: string
  keys: KeySource
  policy: Policy
  clock: Clock
}>

export const TOKEN_CHARS_MAX = 8_192

/** How far the clocks of issuer and server may be apart. */
export const TOKEN_SKEW_MS = 5_000

/** How long a checked token is not checked again, so that one call in many pays for the signature. */
export const TOKEN_CHECKED_MS = 60_000
export const TOKENS_CHECKED_MAX = 10_000

type Checked = Readonly<{
  principal: Principal
  fromMs: number
  untilMs: number
  checkedMs: number
}>

export function jwtAuthenticator(options: JwtOptions): Authenticator {
  const { keys, clock } = options
  const checked = new Map<string, Checked>()

  return {
    authenticate(authorization) {
      const token = bearerOf(authorization)
      if (token === undefined) return noCredentials()
      const parts = token.length > TOKEN_CHARS_MAX ? [] : token.split('.')
      if (parts.length !== 3) return refused('the token is not a JSON Web Token')
      const digest = hash('sha256', token, 'base64')
      const known = checked.get(digest)
      if (known !== undefined && clock.monotonic() - known.checkedMs < TOKEN_CHECKED_MS)
        return inTime(known)
      const sent = decoded(parts[0]!)
      const header = readShape(headerShape, sent)
      // What a header calls critical must be understood, and there is nothing of that kind here.
      if (!header.ok || Object.hasOwn(Object(sent), 'crit')) return refused(NOT_OURS)
      const key = keys.find(header.value.kid)
      return key instanceof Promise
        ? key.then((later) => check(token, digest, later))
        : check(token, digest, key)
    },
  }

  function check(
    token: string,
    digest: string,
    key: KeyObject | undefined,
  ): Principal | Fault<'unauthenticated'> {
    if (key === undefined) return refused('the token names a key that the issuer does not have')
    const [header = '', payload = '', signature = ''] = token.split('.')
    const bytes = Buffer.from(signature, 'base64url')
    // Several texts decode to one signature; only one of them is canonical.
    if (bytes.toString('base64url') !== signature) return refused(NOT_OURS)
    if (!verify('RSA-SHA256', Buffer.from(`${header}.${payload}`), key, bytes))
      return refused('the token is not signed by the issuer')
    const claims = claimsOf(payload, options)
    if (isFault(claims)) return claims
    if (checked.size >= TOKENS_CHECKED_MAX) checked.delete(checked.keys().next().value ?? '')
    checked.set(digest, claims)
    return inTime(claims)
  }

  function inTime({ principal, fromMs, untilMs }: Checked): Principal | Fault<'unauthenticated'> {
    const nowMs = clock.now()
    if (nowMs >= untilMs + TOKEN_SKEW_MS) return refused('the token has expired')
    if (nowMs < fromMs - TOKEN_SKEW_MS) return refused('the token is not valid yet')
    return principal
  }
}

const NOT_OURS = 'the token is not one that is signed with RS256'

const name = text({ min: 1, max: 256 })
const places: Shape<readonly string[]> = listOf(name, { max: 1_000 })
const seconds: Shape<number> = custom({
  schema: { type: 'number' },
  expected: 'a time in seconds',
  read: (value) => (typeof value === 'number' && value >= 0 && value < 1e12 ? value : undefined),
})

function oneOrMany(of: Shape<readonly string[]>): Shape<readonly string[]> {
  return custom({
    schema: { anyOf: [{ type: 'string' }, of.schema] },
    expected: 'a text or a list of texts',
    read: (value) => of.read(typeof value === 'string' ? [value] : value, '', []),
  })
}

const headerShape = shape({
  alg: text({ max: 5, pattern: /^RS256$/ }),
  kid: optional(text({ max: 256 })),
})

const claimsShape = shape({
  iss: name,
  aud: oneOrMany(places),
  exp: seconds,
  nbf: optional(seconds, 0),
  sub: name,
  name,
  job: name,
  location: optional(oneOrMany(places)),
})

function claimsOf(
  payload: string,
  { issuer, audience, policy, clock }: JwtOptions,
): Checked | Fault<'unauthenticated'> {
  const claims = readShape(claimsShape, decoded(payload))
  if (!claims.ok) return refused('the token lacks a claim, or has one of the wrong kind')
  const { iss, aud, exp, nbf, sub, name: called, job, location } = claims.value
  if (iss !== issuer) return refused('the token is by another issuer')
  if (!aud.includes(audience)) return refused('the token is for somebody else')
  return {
    principal: {
      subject: sub,
      name: called,
      via: 'jwt',
      permissions: new Set(permissionsOfJob(policy, job)),
      ...(location !== undefined && { places: location }),
    },
    fromMs: nbf * 1_000,
    untilMs: exp * 1_000,
    checkedMs: clock.monotonic(),
  }
}

function decoded(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}
