/** One request of a command to a server of ours on this machine. */
import { request, type IncomingMessage } from 'node:http'

import { Accident, fault, isFault, PRODUCT } from '../std/index.ts'

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

type Json = Readonly<Record<string, unknown>>

const DOWNLOAD_MS = 600_000
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
            remedy: `start one with \`${PRODUCT} serve\`, or name the one that runs with --url`,
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

/** What is there, piece by piece, and no more than `bytesMax` of it. */
export async function* readServer(
  url: string,
  { token, bytesMax }: Readonly<{ token: string | undefined; bytesMax: number }>,
): AsyncGenerator<Uint8Array> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const signal = AbortSignal.timeout(DOWNLOAD_MS)
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { headers, signal }, resolve).on('error', reject).end()
  })
  const status = answer.statusCode ?? 0
  if (status >= 400) {
    answer.destroy()
    throw refused(url, status, undefined)
  }
  let bytes = 0
  const pieces: AsyncIterable<Buffer> = answer
  for await (const piece of pieces) {
    bytes += piece.length
    if (bytes > bytesMax)
      throw new Accident(
        fault('server-refused', `${url} has more than the ${bytesMax} bytes it should have`, {
          remedy: 'see the log of the server',
        }),
      )
    yield piece
  }
}

function refused(url: string, status: number, said: unknown): Accident {
  const answer: Json =
    typeof said === 'object' && said !== null && !isFault(said) ? { ...said } : {}
  const { detail, message, code, details } = answer
  // The facts are members of a problem, or stand together in `details`.
  const facts: Json = typeof details === 'object' && details !== null ? { ...details } : answer
  const why = [detail, message].find((text) => typeof text === 'string') ?? 'it gives no reason'
  const { remedy } = facts
  return new Accident(
    fault(
      'server-refused',
      [`${url} answers ${status}: ${why}`, ...fieldLines(facts)].join('\n  '),
      {
        status,
        ...(code !== undefined && { reason: code }),
        remedy: typeof remedy === 'string' ? remedy : 'see the log of the server',
        ...(typeof said === 'object' && said !== null && { answer: said }),
      },
    ),
  )
}

/** Which fields it refuses, and what it expects of each. */
function fieldLines({ missing, expected }: Json): readonly string[] {
  if (typeof expected !== 'object' || expected === null) return []
  const absent: readonly unknown[] = Array.isArray(missing) ? missing : []
  return Object.entries(expected).map(([field, what]) => {
    const problem = absent.includes(field) ? 'is missing' : 'is wrong'
    return `${field} ${problem}: it must be ${String(what)}`
  })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
