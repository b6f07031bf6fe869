/**
 * HTTP to other services, over Node's own client: a GET that ends in time.
 *
 * Connections are kept alive between calls. An answer has a bound; a longer one is no answer.
 */
import { request as plainRequest, Agent as PlainAgent, type IncomingMessage } from 'node:http'
import { request as secureRequest, Agent as SecureAgent } from 'node:https'

import { Accident, fault, type Clock } from '../../std/index.ts'
import type { Transport, TransportResponse } from './remote.ts'

/** Bytes of an answer. */
export const LOCATION_BODY_BYTES_MAX = 16_777_216

export type HttpTransport = Readonly<{ get: Transport; close(): void }>

export function httpTransport(clock: Clock): HttpTransport {
  const agents = {
    plain: new PlainAgent({ keepAlive: true }),
    secure: new SecureAgent({ keepAlive: true }),
  }
  return {
    get: ({ url, headers, connectMs, requestMs }) =>
      new Promise<TransportResponse>((resolve, reject) => {
        const isSecure = url.startsWith('https:')
        const request = isSecure
          ? secureRequest(url, { headers, agent: agents.secure })
          : plainRequest(url, { headers, agent: agents.plain })
        const within = (ms: number, what: string) =>
          clock.setTimer(clock.monotonic() + ms, () => request.destroy(late(what, ms)))
        const connecting = within(connectMs, 'no connection')
        const answering = within(requestMs, 'no answer')
        request.on('socket', (socket) => {
          if (!socket.connecting) connecting.cancel()
          else socket.once(isSecure ? 'secureConnect' : 'connect', () => connecting.cancel())
        })
        request.on('error', reject)
        request.on('close', () => {
          connecting.cancel()
          answering.cancel()
        })
        request.on('response', (response) => {
          read(response).then(resolve, (error: unknown) => {
            request.destroy()
            reject(error instanceof Error ? error : new Error(String(error)))
          })
        })
        request.end()
      }),
    close() {
      agents.plain.destroy()
      agents.secure.destroy()
    },
  }
}

async function read(response: IncomingMessage): Promise<TransportResponse> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no encoding is set
    const part = chunk as Buffer
    bytes += part.length
    if (bytes > LOCATION_BODY_BYTES_MAX) throw noAnswer('the answer is too long')
    chunks.push(part)
  }
  const headers: Record<string, string | undefined> = {}
  for (const [name, value] of Object.entries(response.headers))
    headers[name] = Array.isArray(value) ? value.join(', ') : value
  return { status: response.statusCode ?? 0, headers, body: Buffer.concat(chunks).toString() }
}

function late(what: string, ms: number): Error {
  return noAnswer(`${what} within ${ms} ms`)
}

function noAnswer(what: string): Accident<'upstream-unavailable'> {
  return new Accident(
    fault('upstream-unavailable', what, { remedy: 'look at the service, and try again later' }),
  )
}
