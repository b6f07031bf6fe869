/**
 * A request without a network: it goes to the server over a pair of streams in memory, and passes
 * everything that any other request passes but the limits on connections.
 */
import { request as send, type IncomingMessage, type Server } from 'node:http'
import { duplexPair } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'

import type { Injected, InjectedAnswer } from './http.ts'

export async function inject(server: Server, request: Injected): Promise<InjectedAnswer> {
  const { method = 'GET', url, headers = {}, body } = request
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
  const payload = body === undefined || isRaw ? body : JSON.stringify(body)
  const sent: Record<string, string | string[]> = { host: 'localhost', connection: 'keep-alive' }
  if (payload !== body) sent['content-type'] = 'application/json'
  if (payload !== undefined) sent['content-length'] = String(Buffer.byteLength(payload))
  for (const [name, value] of Object.entries(headers))
    sent[name] = typeof value === 'string' ? value : [...value]

  const [near, far] = duplexPair()
  server.emit('connection', far)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const asked = send({ createConnection: () => near, method, path: url, headers: sent }, resolve)
  asked.on('error', reject)
  asked.end(payload)
  try {
    const answer = await promise
    const text = await textOf(answer)
    return {
      status: answer.statusCode ?? 0,
      headers: Object.fromEntries(
        Object.entries(answer.headers).map(([name, value]) => [name, value?.toString()]),
      ),
      text,
      json: (): unknown => JSON.parse(text),
    }
  } finally {
    near.destroy()
    far.destroy()
  }
}
