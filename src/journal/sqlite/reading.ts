/**
 * Reads: the desk laid over the tables.
 *
 * Every row is checked before it is given out, and what the tables must have and do not have is
 * missed. Where something is wrong the read that asked for it is refused and no other. All of it is
 * synchronous: nothing is filed in between.
 */
import type { StatementSync } from 'node:sqlite'
import { Accident, fault } from '../../std/index.ts'
import type { Snapshot, StoredAnswer, StoredEvent, StoredRecord, StreamHead } from '../journal.ts'
import { compareBytes } from '../sorted-map.ts'
import { isForgotten } from '../verdict.ts'
import { checkedAnswer } from './answers.ts'
import { linkOf, recordTextCrc, type EventRow, type SnapshotRow, type StreamRow } from './checks.ts'
import { damaged, reading } from './damage.ts'
import type { Desk, DeskRecord } from './desk.ts'
import { isLostEvent } from './lost.ts'
import { merged, pageTexts, spanOf } from './paging.ts'
import { rightOf, TABLES } from './rows.ts'
import type { Tables } from './tables.ts'

/**
 * What one read gives at most, in bytes of payload: a page of events or records ends before it would have
 * more, and what was asked for by name is refused with `bad-read`.
 */
export const READ_BYTES_MAX = 67_108_864

/** Names of streams that are remembered by their id. */
const NAMES_KEPT = 65_536

type Row = Readonly<Record<string, unknown>>

/** A record as it is read fastest: values in the order of the columns, the blob as the text it is. */
type TextRow = readonly [collection: unknown, key: unknown, value: unknown, crc: unknown]

const TEXT_COLUMNS = 'collection, key, cast(value as text), crc'

type Statements = Readonly<
  Record<'stream' | 'all' | 'name' | 'record' | 'answer' | 'snapshots', StatementSync> &
    Record<'streams' | 'records', readonly StatementSync[]>
>

export class Reading {
  readonly #tables: Tables
  readonly #desk: () => Desk
  readonly #names = new Map<number, string>()
  readonly #statements: Statements

