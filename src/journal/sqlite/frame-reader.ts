/** The way back from bytes to batches: see frame.ts. Only bytes whose crc was right are read. */
import { assert } from '../../std/index.ts'
import type {
  Batch,
  Expected,
  LedgerEntry,
  NewEvent,
  SnapshotWrite,
  StreamAppend,
} from '../journal.ts'
import { ENTRY, EXPECTED, HAS, RECORD, SNAPSHOT } from './frame.ts'
import { KnownTexts } from './texts.ts'

/** What a judge has to know of an entry. */
export type Brief =
  | Readonly<{ type: 'take'; name: string; end: number }>
  | Readonly<{
      type: 'batch'
      /** Without records, and with holes for events and payloads of snapshots. */
      batch: Batch
      events: number
      end: number
    }>

/** What becomes of the parts of an entry. Bytes are parts of the group they came in. */
export interface Sink {
  event(
    stream: string,
    event: Readonly<{
      type: string
      version: number
      at: number
      effective: number | null
      about: string | null
      data: Buffer
    }>,
  ): void
  record(collection: string, key: string, value: Buffer | null): void
  answer(key: string, fingerprint: string, response: Buffer): void
  snapshot(
    stream: string,
    seq: number,
    fold: string,
    kept: Readonly<{ topAt: number; topSeq: number; state: Buffer }> | null,
  ): void
  fence(name: string, token: number): void
}

/** Names of streams, collections and types. */
const names = new KnownTexts()

/** Reads the entries of a group one after the other. */
export class FrameReader {
  readonly #bytes: Buffer
  readonly #view: DataView
  readonly #last: number
  #at: number

