/**
 * The desk: what is durable and not filed yet, in the order in which it came.
 *
 * A group is laid on the desk as a whole, and its items are taken from it one by one, oldest first, as
 * they are filed. Each is also found by what a reader asks for. Of what may be overwritten only the
 * last version is found and filed; those before it stay in line and are passed over.
 */
import { Deque, FleetingMap } from '../../std/index.ts'
import type { StoredAnswer } from '../journal.ts'
import type { EventRow } from './checks.ts'
import { FrameReader, type Sink } from './frame-reader.ts'
import { GROUP_CRC_BYTES, GROUP_HEADER_BYTES } from './frame.ts'
import type { Group } from './intake.ts'
import { Passing } from './passing.ts'

export type DeskEvent = Readonly<{
  type: 'event'
  stream: string
  row: Omit<EventRow, 'stream' | 'crc' | 'link'>
}>

export type DeskRecord = {
  readonly type: 'record'
  readonly collection: string
  readonly key: string
  /** Null where it was deleted. */
  readonly value: Buffer | null
  isLatest: boolean
}

export type DeskAnswer = Readonly<
  { type: 'answer'; response: Buffer } & Omit<StoredAnswer, 'response'>
>

export type DeskSnapshot = {
  readonly type: 'snapshot'
  readonly stream: string
  readonly seq: number
  readonly fold: string
  /** Null where it was dropped. */
  readonly kept: Readonly<{ topAt: number; topSeq: number; state: Buffer }> | null
  isLatest: boolean
}

export type DeskFence = {
  readonly type: 'fence'
  readonly name: string
  readonly token: number
  isLatest: boolean
}

export type Item = DeskEvent | DeskRecord | DeskAnswer | DeskSnapshot | DeskFence

/** What has to be known of the tables. */
export interface Beneath {
  readonly filed: number
  readonly position: number
  version(stream: string): number
}

export class Desk {
  readonly #beneath: Beneath
  readonly #items = new Deque<Item>()
  /** For each group how many items had come when it was there. */
  readonly #groups = new Deque<Readonly<{ number: number; end: number }>>()
  readonly #events = new Deque<DeskEvent>()
  readonly #streams = new FleetingMap<string, Deque<DeskEvent>>()
  readonly #records = new Passing<DeskRecord>()
  readonly #answers = new FleetingMap<string, DeskAnswer>()
  readonly #snapshots = new Passing<DeskSnapshot>()
  readonly #fences = new Map<string, DeskFence>()
  readonly #sink: Sink = {
    event: (stream, event) => this.#layEvent(stream, event),
    record: (collection, key, value) => {
      const item: DeskRecord = { type: 'record', collection, key, value, isLatest: true }
      this.#lay(item)
      this.#records.set(collection, key, item)
    },
    answer: (key, fingerprint, response) => {
      const [position, at] = [this.#position, this.#at]
      const item: DeskAnswer = { type: 'answer', key, fingerprint, response, position, at }
      this.#lay(item)
      this.#answers.set(key, item)
    },
    snapshot: (stream, seq, fold, kept) => {
      const item: DeskSnapshot = { type: 'snapshot', stream, seq, fold, kept, isLatest: true }
      this.#lay(item)
      this.#snapshots.set(stream, placeOf(seq, fold), item)
    },
    fence: (name, token) => {
      const before = this.#fences.get(name)
      if (before !== undefined) before.isLatest = false
      const item: DeskFence = { type: 'fence', name, token, isLatest: true }
      this.#lay(item)
      this.#fences.set(name, item)
    },
  }
  /** Of the group and the entry that are being laid down. */
  #at = 0
  #batch = 0
  #came = 0
  #left = 0
  /** Items of groups of which nothing is left. */
  #passed = 0
  /** Items that had come at the last turn. */
  #turned = 0
  /** Whether nothing has come since all had left. */
  #isBare = true
  #position: number
  #filed: number

  constructor(beneath: Beneath) {
    this.#beneath = beneath
    this.#position = beneath.position
    this.#filed = beneath.filed
  }

  /** Items that wait, also those that are passed over. */
  get size(): number {
    return this.#items.length
  }

  /** The last group of which nothing is left here. */
  get filed(): number {
    return this.#filed
  }

  /** Whether what was taken ends with the last item of a group. */
  get isBetweenGroups(): boolean {
    return this.#left === this.#passed
  }

