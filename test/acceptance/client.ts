/**
 * A client as any other: it sends JSON, keeps every answer whole, and follows nothing by itself.
 */
import { systemClock } from '../../src/std/index.ts'

export type Sent = Readonly<{
  method: string
  path: string
  body?: unknown
  headers?: Readonly<Record<string, string>>
}>

export type Answer = Readonly<{
  sent: Sent
  status: number
  headers: Headers
  text: string
  /** What the text says as JSON; undefined where it is none. */
  json: unknown
  tookMs: number
}>

/** Rejects when the connection breaks. */
export async function send(url: string, sent: Sent): Promise<Answer> {
  const begunMs = systemClock.monotonic()
  const response = await fetch(url + sent.path, {
    method: sent.method,
    redirect: 'manual',
    headers: {
      ...(sent.body !== undefined && { 'content-type': 'application/json' }),
      ...sent.headers,
    },
    ...(sent.body !== undefined && { body: JSON.stringify(sent.body) }),
  })
  const text = await response.text()
  const tookMs = systemClock.monotonic() - begunMs
  return {
    sent,
    status: response.status,
    headers: response.headers,
    text,
    json: asJson(text),
    tookMs,
  }
}

/** `products[0].quantity` of an answer. */
export function at(value: unknown, path: string): unknown {
  let found = value
  for (const name of path.split(/[.[\]]+/).filter((part) => part !== ''))
    found = (found as Readonly<Record<string, unknown>> | undefined)?.[name]
  return found
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
