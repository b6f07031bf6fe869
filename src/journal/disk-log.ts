/**
 * A log of texts on a disk, each there as a whole or not at all.
 *
 *   frame: mark (4) · number (4) · length of the body (4) · CRC-32 of all but mark and itself (4) · body
 *
 * Frames are numbered from 1. One is written only when the one before is on disk, so after a crash at
 * most the last can be torn, and it was never acknowledged: it is cut off. A frame that is not whole
 * and has a whole one behind it is damage, and nothing is opened over it. The mark begins with a byte
 * that UTF-8 does not have, so no body contains one.
 */
import { crc32 } from 'node:zlib'

import { Accident, assert, fault } from '../std/index.ts'
import { isDiskFull, type Disk } from './disk.ts'

/** `kept` is on disk; `full` is not and will not be; `lost` may be, and the log takes no more. */
export type Written =
  | Readonly<{ type: 'kept' }>
  | Readonly<{ type: 'full' }>
  | Readonly<{ type: 'lost'; cause: unknown }>

const MARK = Buffer.from([0xf7, 0x6c, 0x6f, 0x67])
const HEAD_BYTES = 16
const KEPT: Written = { type: 'kept' }
const FULL: Written = { type: 'full' }

export class DiskLog {
  readonly #disk: Disk
  /** Where the last whole frame ends. */
  #length: number
  #number: number
  #flushes = 0
  #bytes = 0
  /** What there was no room for. */
  #refusedBytes = 0

  private constructor(disk: Disk, length: number, number: number) {
    this.#disk = disk
    this.#length = length
    this.#number = number
  }

  /** Gives the log and what it holds, all of which is on disk. */
  static async open(disk: Disk): Promise<Readonly<{ log: DiskLog; texts: readonly string[] }>> {
    const content = await disk.read()
    const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
    const texts: string[] = []
    let end = 0
    for (;;) {
      const frame = frameAt(bytes, end)
      if (frame === undefined || frame.number !== texts.length + 1) break
      texts.push(frame.text)
      end = frame.end
    }
    refuseDamage(bytes, end)
    if (end < bytes.length) await disk.truncate(end)
    await disk.sync() // what was read may be there only since nobody has crashed
    return { log: new DiskLog(disk, end, texts.length), texts }
  }

  /** Syncs that were asked for, and bytes that were kept, since it was opened. */
  get flushes(): number {
    return this.#flushes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** One at a time. */
  async write(text: string): Promise<Written> {
    const frame = frameOf(this.#number + 1, text)
    try {
      await this.#disk.append(frame)
    } catch (error) {
      return isDiskFull(error) ? this.#takeBack(frame.length) : { type: 'lost', cause: error }
    }
    try {
      this.#flushes++
      await this.#disk.sync()
    } catch (error) {
      return { type: 'lost', cause: error }
    }
    this.#number++
    this.#length += frame.length
    this.#bytes += frame.length
    return KEPT
  }

  /** Tries whether there is room by now for what was refused: `kept` if there is. */
  async probe(): Promise<Written> {
    assert(this.#refusedBytes > 0, 'a log is probed after it was full')
    try {
      await this.#disk.append(new Uint8Array(this.#refusedBytes))
      await this.#disk.truncate(this.#length)
      return KEPT
    } catch (error) {
      return isDiskFull(error) ? this.#takeBack(this.#refusedBytes) : { type: 'lost', cause: error }
    }
  }

  async #takeBack(bytes: number): Promise<Written> {
    this.#refusedBytes = bytes
    try {
      await this.#disk.truncate(this.#length)
      return FULL
    } catch (error) {
      return { type: 'lost', cause: error }
    }
  }
}

function frameOf(number: number, text: string): Buffer {
  const bodyBytes = Buffer.byteLength(text)
  const frame = Buffer.allocUnsafe(HEAD_BYTES + bodyBytes)
  MARK.copy(frame)
  frame.writeUInt32LE(number, 4)
  frame.writeUInt32LE(bodyBytes, 8)
  frame.write(text, HEAD_BYTES)
  frame.writeUInt32LE(checkOf(frame), 12)
  return frame
}

function frameAt(
  bytes: Buffer,
  at: number,
): Readonly<{ number: number; text: string; end: number }> | undefined {
  if (at + HEAD_BYTES > bytes.length || MARK.compare(bytes, at, at + 4) !== 0) return undefined
  const end = at + HEAD_BYTES + bytes.readUInt32LE(at + 8)
  if (end > bytes.length) return undefined
  if (bytes.readUInt32LE(at + 12) !== checkOf(bytes.subarray(at, end))) return undefined
  return {
    number: bytes.readUInt32LE(at + 4),
    text: bytes.toString('utf8', at + HEAD_BYTES, end),
    end,
  }
}

function checkOf(frame: Buffer): number {
  return crc32(frame.subarray(HEAD_BYTES), crc32(frame.subarray(4, 12)))
}

function refuseDamage(bytes: Buffer, from: number): void {
  for (let at = bytes.indexOf(MARK, from); at >= 0; at = bytes.indexOf(MARK, at + 1))
    if (frameAt(bytes, at) !== undefined) throw damaged(from, at)
}

function damaged(at: number, next: number): Accident<'damaged'> {
  return new Accident(
    fault('damaged', `the log is damaged at byte ${at}: whole frames go on at byte ${next}`, {
      at,
      next,
      remedy: 'put back a copy of the log; what is behind the damage cannot be told apart from it',
    }),
  )
}