  /** The position of the last event, filed or not. */
  get position(): number {
    return this.#position
  }

  lay({ number, at, bytes }: Group): void {
    const reader = new FrameReader(bytes, GROUP_HEADER_BYTES, bytes.length - GROUP_CRC_BYTES)
    this.#at = at
    while (!reader.isDone) {
      this.#batch = this.#position + 1
      reader.entry(this.#sink)
    }
    this.#groups.pushBack({ number, end: this.#came })
    this.#passGroups()
  }

  /** The oldest item, which stays where it is until it is taken. */
  get next(): Item | undefined {
    return this.#items.peekFront()
  }

  /** Takes the oldest item from the desk. */
  take(): void {
    const item = this.#items.popFront()
    if (item === undefined) return
    this.#left += 1
    switch (item.type) {
      case 'event':
        this.#events.popFront()
        takeFirst(this.#streams, item.stream)
        break
      case 'record':
      case 'snapshot':
        item.isLatest = false
        break
      case 'answer':
        if (this.#answers.get(item.key) === item) this.#answers.delete(item.key)
        break
      case 'fence':
        if (item.isLatest) this.#fences.delete(item.name)
        break
    }
    this.#passGroups()
  }

  /** Events of all streams behind a position, as far as they are here. */
  *eventsAfter(position: number): Iterable<DeskEvent> {
    yield* behind(this.#events, position, ({ row }) => row.position)
  }

  *streamAfter(stream: string, seq: number): Iterable<DeskEvent> {
    const events = this.#streams.get(stream)
    if (events !== undefined) yield* behind(events, seq, ({ row }) => row.seq)
  }

  /** The version of a stream that has events here. */
  version(stream: string): number | undefined {
    const events = this.#streams.get(stream)
    return events?.at(events.length - 1)?.row.seq
  }

  streams(): Iterable<string> {
    return this.#streams.keys()
  }

  record(collection: string, key: string): DeskRecord | undefined {
    return this.#records.get(collection, key)
  }

  records(collection: string): Iterable<DeskRecord> {
    return this.#records.values(collection)
  }

  answer(key: string): DeskAnswer | undefined {
    return this.#answers.get(key)
  }

  snapshots(stream: string): Iterable<DeskSnapshot> {
    return this.#snapshots.values(stream)
  }

  #layEvent(stream: string, event: Parameters<Sink['event']>[1]): void {
    let events = this.#streams.get(stream)
    const seq = (this.version(stream) ?? this.#beneath.version(stream)) + 1
    if (events === undefined) this.#streams.set(stream, (events = new Deque()))
    const position = ++this.#position
    const { at, effective, type, version, about, data } = event
    const row = { position, seq, batch: this.#batch, at, effective, type, version, about, data }
    const item: DeskEvent = { type: 'event', stream, row }
    events.pushBack(item)
    this.#events.pushBack(item)
    this.#lay(item)
  }

  #lay(item: Item): void {
    this.#items.pushBack(item)
    this.#came += 1
    this.#isBare = false
  }

  #passGroups(): void {
    for (;;) {
      const group = this.#groups.peekFront()
      if (group === undefined || group.end > this.#left) return
      this.#filed = group.number
      this.#passed = group.end
      this.#groups.popFront()
      this.#turn()
    }
  }

  /** Where all has left that came before the last turn, it is time for the next. */
  #turn(): void {
    while (this.#left >= this.#turned && !this.#isBare) {
      this.#isBare = this.#turned === this.#came
      this.#turned = this.#came
      this.#records.turn()
      this.#snapshots.turn()
    }
  }
}

function placeOf(seq: number, fold: string): string {
  return `${seq}\0${fold}` // no name has a NUL
}

function takeFirst(streams: FleetingMap<string, Deque<DeskEvent>>, stream: string): void {
  const events = streams.get(stream)
  events?.popFront()
  if (events?.length === 0) streams.delete(stream)
}

/** Those whose place, which grows by one from each to the next, is behind `place`. */
function* behind(
  events: Deque<DeskEvent>,
  place: number,
  placeOfEvent: (event: DeskEvent) => number,
): Iterable<DeskEvent> {
  const first = events.peekFront()
  if (first === undefined) return
  for (let n = Math.max(0, place + 1 - placeOfEvent(first)); n < events.length; n++)
    yield events.at(n)!
}
