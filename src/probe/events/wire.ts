/**
 * How bytes say which registered schema they were written with: a zero byte, the id in four bytes, and
 * for Protobuf the way to the message in its file; then the payload.
 */

export type Framed = Readonly<{ id: number; payload: Uint8Array }>

const MAGIC = 0
const HEAD_BYTES = 5
/** Messages stand within messages only so deep. */
const INDEX_MAX = 64

export function frame(id: number, payload: Uint8Array): Uint8Array {
  const framed = Buffer.alloc(HEAD_BYTES + payload.length)
  framed.writeUInt8(MAGIC, 0)
  framed.writeUInt32BE(id, 1)
  framed.set(payload, HEAD_BYTES)
  return framed
}

export function unframe(bytes: Uint8Array): Framed | undefined {
  if (bytes.length < HEAD_BYTES || bytes[0] !== MAGIC) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return { id: view.getUint32(1), payload: bytes.subarray(HEAD_BYTES) }
}

/** The first message of a file, by far the most usual, is one zero byte. */
export function writeIndex(index: readonly number[], payload: Uint8Array): Uint8Array {
  const way = index.length === 1 && index[0] === 0 ? [0] : [index.length, ...index]
  return Buffer.concat([Buffer.from(way.flatMap(zigzag)), payload])
}

export function readIndex(bytes: Uint8Array): Readonly<{ index: number[]; payload: Uint8Array }> {
  let at = 0
  const length = next()
  if (length < 0 || length > INDEX_MAX) throw new Error('the message index is no index')
  const index = length === 0 ? [0] : Array.from({ length }, next)
  return { index, payload: bytes.subarray(at) }

  function next(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = bytes[at++]
      if (byte === undefined) throw new Error('the message index is cut off')
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return (value >>> 1) ^ -(value & 1)
    }
    throw new Error('the message index is no index')
  }
}

function zigzag(value: number): number[] {
  const bytes: number[] = []
  let rest = (value << 1) ^ (value >> 31)
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80)
    rest >>>= 7
  }
  return [...bytes, rest]
}