  constructor(tables: Tables, desk: () => Desk) {
    this.#tables = tables
    this.#desk = desk
    const prepare = (text: string): StatementSync => tables.database.prepare(text)
    const asArrays = (text: string): StatementSync => {
      const statement = prepare(text)
      statement.setReturnArrays(true)
      return statement
    }
    this.#statements = {
      stream: prepare('select * from events where stream = ? and seq > ? order by seq limit ?'),
      all: prepare('select * from events where position > ? order by position limit ?'),
      name: prepare('select * from streams where id = ?'),
      streams: pageTexts('streams where', 'name').map(prepare),
      records: pageTexts('records where collection = ? and', 'key', TEXT_COLUMNS).map(asArrays),
      record: asArrays(`select ${TEXT_COLUMNS} from records where collection = ? and key = ?`),
      answer: prepare('select * from ledger where key = ?'),
      snapshots: prepare('select * from snapshots where stream = ? and fold = ? order by seq desc'),
    }
  }

  version(stream: string): number {
    return this.#desk().version(stream) ?? this.#tables.head(stream)?.version ?? 0
  }

  stream(name: string, after: number, limit: number): StoredEvent[] {
    const head = this.#tables.head(name)
    const found = new Found<StoredEvent>()
    if (head !== undefined && after < head.version) {
      let [seq, link] = [after, after === 0 ? 0 : undefined]
      reading({ table: 'events', stream: name }, () => {
        for (const row of this.#statements.stream.iterate(head.id, after, limit)) {
          if (row['seq'] !== ++seq) throw missingEvent(name, seq)
          const event = checkedEvent(row, name, { stream: head.id, seq }, link)
          link = event.link
          if (!found.add(storedEvent(event, name), event.data.length)) return
        }
      })
      if (!found.isCut && seq < Math.min(head.version, after + limit))
        throw missingEvent(name, seq + 1)
      if (seq > head.version || (seq === head.version && link !== head.link))
        throw damaged(`the end of the stream ${name} is damaged`, {
          table: 'streams',
          stream: name,
        })
    }
    for (const { stream, row } of this.#desk().streamAfter(name, after + found.length)) {
      if (found.isCut || found.length === limit) break
      found.add(storedEvent(row, stream), row.data.length)
    }
    return found.items
  }

  /** As many as fit, so that whoever goes on from the last of them need not know how large they are. */
  all(after: number, limit: number): StoredEvent[] {
    const found = new Found<StoredEvent>()
    const end = Math.min(this.#tables.position, after + limit)
    let position = after
    if (after < end)
      reading({ table: 'events' }, () => {
        for (const row of this.#statements.all.iterate(after, end - after)) {
          if (row['position'] !== ++position) throw missingPosition(position)
          const name = this.#nameOf(Number(row['stream']), position)
          const event = checkedEvent(row, name, { position })
          if (!found.add(storedEvent(event, name), event.data.length)) return
        }
      })
    if (!found.isCut && position < end) throw missingPosition(position + 1)
    for (const { stream, row } of this.#desk().eventsAfter(position)) {
      if (found.isCut || found.length === limit) break
      found.add(storedEvent(row, stream), row.data.length)
    }
    return found.items
  }

  streams(prefix: string, after: string | undefined, limit: number): StreamHead[] {
    this.#tables.writeHeads()
    const span = spanOf(prefix, after)
    const added = [...this.#desk().streams()].filter(
      (name) => span.has(name) && this.#tables.head(name) === undefined,
    )
    const statement = this.#statements.streams[span.isAfter ? 1 : 0]!
    const rows = statement.iterate(span.from, span.end)
    const found: StreamHead[] = []
    reading({ table: 'streams' }, () => {
      const keys = merged(rows, ({ name }) => String(name), added.toSorted(compareBytes))
      for (const [stream, row] of keys) {
        if (found.length === limit) break
        const filed = row === undefined ? 0 : checkedStream(row, { name: stream }).version
        found.push({ stream, version: this.#desk().version(stream) ?? filed })
      }
    })
    return found
  }

  records(
    collection: string,
    prefix: string,
    after: string | undefined,
    limit: number,
  ): StoredRecord[] {
    const desk = this.#desk()
    const span = spanOf(prefix, after)
    const laid: string[] = []
    for (const { key } of desk.records(collection)) if (span.has(key)) laid.push(key)
    const id = this.#tables.collection(collection)
    const statement = this.#statements.records[span.isAfter ? 1 : 0]!
    const rows = id === undefined ? [] : textRows(statement.iterate(id, span.from, span.end))
    const found = new Found<StoredRecord>()
    reading({ table: 'records', collection }, () => {
      const keys = merged(rows, (row) => String(row[1]), laid.toSorted(compareBytes))
      for (const [key, row] of keys) {
        if (found.isCut || found.length === limit) break
        const here = laid.length === 0 ? undefined : desk.record(collection, key)
        if (here !== undefined) addRecord(found, here)
        else if (row !== undefined && id !== undefined) addChecked(found, collection, row, id, key)
      }
    })
    return found.items
  }

  getRecords(collection: string, keys: readonly string[]): StoredRecord[] {
    const found = new Found<StoredRecord>()
    const id = this.#tables.collection(collection)
    for (const key of keys) {
      const laid = this.#desk().record(collection, key)
      if (laid !== undefined) addRecord(found, laid)
      else if (id !== undefined) {
        const rows = reading({ table: 'records', collection, key }, () =>
          this.#statements.record.all(id, key),
        )
        for (const row of textRows(rows)) addChecked(found, collection, row, id, key)
      }
    }
    return found.whole()
  }

  lookup(key: string, now: number, retentionMs: number): StoredAnswer | undefined {
    const laid = this.#desk().answer(key)
    const row = laid ?? checkedAnswer(this.#statements.answer, key)
    if (row === undefined || isForgotten(row.at, now, retentionMs)) return undefined
    const { fingerprint, response, position, at } = row
    return { key, fingerprint, response: textOf(response), position, at }
  }

  snapshots(stream: string, fold: string, limit: number): Snapshot[] {
    const bySeq = new Map<number, Snapshot | null>()
    for (const { seq, fold: other, kept } of this.#desk().snapshots(stream))
      if (other === fold)
        bySeq.set(
          seq,
          kept && {
            stream,
            seq,
            fold,
            topAt: kept.topAt,
            topSeq: kept.topSeq,
            state: textOf(kept.state),
          },
        )
    const id = this.#tables.head(stream)?.id
    if (id !== undefined)
      reading({ table: 'snapshots', stream }, () => {
        for (const row of this.#statements.snapshots.iterate(id, fold))
          if (!bySeq.has(Number(row['seq']))) {
            const snapshot = checkedSnapshot(row, stream, { stream: id, fold })
            bySeq.set(snapshot.seq, snapshot)
          }
      })
    const found = new Found<Snapshot>()
    for (const snapshot of [...bySeq.values()]
      .filter((one) => one !== null)
      .toSorted((a, b) => b.seq - a.seq)) {
      if (found.length === limit) break
      found.add(snapshot, snapshot.state.length)
    }
    return found.whole()
  }

  #nameOf(stream: number, position: number): string {
    const known = this.#names.get(stream)
    if (known !== undefined) return known
    this.#tables.writeHeads()
    const row = this.#statements.name.get(stream)
    if (row === undefined)
      throw damaged(`the stream of the event at position ${position} is missing`, {
        table: 'streams',
        position,
      })
    const { name } = checkedStream(row, { id: stream })
    if (this.#names.size >= NAMES_KEPT) this.#names.clear()
    this.#names.set(stream, name)
    return name
  }
}

/** Items of one read, which have a bound. */
class Found<T> {
  readonly items: T[] = []
  #bytes = 0
  #isCut = false

  get length(): number {
    return this.items.length
  }

  /** Whether something was left out that did not fit. */
  get isCut(): boolean {
    return this.#isCut
  }

  add(item: T, bytes: number): boolean {
    this.#bytes += bytes
    this.#isCut ||= this.#bytes > READ_BYTES_MAX
    if (!this.#isCut) this.items.push(item)
    return !this.#isCut
  }

  /** All there is, for whoever cannot ask for the rest. */
  whole(): T[] {
    if (!this.#isCut) return this.items
    throw new Accident(
      fault('bad-read', 'what is read at once is too large', {
        limit: READ_BYTES_MAX,
        items: this.items.length,
        remedy: 'ask for less at a time',
      }),
    )
  }
}

function textRows(rows: Iterable<unknown>): Iterable<TextRow> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rows of a statement that gives such arrays
  return rows as Iterable<TextRow>
}

function checkedEvent(
  row: Row,
  stream: string,
  asked: Partial<EventRow>,
  linkBefore?: number,
): EventRow {
  const [seq, position] = [Number(row['seq']), Number(row['position'])]
  const which = `event ${seq} of the stream ${stream}, at position ${position},`
  const where = { table: 'events', stream, seq, position }
  const right = rightOf(TABLES.events, row, asked)
  if (right === undefined || !isLinked(right, linkBefore))
    throw damaged(`${which} is damaged`, where)
  if (isLostEvent(right)) throw damaged(`${which} is lost`, where)
  return right
}

function isLinked({ crc, link }: EventRow, linkBefore: number | undefined): boolean {
  return linkBefore === undefined || linkOf(linkBefore, crc) === link
}

function checkedStream(row: Row, asked: Partial<StreamRow>): StreamRow {
  const right = rightOf(TABLES.streams, row, asked)
  if (right !== undefined) return right
  const stream = String(row['name'])
  throw damaged(`the stream ${stream} is damaged`, { table: 'streams', stream })
}

function missingEvent(stream: string, seq: number): Accident {
  return damaged(`event ${seq} of the stream ${stream} is missing`, {
    table: 'events',
    stream,
    seq,
  })
}

function missingPosition(position: number): Accident {
  return damaged(`the event at position ${position} is missing`, { table: 'events', position })
}

function storedEvent(row: Omit<EventRow, 'stream' | 'crc' | 'link'>, stream: string): StoredEvent {
  const { position, seq, batch, at, effective, type, version, about, data } = row
  const event = { stream, seq, position, batch, type, version, at, data: textOf(data) }
  if (effective === null && about === null) return event
  return {
    ...event,
    ...(effective !== null && { effectiveAt: effective }),
    ...(about !== null && JSON.parse(about)),
  }
}

function checkedSnapshot(row: Row, stream: string, asked: Partial<SnapshotRow>): Snapshot {
  const seq = Number(row['seq'])
  const right = rightOf(TABLES.snapshots, row, asked)
  if (right === undefined)
    throw damaged(`the snapshot of ${stream} after ${seq} events is damaged`, {
      table: 'snapshots',
      stream,
      seq,
    })
  const { fold, top_at, top_seq, state } = right
  return { stream, seq, fold, topAt: top_at, topSeq: top_seq, state: textOf(state) }
}

function addRecord(found: Found<StoredRecord>, { key, value }: DeskRecord): void {
  if (value !== null) found.add({ key, value: textOf(value) }, value.length)
}

/** Bytes that are no text become other bytes, and so have another crc. */
function addChecked(
  found: Found<StoredRecord>,
  collection: string,
  [inCollection, atKey, value, crc]: TextRow,
  id: number,
  key: string,
): void {
  const isRight =
    inCollection === id &&
    atKey === key &&
    typeof value === 'string' &&
    recordTextCrc(id, key, value) === crc
  if (!isRight)
    throw damaged(`the record ${key} of ${collection} is damaged`, {
      table: 'records',
      collection,
      key,
    })
  found.add({ key, value }, Buffer.byteLength(value))
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
}
