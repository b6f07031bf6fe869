/**
 * Which partition a key belongs to: murmur2 of its bytes, as the clients of Kafka compute it, so that
 * the in-process cluster puts a key where a real one would.
 */

export function partitionOf(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fff_ffff) % partitions
}

function murmur2(data: Uint8Array): number {
  const multiplier = 0x5bd1_e995
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  let hash = 0x9747_b28c ^ data.length
  const whole = data.length - (data.length % 4)
  for (let at = 0; at < whole; at += 4) {
    let word = Math.imul(view.getInt32(at, true), multiplier)
    word = Math.imul(word ^ (word >>> 24), multiplier)
    hash = Math.imul(hash, multiplier) ^ word
  }
  if (data.length > whole) {
    let rest = 0
    for (let at = data.length - 1; at >= whole; at--) rest = (rest << 8) | data[at]!
    hash = Math.imul(hash ^ rest, multiplier)
  }
  hash = Math.imul(hash ^ (hash >>> 13), multiplier)
  return hash ^ (hash >>> 15)
}
