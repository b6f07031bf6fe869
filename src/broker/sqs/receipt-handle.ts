/**
 * A receipt as text. Whoever has it may end that delivery and no other: its numbers are signed with a secret of
 * the broker, so that nobody can guess the receipt of somebody else.
 *
 *   version u8 | queue u48 | slot u32 | gen u32 | seq f64 | token f64 | 16 bytes of HMAC-SHA-256, as base64url
 *
 * Handles live as long as leases do. To change the format, give it another version; a handle of the version
 * before is then refused, as one that has expired is.
 */
import { timingSafeEqual } from 'node:crypto'

import type { Receipt } from '../broker.ts'
import { Mac } from './mac.ts'

const VERSION = 1
const HEAD_BYTES = 31
const MAC_BYTES = 16
const HANDLE_CHARS = Math.ceil(((HEAD_BYTES + MAC_BYTES) * 8) / 6)

export class ReceiptHandles {
  readonly #secret: Mac

  constructor(secret: string) {
    this.#secret = new Mac(Buffer.from(secret))
  }

  write({ queueId, slot, gen, seq, token }: Receipt): string {
    const bytes = Buffer.allocUnsafe(HEAD_BYTES + MAC_BYTES)
    bytes[0] = VERSION
    bytes.writeUIntBE(queueId, 1, 6)
    bytes.writeUInt32BE(slot, 7)
    bytes.writeUInt32BE(gen, 11)
    bytes.writeDoubleBE(seq, 15)
    bytes.writeDoubleBE(token, 23)
    this.#mac(bytes).copy(bytes, HEAD_BYTES, 0, MAC_BYTES)
    return bytes.toString('base64url')
  }

  /** Undefined for what was not written here. */
  read(handle: string): Receipt | undefined {
    if (handle.length !== HANDLE_CHARS) return undefined
    const bytes = Buffer.from(handle, 'base64url')
    if (bytes.length !== HEAD_BYTES + MAC_BYTES || bytes[0] !== VERSION) return undefined
    if (bytes.toString('base64url') !== handle) return undefined // the same bytes in other letters
    const mac = this.#mac(bytes).subarray(0, MAC_BYTES)
    if (!timingSafeEqual(mac, bytes.subarray(HEAD_BYTES))) return undefined
    return {
      queueId: bytes.readUIntBE(1, 6),
      slot: bytes.readUInt32BE(7),
      gen: bytes.readUInt32BE(11),
      seq: bytes.readDoubleBE(15),
      token: bytes.readDoubleBE(23),
    }
  }

  #mac(bytes: Buffer): Buffer {
    return this.#secret.ofBytes(bytes.subarray(0, HEAD_BYTES))
  }
}
