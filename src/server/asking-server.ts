/** One request of a command to a server of ours on this machine. */
import { request } from 'node:http'

import { Accident, fault, isFault } from '../std/index.ts'

export type ServerRequest = Readonly<{
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  body?: unknown
  /** In place of a body: bytes of another type. */
  bytes?: Readonly<{ type: string; bytes: Uint8Array }> | undefined
  token?: string | undefined
  deadlineMs: number
  /** How long its answer may be; a megabyte unless said otherwise. */
  bytesMax?: number
}>

const ANSWER_BYTES_DEFAULT = 1_048_576

/** What it answered, as JSON. Throws `server-refused` with its own reason, or `server-unreachable`. */
export function askServer(url: string, asked: ServerRequest): Promise<unknown> {
  const { method, body, bytes: sentBytes, token, deadlineMs } = asked
  const { bytesMax = ANSWER_BYTES_DEFAULT } = asked
  return new Promise((resolve, reject) => {
    const unreachable = (cause: unknown): void =>
      reject(
        new Accident(
          fault('server-unreachable', `nobody answers at ${url}: ${String(cause)}`, {
            remedy: 'see whether the server runs there',
          }),
          { cause },
        ),
      )
    const sent = request(
      url,
      {
        method,
        signal: AbortSignal.timeout(deadlineMs),
        headers: {
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(sentBytes !== undefined && { 'content-type': sentBytes.type }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
      },
      (answer) => {
        const pieces: Buffer[] = []
        let bytes = 0
        answer.on('data', (piece: Buffer) => {
          bytes += piece.length
          if (bytes > bytesMax) answer.destroy(new Error('the answer is too long'))
          else pieces.push(piece)
        })
        answer.on('error', unreachable)
        answer.on('end', () => {
          const said = jsonOf(Buffer.concat(pieces).toString())
          const status = answer.statusCode ?? 0
          if (status < 400) resolve(said)
          else reject(refused(url, status, said))
        })
      },
    )
    sent.on('error', unreachable)
    sent.end(body === undefined ? sentBytes?.bytes : JSON.stringify(body))
  })
}

function refused(url: string, status: number, said: unknown): Accident {
  const { detail, message, code, remedy }: Readonly<Record<string, unknown>> =
    typeof said === 'object' && said !== null && !isFault(said) ? { ...said } : {}
  const why = [detail, message].find((text) => typeof text === 'string') ?? 'it gives no reason'
  return new Accident(
    fault('server-refused', `${url} answers ${status}: ${why}`, {
      status,
      ...(code !== undefined && { reason: code }),
      remedy: typeof remedy === 'string' ? remedy : 'see the log of the server',
      ...(typeof said === 'object' && said !== null && { answer: said }),
    }),
  )
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
