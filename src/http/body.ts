/**
 * A body on its way in, up to a bound: kept as it comes, or handed on in pieces. Whoever asked for it
 * is told once: all of it, that it is too large, or that its sender has left.
 */
import type { IncomingMessage } from 'node:http'

import { Accident } from '../std/index.ts'
import { bodyTooLarge } from './admission.ts'

export interface Receiver {
  /** It ends here; it may be empty. */
  onBody(bytes: Buffer): void
  /** The rest is read and forgotten, so that the sender gets to see the answer. */
  onTooLarge(): void
  onLeft(): void
}

export function receive(request: IncomingMessage, bytesMax: number, receiver: Receiver): void {
  let body = NO_BYTES
  let parts: Buffer[] | undefined
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    if (bytes > bytesMax) return
    bytes += chunk.length
    if (bytes > bytesMax) {
      body = NO_BYTES
      parts = undefined
      receiver.onTooLarge()
    } else if (bytes === chunk.length) body = chunk
    else (parts ??= [body]).push(chunk)
  })
  request.on('end', () => {
    if (bytes <= bytesMax) receiver.onBody(parts === undefined ? body : Buffer.concat(parts, bytes))
  })
  request.on('error', () => receiver.onLeft())
}

/** Whoever does not want the rest leaves it to Node, so that the sender gets to see the answer. */
export async function* piecesOf(
  request: IncomingMessage,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no encoding was set
    const chunk = piece as Buffer
    bytes += chunk.length
    if (bytes > bytesMax) throw new Accident(bodyTooLarge(bytesMax).refusal)
    yield chunk
  }
}

const NO_BYTES: Buffer = Buffer.alloc(0)
