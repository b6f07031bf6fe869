/**
 * Calls by HTTP on behalf of steps, to where the server's settings allow them and nowhere else: steps
 * have no network, and must not get the one of the server instead.
 *
 * A redirection is an answer. An answer has a bound, and so has the time for all of it.
 */
import { Accident, fault, type Clock } from '../../std/index.ts'
import type { HttpAnswer, HttpInput, ServiceHandlers } from './services.ts'

export type HttpServiceOptions = Readonly<{
  /** Origins such as `https://orders.test:8443`, or `*` for all. */
  allow: readonly string[]
  clock: Clock
  /** Ends calls that nobody waits for any more. */
  signal: AbortSignal
}>

/** Of the body of an answer. */
export const HTTP_ANSWER_BYTES_MAX = 1_048_576

/** For an answer with its whole body, unless the step says otherwise. */
export const HTTP_ANSWER_MS_DEFAULT = 30_000

export function httpHandlers({ allow, clock, signal }: HttpServiceOptions): ServiceHandlers {
  return { http }

  async function http(input: HttpInput): Promise<HttpAnswer> {
    const { method, url, headers = {}, body, timeoutMs = HTTP_ANSWER_MS_DEFAULT } = input
    const origin = URL.parse(url)?.origin ?? ''
    if (!/^https?:/.test(origin) || !(allow.includes('*') || allow.includes(origin)))
      throw new Accident(
        fault('http-refused', `steps may not call ${origin || url}`, {
          remedy: 'add its origin to probe.httpAllow',
        }),
      )
    const startedAt = clock.monotonic()
    const late = new AbortController()
    const timer = clock.setTimer(startedAt + timeoutMs, () => late.abort())
    try {
      const answer = await fetch(url, {
        method,
        headers,
        ...(body !== undefined && method !== 'GET' && method !== 'HEAD' && { body }),
        redirect: 'manual',
        signal: AbortSignal.any([late.signal, signal]),
      })
      return {
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: await bodyOf(answer),
        millis: Math.round(clock.monotonic() - startedAt),
      }
    } catch (error) {
      if (error instanceof Accident) throw error
      const reason = late.signal.aborted ? `${timeoutMs} ms are over` : reasonOf(error)
      throw new Accident(
        fault('http-failed', `${method} ${origin} gave no answer: ${reason}`, { origin }),
        { cause: error },
      )
    } finally {
      timer.cancel()
    }
  }
}

async function bodyOf(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length
    if (bytes > HTTP_ANSWER_BYTES_MAX)
      throw new Accident(
        fault('http-refused', `the answer has more than ${HTTP_ANSWER_BYTES_MAX} bytes`, {
          remedy: 'ask for less at once',
        }),
      )
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message : error.message
}
