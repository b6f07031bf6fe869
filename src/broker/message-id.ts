/**
 * Numbers of messages, written down.
 *
 * A message is named by a UUID that is made of its number and from which the number can be had again, so that
 * nobody has to keep a table. The bits are mixed so that neighbours do not look alike; that is for people, and
 * no protection: what protects a delivery is its receipt.
 */

const HALF = 2 ** 32
const KEY_CHARS = 11
const DIGITS = '0123456789abcdefghijklmnopqrstuv'

/** The key of its record: of fixed length, and in the order of the numbers. */
export function keyOf(seq: number): string {
  const high = Math.floor(seq / HALF)
  const low = seq >>> 0
  // 21 bits of the upper half and 32 of the lower are eleven digits of five bits.
  const middle = ((high & 7) << 2) | (low >>> 30)
  return (
    DIGITS[(high >>> 18) & 31]! +
    DIGITS[(high >>> 13) & 31]! +
    DIGITS[(high >>> 8) & 31]! +
    DIGITS[(high >>> 3) & 31]! +
    DIGITS[middle]! +
    DIGITS[(low >>> 25) & 31]! +
    DIGITS[(low >>> 20) & 31]! +
    DIGITS[(low >>> 15) & 31]! +
    DIGITS[(low >>> 10) & 31]! +
    DIGITS[(low >>> 5) & 31]! +
    DIGITS[low & 31]!
  )
}

export function seqOfKey(key: string): number {
  let seq = 0
  for (let index = 0; index < KEY_CHARS; index++) seq = seq * 32 + digitAt(key, index)
  return seq
}

export function messageIdOf(seq: number): string {
  const high = Math.floor(seq / HALF)
  const low = seq >>> 0
  const check = checkOf(high, low)
  const second = spread(high) ^ (mixed(check, 2) & SECOND_BITS)
  const hex = hex8(low ^ mixed(check, 1)) + hex8((second & SECOND_BITS) | 0x8000)
  const tail = hex8(((check >>> 2) | 0x8000_0000) >>> 0) + hex8(check ^ VEIL)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12)}-${tail.slice(0, 4)}-${tail.slice(4)}`
}

/** Undefined for what is no name of a message. */
export function seqOfMessageId(id: string): number | undefined {
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i.test(id))
    return undefined
  const hex = id.replaceAll('-', '')
  const word = (index: number): number => Number.parseInt(hex.slice(index * 8, index * 8 + 8), 16)
  const check = (word(3) ^ VEIL) >>> 0
  const low = (word(0) ^ mixed(check, 1)) >>> 0
  const high = gathered((word(1) ^ mixed(check, 2)) & SECOND_BITS)
  const seq = high * HALF + low
  return messageIdOf(seq) === id.toLowerCase() ? seq : undefined
}

/** All bits of the second word that are not the version of the UUID and carry some of 21 bits. */
const SECOND_BITS = 0x01ff_0fff
const VEIL = 0x5bd1_e995

function spread(high: number): number {
  return (high & 0xfff) | ((high & 0x1f_f000) << 4)
}

function gathered(word: number): number {
  return (word & 0xfff) | ((word >>> 4) & 0x1f_f000)
}

function checkOf(high: number, low: number): number {
  return mixed(mixed(low, 3) ^ high, 4)
}

/** The last steps of a well-known hash: every bit in has a say in every bit out. */
function mixed(value: number, salt: number): number {
  let hash = (value ^ Math.imul(salt, 0x9e37_79b1)) >>> 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, '0'),
)

function hex8(word: number): string {
  return HEX[word >>> 24]! + HEX[(word >>> 16) & 255]! + HEX[(word >>> 8) & 255]! + HEX[word & 255]!
}

function digitAt(key: string, index: number): number {
  const code = key.charCodeAt(index)
  return code < 58 ? code - 48 : code - 87
}
