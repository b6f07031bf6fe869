/**
 * Who is calling, and what they may do.
 *
 * An authenticator turns the `Authorization` header into a principal or a refusal; what a principal
 * may do is a set of permissions, and where, a list of places. Secrets are known by their hash only
 * and compared in constant time.
 */
import { createHash, timingSafeEqual } from 'node:crypto'

import { fault, isFault, type Fault } from '../std/index.ts'

export type Principal = Readonly<{
  subject: string
  name?: string
  /** `open` is anybody, at a route that asks for nothing. */
  via: 'loopback' | 'token' | 'jwt' | 'open'
  /** Words such as `stock:count:read`, or patterns: `*`, `*:read`, `stock:*`. */
  permissions: ReadonlySet<string>
  /** Absent means everywhere. */
  places?: readonly string[]
}>

export interface Authenticator {
  authenticate(
    authorization: string | undefined,
  ): Principal | Fault<'unauthenticated'> | Promise<Principal | Fault<'unauthenticated'>>
}

export type StaticToken = Readonly<{
  name: string
  /** The SHA-256 of the token in hex. */
  sha256: string
  permissions: readonly string[]
  places?: readonly string[]
}>

const EVERYTHING: Principal = {
  subject: 'loopback',
  via: 'loopback',
  permissions: new Set(['*']),
}

export const ANYBODY: Principal = { subject: 'anybody', via: 'open', permissions: new Set() }

/** Whoever reaches the machine's own address may do everything; for development. */
export function loopbackAuthenticator(): Authenticator {
  return { authenticate: () => EVERYTHING }
}

export function staticTokens(tokens: readonly StaticToken[]): Authenticator {
  const known = tokens.map(({ name, sha256, permissions, places }) => ({
    hash: Buffer.from(sha256, 'hex'),
    principal: {
      subject: name,
      name,
      via: 'token',
      permissions: new Set(permissions),
      ...(places !== undefined && { places }),
    } satisfies Principal,
  }))
  return {
    authenticate(authorization) {
      const token = bearerOf(authorization)
      if (token === undefined) return noCredentials()
      const hash = createHash('sha256').update(token).digest()
      let found: Principal | undefined
      // All are compared, so that the time taken does not tell which one was near.
      for (const { hash: other, principal } of known)
        if (other.length === hash.length && timingSafeEqual(other, hash)) found = principal
      return found ?? refused('the token is not known here')
    },
  }
}

/** The first that knows the caller decides; the last one's refusal stands. */
export function anyOf(...authenticators: readonly Authenticator[]): Authenticator {
  return {
    async authenticate(authorization) {
      let last = noCredentials()
      for (const one of authenticators) {
        const said = await one.authenticate(authorization)
        if (!isFault(said)) return said
        last = said
      }
      return last
    },
  }
}

/** The patterns that grant a permission, for one look-up each. */
export function patternsOf(permission: string): readonly string[] {
  const words = permission.split(':')
  const heads = words.slice(1).map((_, at) => `${words.slice(0, at + 1).join(':')}:*`)
  return ['*', permission, `*:${words.at(-1)}`, ...heads]
}

export function mayDo(principal: Principal, permission: string): boolean {
  return patternsOf(permission).some((pattern) => principal.permissions.has(pattern))
}

export function bearerOf(authorization: string | undefined): string | undefined {
  return /^bearer +([\w.~+/=-]+) *$/i.exec(authorization ?? '')?.[1]
}

export function noCredentials(): Fault<'unauthenticated'> {
  return fault('unauthenticated', 'the request carries no credentials', {
    remedy: 'send an Authorization header with a bearer token',
  })
}

export function refused(message: string): Fault<'unauthenticated'> {
  return fault('unauthenticated', message, { remedy: 'send a token that is valid here' })
}
