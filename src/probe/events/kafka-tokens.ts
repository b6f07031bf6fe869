/** Access tokens for OAUTHBEARER: asked for with the client's own secret, and used until they are nearly over. */
import { Accident, fault, type Clock } from '../../std/index.ts'
import type { Mask } from '../secrets/secrets.ts'
import type { Credentials } from './events.ts'

type OAuth = Extract<Credentials, { type: 'oauthbearer' }>

export const TOKEN_MS_MAX = 10_000
/** A token is asked for anew so long before it is over. */
export const TOKEN_MARGIN_MS = 30_000
const TOKEN_CHARS_MAX = 65_536

export function accessTokens(
  { clientId, clientSecret, tokenEndpoint, scope }: OAuth,
  { clock, mask }: Readonly<{ clock: Clock; mask: Mask }>,
): () => Promise<string> {
  let token: Promise<string> | undefined
  let untilMs = -Infinity

  return () => {
    if (token === undefined || clock.monotonic() >= untilMs) {
      token = ask()
      untilMs = Infinity
      token.catch(() => (token = undefined))
    }
    return token
  }

  async function ask(): Promise<string> {
    const secret = clientSecret.reveal()
    mask.add(secret)
    const abort = new AbortController()
    const timer = clock.setTimer(clock.monotonic() + TOKEN_MS_MAX, () => abort.abort())
    try {
      const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`)
      const answer = await fetch(tokenEndpoint, {
        method: 'POST',
        redirect: 'error',
        signal: abort.signal,
        headers: {
          authorization: `Basic ${basic.toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          ...(scope !== undefined && { scope }),
        }),
      })
      if (!answer.ok) throw denied(tokenEndpoint, `it answered ${answer.status}`)
      return keep(await answer.text())
    } catch (error) {
      if (error instanceof Accident) throw error
      throw denied(tokenEndpoint, mask.text(String(error)))
    } finally {
      timer.cancel()
    }
  }

  function keep(text: string): string {
    const answer: unknown = text.length > TOKEN_CHARS_MAX ? undefined : JSON.parse(text)
    if (typeof answer !== 'object' || answer === null || !('access_token' in answer))
      throw denied(tokenEndpoint, 'its answer has no access_token')
    const { access_token: value } = answer
    if (typeof value !== 'string' || value === '')
      throw denied(tokenEndpoint, 'its answer has no access_token')
    mask.add(value)
    const seconds = 'expires_in' in answer ? Number(answer.expires_in) : 0
    const lastsMs = Number.isFinite(seconds) ? seconds * 1_000 : 0
    untilMs = clock.monotonic() + lastsMs - TOKEN_MARGIN_MS
    return value
  }
}

function denied(endpoint: string, reason: string): Accident {
  return new Accident(
    fault('topic-denied', `no token could be had from ${endpoint}: ${reason}`, {
      isTransient: false,
      remedy: 'look at the client id, its secret, the scope and the endpoint',
    }),
  )
}
