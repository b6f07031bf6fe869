/** Requests to a registry of schemas: bounded in time and size, with whatever it asks to be known by. */
import { Accident, fault, type Clock } from '../../std/index.ts'
import type { Mask, Secret } from '../secrets/secrets.ts'

export type RegistryAddress = Readonly<{ url: string; username?: string; password?: Secret }>
export type Answer = Readonly<Record<string, unknown>>

export const REGISTRY_MS_MAX = 10_000
export const REGISTRY_BYTES_MAX = 1_048_576

const JSON_TYPE = 'application/vnd.schemaregistry.v1+json'

/** With a body it posts. Undefined is 404; all else that is no answer is thrown. */
export type RegistryAsker = (path: string, body?: unknown) => Promise<Answer | undefined>

export function registryAsker(
  address: RegistryAddress,
  { clock, mask }: Readonly<{ clock: Clock; mask: Mask }>,
): RegistryAsker {
  const base = address.url.replace(/\/+$/, '')
  return async (path, body) => {
    const abort = new AbortController()
    const timer = clock.setTimer(clock.monotonic() + REGISTRY_MS_MAX, () => abort.abort())
    try {
      const answer = await fetch(`${base}${path}`, {
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
        redirect: 'error',
        signal: abort.signal,
        headers: { accept: JSON_TYPE, 'content-type': JSON_TYPE, ...authorization(address, mask) },
      })
      const text = await boundedText(answer)
      if (answer.status === 404) return undefined
      if (!answer.ok) throw refusal(base, answer.status, mask.text(text).slice(0, 200))
      const parsed: unknown = JSON.parse(text)
      if (!isAnswer(parsed)) throw new Error('its answer is no object')
      return parsed
    } catch (error) {
      if (error instanceof Accident) throw error
      const reason = abort.signal.aborted ? 'no answer in time' : String(error)
      throw unavailable(base, mask.text(reason))
    } finally {
      timer.cancel()
    }
  }
}

function authorization(
  { username, password }: RegistryAddress,
  mask: Mask,
): Readonly<Record<string, string>> {
  if (username === undefined || password === undefined) return {}
  const secret = password.reveal()
  mask.add(secret)
  const basic = Buffer.from(`${username}:${secret}`).toString('base64')
  return { authorization: `Basic ${basic}` }
}

async function boundedText(answer: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of answer.body ?? []) {
    bytes += part.length
    if (bytes > REGISTRY_BYTES_MAX)
      throw new Error(`its answer is over ${REGISTRY_BYTES_MAX} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

function isAnswer(value: unknown): value is Answer {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function refusal(base: string, status: number, text: string): Accident {
  if (status === 401 || status === 403)
    return new Accident(
      fault('topic-denied', `the registry ${base} answered ${status}`, {
        isTransient: false,
        remedy: 'give the registry its user and password',
      }),
    )
  if (status === 409 || status === 422)
    return new Accident(
      fault('bad-schema', `the registry refuses the schema: ${text}`, {
        isTransient: false,
        remedy: 'make it compatible with its earlier versions',
      }),
    )
  return unavailable(base, `it answered ${status}`)
}

function unavailable(base: string, reason: string): Accident {
  return new Accident(
    fault('events-unavailable', `the registry ${base} cannot be used: ${reason}`, {
      isTransient: true,
      remedy: 'look whether it can be reached, and try again',
    }),
  )
}
