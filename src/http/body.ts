/**
 * A body on its way in: kept as it comes, up to a bound. Whoever asked for it is told once: all of it,
 * that it is too large, or that its sender has left.
 */
import type { IncomingMessage } from 'node:http'

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

const NO_BYTES: Buffer = Buffer.alloc(0)
