/**
 * An issuer of tokens as the services around us have one: an RSA key, its public half as a JWKS,
 * and tokens that are right, or wrong in one way.
 */
import { createSign, generateKeyPairSync, type JsonWebKey } from 'node:crypto'

import { systemClock } from '../../src/std/index.ts'

export type Claims = Readonly<Record<string, unknown>>

export interface Issuer {
  readonly issuer: string
  readonly audience: string
  readonly keys: Readonly<{ keys: readonly JsonWebKey[] }>
  /** Good for an hour, unless the claims say otherwise. */
  sign(claims: Claims): string
}

const HOUR_S = 3_600

export function issuerOf(issuer: string, audience: string): Issuer {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const kid = 'key-1'
  const key = { ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' }
  return {
    issuer,
    audience,
    keys: { keys: [key] },
    sign(claims) {
      const nowS = Math.floor(systemClock.now() / 1000)
      const body = { iss: issuer, aud: audience, iat: nowS, exp: nowS + HOUR_S, ...claims }
      const signed = `${part({ alg: 'RS256', typ: 'JWT', kid })}.${part(body)}`
      const signature = createSign('RSA-SHA256').update(signed).sign(privateKey, 'base64url')
      return `${signed}.${signature}`
    },
  }
}

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
