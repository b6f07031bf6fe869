/**
 * Batches as bytes, the way from the thread that commits to the disk and into the tables.
 *
 *   group  := header, entry*, crc                 see intake.ts
 *   entry  := its length, what it is, and then
 *     batch  counts, fence?, answers, appends, snapshots, records
 *     take   the name of a fence and the token it gets
 *
 * What a batch is judged by comes before what is only kept, and a list of events says how long it is:
 * so a judge reads no payload. Texts are UTF-8 with their length in front, all numbers little-endian.
 */
import { writeText } from './texts.ts'
import type { Batch, Expected, NewEvent, RecordWrite, SnapshotWrite } from '../journal.ts'

/** What is left free in front of the entries of a group, and behind them. */
export const GROUP_HEADER_BYTES = 40
export const GROUP_CRC_BYTES = 4

export const ENTRY = { batch: 1, take: 2 } as const
export const RECORD = { put: 1, deleted: 2 } as const
export const SNAPSHOT = { kept: 1, dropped: 2 } as const
/** Which of the parts an event need not have are there. */
export const HAS = { effective: 1, requestId: 2, actor: 4, trace: 8 } as const
/** What is expected of a stream where it is no version. */
export const EXPECTED = { any: -1, none: -2 } as const

const UTF8_BYTES_PER_UNIT = 3
/** More than the lengths, counts and numbers of any one item of a batch. */
const ITEM_BYTES = 64
const FIRST_BYTES = 65_536
/** A buffer that one large batch has made larger than this is given back. */
const KEPT_BYTES = 1_048_576

/** Entries on their way out. */
export class FrameWriter {
  #bytes: Buffer<ArrayBuffer> = bufferOf(FIRST_BYTES)
  #view = new DataView(this.#bytes.buffer)
  #end = GROUP_HEADER_BYTES
  #count = 0

  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#end - GROUP_HEADER_BYTES
  }

  /** Adds a batch that was checked, whose texts are `chars` long; gives the bytes it takes. */
  batch(
    { streams = [], records = [], ledger = [], snapshots = [], fence }: Batch,
    chars: number,
  ): number {
    let items = 1 + records.length + ledger.length + snapshots.length
    let events = 0
    for (const append of streams) events += append.events.length
    items += streams.length + events
    this.#reserve(chars * UTF8_BYTES_PER_UNIT + items * ITEM_BYTES)
    const start = this.#begin(ENTRY.batch)
    this.#byte(fence === undefined ? 0 : 1)
    this.#short(ledger.length)
    this.#short(streams.length)
    this.#short(snapshots.length)
    this.#short(records.length)
    this.#short(events)
    if (fence !== undefined) {
      this.#text(fence.name)
      this.#number(fence.token)
    }
    for (const { key, fingerprint, response } of ledger) {
      this.#text(key)
      this.#text(fingerprint)
      this.#text(response)
    }
    for (const append of streams) this.#append(append.stream, append.expected, append.events)
    for (const snapshot of snapshots) this.#snapshot(snapshot)
    for (const record of records) this.#record(record)
    return this.#finish(start)
  }

  /** Adds the taking of a fence. Its token is known to the judge only. */
  take(name: string): number {
    this.#reserve(name.length * UTF8_BYTES_PER_UNIT + ITEM_BYTES)
    const start = this.#begin(ENTRY.take)
    this.#number(0)
    this.#text(name)
    return this.#finish(start)
  }

  /** What was added, with room for the header and the crc of a group; the next begins empty. */
  cut(): ArrayBuffer {
    const buffer = this.#bytes.buffer.slice(0, this.#end + GROUP_CRC_BYTES)
    this.#end = GROUP_HEADER_BYTES
    this.#count = 0
    if (this.#bytes.length > KEPT_BYTES) this.#use(bufferOf(FIRST_BYTES))
    return buffer
  }

  #append(stream: string, expected: Expected, events: readonly NewEvent[]): void {
    this.#text(stream)
    this.#number(typeof expected === 'number' ? expected : EXPECTED[expected])
    this.#short(events.length)
    const start = this.#end
    this.#end += 4
    for (const event of events) this.#event(event)
    this.#view.setUint32(start, this.#end - start - 4, true)
  }

  #event({ type, version, at, effectiveAt, data, requestId, actor, trace }: NewEvent): void {
    this.#byte(
      (effectiveAt === undefined ? 0 : HAS.effective) |
        (requestId === undefined ? 0 : HAS.requestId) |
        (actor === undefined ? 0 : HAS.actor) |
        (trace === undefined ? 0 : HAS.trace),
    )
    this.#text(type)
    this.#number(version)
    this.#number(at)
    if (effectiveAt !== undefined) this.#number(effectiveAt)
    if (requestId !== undefined) this.#text(requestId)
    if (actor !== undefined) this.#text(actor)
    if (trace !== undefined) this.#text(trace)
    this.#text(data)
  }

  #snapshot(write: SnapshotWrite): void {
    const isDropped = 'dropped' in write
    this.#byte(isDropped ? SNAPSHOT.dropped : SNAPSHOT.kept)
    this.#text(write.stream)
    this.#number(write.seq)
    this.#text(write.fold)
    if (isDropped) return
    this.#number(write.topAt)
    this.#number(write.topSeq)
    this.#text(write.state)
  }

  #record(write: RecordWrite): void {
    const isPut = 'value' in write
    this.#byte(isPut ? RECORD.put : RECORD.deleted)
    this.#text(write.collection)
    this.#text(write.key)
    if (isPut) this.#text(write.value)
  }

  #begin(kind: number): number {
    const start = this.#end
    this.#end += 4
    this.#byte(kind)
    return start
  }

  #finish(start: number): number {
    this.#view.setUint32(start, this.#end - start - 4, true)
    this.#count++
    return this.#end - start
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes + GROUP_CRC_BYTES
    if (needed <= this.#bytes.length) return
    const larger = bufferOf(Math.max(this.#bytes.length * 2, needed))
    this.#bytes.copy(larger, 0, 0, this.#end)
    this.#use(larger)
  }

  #use(bytes: Buffer<ArrayBuffer>): void {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer)
  }

  #byte(value: number): void {
    this.#bytes[this.#end++] = value
  }

  #short(value: number): void {
    this.#view.setUint16(this.#end, value, true)
    this.#end += 2
  }

  /** A zero with a sign is a zero: the tables know no other. */
  #number(value: number): void {
    this.#view.setFloat64(this.#end, value + 0, true)
    this.#end += 8
  }

  #text(value: string): void {
    const length = writeText(this.#bytes, value, this.#end + 4)
    this.#view.setUint32(this.#end, length, true)
    this.#end += 4 + length
  }
}

/** A buffer that shares its memory with nothing else: it is cut as a whole. */
function bufferOf(bytes: number): Buffer<ArrayBuffer> {
  return Buffer.from(new ArrayBuffer(bytes))
}

/** Writes the token into the entry that takes a fence and begins at `start`. */
export function setToken(bytes: Buffer, start: number, token: number): void {
  bytes.writeDoubleLE(token, start + 5)
}