  /** The entries stand in `bytes` from `start` up to before `end`. */
  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#at = start
    this.#last = end
  }

  get at(): number {
    return this.#at
  }

  get isDone(): boolean {
    return this.#at >= this.#last
  }

  /** Reads what the next entry is to be judged by, and goes on behind it. */
  brief(): Brief {
    const end = this.#begin()
    const type = this.#byte()
    let brief: Brief
    if (type === ENTRY.take) {
      this.#at += 8
      brief = { type: 'take', name: this.#text(), end }
    } else {
      assert(type === ENTRY.batch, 'an entry is a batch or takes a fence')
      brief = this.#briefBatch(end)
    }
    this.#at = end
    return brief
  }

  /** Reads all of the next entry into the sink. */
  entry(sink: Sink): void {
    const end = this.#begin()
    const type = this.#byte()
    if (type === ENTRY.take) {
      const token = this.#number()
      sink.fence(this.#text(), token)
    } else {
      assert(type === ENTRY.batch, 'an entry is a batch or takes a fence')
      this.#batch(sink)
    }
    assert(this.#at === end, 'an entry ends where it says')
  }

  #begin(): number {
    const length = this.#view.getUint32(this.#at, true)
    this.#at += 4
    return this.#at + length
  }

  #briefBatch(end: number): Brief {
    const hasFence = this.#byte() === 1
    const [ledger, streams, snapshots] = [this.#short(), this.#short(), this.#short()]
    this.#at += 2
    const events = this.#short()
    const batch: { -readonly [Part in keyof Batch]: Batch[Part] } = {}
    if (hasFence) batch.fence = { name: this.#text(), token: this.#number() }
    if (ledger > 0) batch.ledger = this.#briefLedger(ledger)
    if (streams > 0) batch.streams = this.#briefStreams(streams)
    if (snapshots > 0) batch.snapshots = this.#briefSnapshots(snapshots)
    return { type: 'batch', batch, events, end }
  }

  #briefLedger(count: number): LedgerEntry[] {
    const ledger: LedgerEntry[] = []
    for (let n = 0; n < count; n++)
      ledger.push({ key: this.#text(), fingerprint: this.#text(), response: this.#text() })
    return ledger
  }

  #briefStreams(count: number): StreamAppend[] {
    const streams: StreamAppend[] = []
    for (let n = 0; n < count; n++) {
      const stream = this.#name()
      const expected = expectedOf(this.#number())
      const events = new Array<NewEvent>(this.#short())
      this.#skip()
      streams.push({ stream, expected, events })
    }
    return streams
  }

  #briefSnapshots(count: number): SnapshotWrite[] {
    const snapshots: SnapshotWrite[] = []
    for (let n = 0; n < count; n++) snapshots.push(this.#briefSnapshot())
    return snapshots
  }

  #briefSnapshot(): SnapshotWrite {
    const isDropped = this.#byte() === SNAPSHOT.dropped
    const [stream, seq, fold] = [this.#text(), this.#number(), this.#text()]
    if (isDropped) return { stream, seq, fold, dropped: true }
    const [topAt, topSeq] = [this.#number(), this.#number()]
    this.#skip()
    return { stream, seq, fold, topAt, topSeq, state: '' }
  }

  #batch(sink: Sink): void {
    const hasFence = this.#byte() === 1
    const ledger = this.#short()
    const streams = this.#short()
    const snapshots = this.#short()
    const records = this.#short()
    this.#at += 2
    if (hasFence) {
      this.#skip()
      this.#at += 8
    }
    // Answers are given after the events they stand behind, so they are read twice.
    const answersAt = this.#at
    for (let n = 0; n < ledger * 3; n++) this.#skip()
    for (let n = 0; n < streams; n++) this.#events(sink)
    for (let n = 0; n < snapshots; n++) this.#snapshot(sink)
    for (let n = 0; n < records; n++) this.#record(sink)
    const end = this.#at
    this.#at = answersAt
    for (let n = 0; n < ledger; n++) sink.answer(this.#text(), this.#text(), this.#blob())
    this.#at = end
  }

  #events(sink: Sink): void {
    const stream = this.#name()
    this.#at += 8
    const count = this.#short()
    this.#at += 4
    for (let n = 0; n < count; n++) {
      const has = this.#byte()
      const type = this.#name()
      const version = this.#number()
      const at = this.#number()
      const effective = has & HAS.effective ? this.#number() : null
      const about = has > HAS.effective ? this.#about(has) : null
      sink.event(stream, { type, version, at, effective, about, data: this.#blob() })
    }
  }

  #about(has: number): string {
    return JSON.stringify({
      ...(has & HAS.requestId && { requestId: this.#text() }),
      ...(has & HAS.actor && { actor: this.#text() }),
      ...(has & HAS.trace && { trace: this.#text() }),
    })
  }

  #snapshot(sink: Sink): void {
    const isDropped = this.#byte() === SNAPSHOT.dropped
    const stream = this.#text()
    const seq = this.#number()
    const fold = this.#text()
    if (isDropped) return sink.snapshot(stream, seq, fold, null)
    const topAt = this.#number()
    const topSeq = this.#number()
    sink.snapshot(stream, seq, fold, { topAt, topSeq, state: this.#blob() })
  }

  #record(sink: Sink): void {
    const isPut = this.#byte() === RECORD.put
    const collection = this.#name()
    const key = this.#text()
    sink.record(collection, key, isPut ? this.#blob() : null)
  }

  #byte(): number {
    return this.#bytes[this.#at++]!
  }

  #short(): number {
    const value = this.#view.getUint16(this.#at, true)
    this.#at += 2
    return value
  }

  #number(): number {
    const value = this.#view.getFloat64(this.#at, true)
    this.#at += 8
    return value
  }

  #text(): string {
    const start = this.#at + 4
    this.#skip()
    return this.#bytes.toString('utf8', start, this.#at)
  }

  #name(): string {
    const start = this.#at + 4
    this.#skip()
    return names.read(this.#bytes, start, this.#at)
  }

  #blob(): Buffer {
    const start = this.#at + 4
    this.#skip()
    return this.#bytes.subarray(start, this.#at)
  }

  #skip(): void {
    this.#at += 4 + this.#view.getUint32(this.#at, true)
  }
}

function expectedOf(value: number): Expected {
  return value === EXPECTED.any ? 'any' : value === EXPECTED.none ? 'none' : value
}
