/**
 * The public keys of an issuer: a JSON Web Key Set from a file or a URL.
 *
 * Keys are kept and renewed in the background. A key id that is not known is looked up again, but no
 * more often than the pause allows, so that made-up ids cost the issuer nothing. While the set cannot
 * be had the old keys go on being used, for a day at most.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import { Accident, fault, type Clock, type Log } from '../std/index.ts'
import { custom, listOf, optional, readShape, shape, text, type Shape } from './shape.ts'

export interface KeySource {
  /** The key of this id, or the only one when there is no id; throws when no key could ever be had. */
  find(keyId: string | undefined): KeyObject | undefined | Promise<KeyObject | undefined>
}

/** Reads the text of a key set. */
export type KeySetLoader = (clock: Clock) => Promise<string>

export const KEYS_FRESH_MS = 600_000
export const KEYS_PAUSE_MS = 30_000
export const KEYS_STALE_MS_MAX = 86_400_000
export const KEYS_LOADING_MS_MAX = 5_000
export const KEY_SET_BYTES_MAX = 1_048_576
export const KEYS_MAX = 100
/** Shorter ones have been broken. */
export const RSA_BITS_MIN = 2_048

export function keySetFile(path: string): KeySetLoader {
  return () => readFile(path, 'utf8')
}

export function keySetUrl(url: string): KeySetLoader {
  return async (clock) => {
    const abort = new AbortController()
    const timer = clock.setTimer(clock.monotonic() + KEYS_LOADING_MS_MAX, () => abort.abort())
    try {
      const answer = await fetch(url, { signal: abort.signal, redirect: 'error' })
      if (answer.status !== 200) throw new Error(`the issuer answered ${answer.status}`)
      return await boundedText(answer.body ?? [])
    } finally {
      timer.cancel()
    }
  }
}

export function keySet(
  load: KeySetLoader,
  options: Readonly<{ clock: Clock; log: Log }>,
): KeySource {
  const { clock, log } = options
  let keys: ReadonlyMap<string, KeyObject> | undefined
  let loadedMs = -Infinity
  let triedMs = -Infinity
  let loading: Promise<void> | undefined

  return {
    find(keyId) {
      const ageMs = clock.monotonic() - loadedMs
      const found = ageMs > KEYS_STALE_MS_MAX ? undefined : pick(keyId)
      if (found === undefined) return findAgain(keyId)
      if (ageMs > KEYS_FRESH_MS) void renew()
      return found
    },
  }

  async function findAgain(keyId: string | undefined): Promise<KeyObject | undefined> {
    await renew()
    if (clock.monotonic() - loadedMs > KEYS_STALE_MS_MAX) throw unavailable()
    return pick(keyId)
  }

  function pick(keyId: string | undefined): KeyObject | undefined {
    if (keys === undefined || keyId !== undefined) return keys?.get(keyId ?? '')
    return keys.size === 1 ? keys.values().next().value : undefined
  }

  function renew(): Promise<void> {
    if (loading !== undefined) return loading
    if (clock.monotonic() - triedMs < KEYS_PAUSE_MS) return Promise.resolve()
    triedMs = clock.monotonic()
    loading = load(clock)
      .then((read) => {
        keys = keysIn(read)
        loadedMs = clock.monotonic()
        return undefined
      })
      .catch((error: unknown) => log.warn('the keys of the issuer cannot be had', { error }))
      .finally(() => (loading = undefined))
    return loading
  }
}

type Jwk = Readonly<Record<string, unknown>>

const jwk: Shape<Jwk> = custom({
  schema: { type: 'object' },
  expected: 'a key',
  read: (value) => (typeof value === 'object' && value !== null ? { ...value } : undefined),
})

const keySetShape = shape({ keys: listOf(jwk, { max: KEYS_MAX }) })

const ours = shape({
  kty: text({ max: 3, pattern: /^RSA$/ }),
  n: text({ max: 4_096 }),
  e: text({ max: 16 }),
  kid: optional(text({ max: 256 }), ''),
  use: optional(text({ max: 3, pattern: /^sig$/ })),
  alg: optional(text({ max: 5, pattern: /^RS256$/ })),
})

/** A set may hold keys for other uses; they are left out. */
function keysIn(read: string): ReadonlyMap<string, KeyObject> {
  const set = readShape(keySetShape, JSON.parse(read))
  if (!set.ok) throw new Accident(set)
  const keys = new Map<string, KeyObject>()
  for (const one of set.value.keys) {
    const known = readShape(ours, one)
    if (!known.ok) continue
    const { kty, n, e, kid } = known.value
    const key = createPublicKey({ key: { kty, n, e }, format: 'jwk' })
    if ((key.asymmetricKeyDetails?.modulusLength ?? 0) >= RSA_BITS_MIN) keys.set(kid, key)
  }
  return keys
}

async function boundedText(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<string> {
  const read: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > KEY_SET_BYTES_MAX) throw new Error('the key set is too large')
    read.push(chunk)
  }
  return Buffer.concat(read).toString('utf8')
}

function unavailable(): Accident {
  return new Accident(
    fault('keys-unavailable', 'the keys that tokens are checked with cannot be had', {
      remedy: 'look for the reason in the log of the server',
    }),
  )
}
