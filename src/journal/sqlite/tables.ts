/**
 * The tables, as the one who files into them sees them: what their rows add up to is kept in memory
 * while a transaction is open, and written with its last statement. `commit` moves `anchor.filed`, so
 * rows and the group they came from are there together or not at all.
 *
 * A row that is read is checked before it is believed.
 */
import type { DatabaseSync } from 'node:sqlite'
import {
  anchorCrc,
  digestCrc,
  eventCrc,
  fenceCrc,
  FENCES_DIGEST,
  ledgerCrc,
  linkOf,
  recordCrc,
  snapshotCrc,
  SNAPSHOTS_DIGEST,
  streamCrc,
  sumWith,
  sumWithout,
  type AnchorRow,
  type DigestRow,
  type EventRow,
  type LedgerRow,
  type SnapshotRow,
} from './checks.ts'
import { damaged, reading } from './damage.ts'
import { rightOf, TABLES } from './rows.ts'
import { prepared, type Statements } from './statements.ts'
import { isForgotten } from '../verdict.ts'

/** Where a stream ends, in the tables. */
export type Head = {
  readonly id: number
  readonly name: string
  version: number
  link: number
  /** What its row in the table says differs. */
  isChanged: boolean
  isNew: boolean
}

type Digest = Omit<DigestRow, 'crc'> & { isChanged: boolean }

/** Ends of streams that are remembered beside those of the transaction. */
const HEADS_KEPT = 65_536
/** Answers that are looked at when some may be forgotten, for each one that came. */
const FORGOTTEN_AT_ONCE = 1_024

export class Tables {
  readonly database: DatabaseSync
  readonly #statements: Statements
  readonly #heads = new Map<string, Head>()
  readonly #changedHeads: Head[] = []
  readonly #digests = new Map<string, Digest>()
  #snapshots: Digest
  #fences: Digest
  #anchor: AnchorRow

  constructor(database: DatabaseSync) {
    this.database = database
    this.#statements = prepared(database)
    this.#anchor = this.#readAnchor()
    this.#snapshots = this.#digestOf(SNAPSHOTS_DIGEST)
    this.#fences = this.#digestOf(FENCES_DIGEST)
  }

  get filed(): number {
    return this.#anchor.filed
  }

  get position(): number {
    return this.#anchor.position
  }

  /** Where the stream ends, as of the open transaction. */
  head(name: string): Head | undefined {
    const known = this.#heads.get(name)
    if (known !== undefined) return known
    const where = { table: 'streams', stream: name }
    const row = reading(where, () => this.#statements.stream.get(name))
    if (row === undefined) return undefined
    const right = rightOf(TABLES.streams, row)
    if (right === undefined) throw damaged(`the stream ${name} is damaged`, where)
    const { id, version, link } = right
    const head = { id, name, version, link, isChanged: false, isNew: false }
    this.#heads.set(name, head)
    return head
  }

  /** The id of a collection, as of the open transaction. */
  collection(name: string): number | undefined {
    return this.#digest(name)?.id
  }

  event(stream: string, row: Omit<EventRow, 'stream' | 'crc' | 'link'>): void {
    const head = this.head(stream) ?? this.#newStream(stream)
    const { position, seq, batch, at, effective, type, version, about, data } = row
    const crc = eventCrc({ ...row, stream: head.id })
    const link = linkOf(head.link, crc)
    this.#statements.insertEvent.run(
      position,
      head.id,
      seq,
      batch,
      at,
      effective,
      type,
      version,
      about,
      data,
      crc,
      link,
    )
    this.#anchor.position = position
    head.version = seq
    head.link = link
    if (!head.isChanged) this.#changedHeads.push(head)
    head.isChanged = true
  }

  putRecord(collection: string, key: string, value: Uint8Array): void {
    const digest = this.#digest(collection) ?? this.#newCollection(collection)
    const { id } = digest
    const crc = recordCrc({ collection: id, key, value })
    const { insertRecord, crcOfRecord, updateRecord } = this.#statements
    if (insertRecord.run(id, key, value, crc).changes === 0) {
      remove(digest, crcOfRecord.get(id, key))
      updateRecord.run(value, crc, id, key)
    }
    add(digest, crc)
  }

  deleteRecord(collection: string, key: string): void {
    const digest = this.#digest(collection)
    if (digest === undefined) return
    remove(digest, this.#statements.deleteRecord.get(digest.id, key))
  }

  answer(row: Omit<LedgerRow, 'id' | 'crc'>): void {
    const { key, fingerprint, response, position, at } = row
    const { insertAnswer, idOfAnswer } = this.#statements
    const id = this.#anchor.ledger_last + 1
    const values = [
      id,
      key,
      fingerprint,
      response,
      position,
      at,
      ledgerCrc({ ...row, id }),
    ] as const
    if (insertAnswer.run(...values).changes === 0) {
      // A key comes back only when it was forgotten, and whatever is older was forgotten before it.
      const before = idOfAnswer.get(key)
      if (before === undefined) throw damaged('the ledger is damaged', { table: 'ledger', key })
      this.#forgetUpTo(Number(before['id']))
      insertAnswer.run(...values)
    }
    this.#anchor.ledger_last = id
  }

  /** Deletes some of the answers that are older than they are remembered. */
  forget(now: number, retentionMs: number): void {
    const { oldestAnswers } = this.#statements
    const first = oldestAnswers.get(this.#anchor.ledger_first, 1)
    if (first === undefined || !isForgotten(Number(first['at']), now, retentionMs)) return
    const oldest = oldestAnswers.all(this.#anchor.ledger_first, FORGOTTEN_AT_ONCE)
    const kept = oldest.findIndex(({ at }) => !isForgotten(Number(at), now, retentionMs))
    const last = kept === -1 ? oldest.at(-1) : oldest[kept - 1]
    if (last !== undefined) this.#forgetUpTo(Number(last['id']))
  }

  keepSnapshot(stream: string, row: Omit<SnapshotRow, 'stream' | 'crc'>): void {
    const id = this.head(stream)?.id
    if (id === undefined)
      throw damaged(`the stream ${stream} is missing`, { table: 'streams', stream })
    const { seq, fold, top_at, top_seq, state } = row
    this.dropSnapshot(stream, seq, fold)
    const crc = snapshotCrc({ ...row, stream: id })
    this.#statements.insertSnapshot.run(id, seq, fold, top_at, top_seq, state, crc)
    add(this.#snapshots, crc)
  }

  dropSnapshot(stream: string, seq: number, fold: string): void {
    const id = this.head(stream)?.id
    if (id !== undefined)
      remove(this.#snapshots, this.#statements.deleteSnapshot.get(id, seq, fold))
  }

  fence(name: string, token: number): void {
    remove(this.#fences, this.#statements.deleteFence.get(name))
    const crc = fenceCrc({ name, token })
    this.#statements.insertFence.run(name, token, crc)
    add(this.#fences, crc)
  }

  /** The token of a fence, as of the open transaction; 0 if nobody took it. */
  token(name: string): number {
    const where = { table: 'fences', key: name }
    const row = reading(where, () => this.#statements.fence.get(name))
    if (row === undefined) return 0
    const right = rightOf(TABLES.fences, row)
    if (right === undefined) throw damaged(`the fence ${name} is damaged`, where)
    return right.token
  }

  /** When the latest answer was given. */
  lastAt(): number {
    const row = this.#statements.lastAnswer.get()
    return row === undefined ? -Infinity : Number(row['at'])
  }

  begin(): void {
    if (!this.database.isTransaction) this.database.exec('begin immediate')
  }

  /** Writes where streams end, so that a reader of the table sees it. */
  writeHeads(): void {
    const { insertStream, updateStream } = this.#statements
    for (const head of this.#changedHeads.splice(0)) {
      const { id, name, version, link } = head
      const crc = streamCrc({ id, name, version, link })
      if (head.isNew) insertStream.run(version, link, crc, id, name)
      else updateStream.run(version, link, crc, id)
      head.isChanged = false
      head.isNew = false
    }
    if (this.#heads.size > HEADS_KEPT) this.#heads.clear()
  }

  /** Durable when it returns, all groups up to `filed` included. */
  commit(filed: number): void {
    this.begin()
    this.writeHeads()
    for (const digest of [this.#snapshots, this.#fences, ...this.#digests.values()])
      if (digest.isChanged) this.#writeDigest(digest)
    this.#anchor.filed = filed
    const { position, streams, ledger_first, ledger_last } = this.#anchor
    const crc = anchorCrc(this.#anchor)
    this.#statements.writeAnchor.run(filed, position, streams, ledger_first, ledger_last, crc)
    this.database.exec('commit')
  }

  /** Forgets what the open transaction has done, in the file and here. */
  rollback(): void {
    if (this.database.isTransaction) this.database.exec('rollback')
    this.#heads.clear()
    this.#changedHeads.length = 0
    this.#digests.clear()
    this.#anchor = this.#readAnchor()
    this.#snapshots = this.#digestOf(SNAPSHOTS_DIGEST)
    this.#fences = this.#digestOf(FENCES_DIGEST)
  }

  #newStream(name: string): Head {
    const id = ++this.#anchor.streams
    const head = { id, name, version: 0, link: 0, isChanged: false, isNew: true }
    this.#heads.set(name, head)
    return head
  }

  #digest(name: string): Digest | undefined {
    const known = this.#digests.get(name)
    if (known !== undefined) return known
    const row = reading({ table: 'digests', collection: name }, () =>
      this.#statements.digest.get(name),
    )
    if (row === undefined) return undefined
    const digest = checkedDigest(row)
    this.#digests.set(name, digest)
    return digest
  }

  #digestOf(id: number): Digest {
    const row = reading({ table: 'digests' }, () => this.#statements.digestById.get(id))
    return checkedDigest(row ?? {})
  }

  #newCollection(name: string): Digest {
    const last = Number(this.#statements.lastDigest.get()?.['id'])
    const digest = { id: last + 1, name, count: 0, sum: 0, isChanged: true }
    this.#writeDigest(digest)
    this.#digests.set(name, digest)
    return digest
  }

  #writeDigest(digest: Digest): void {
    const { id, name, count, sum } = digest
    this.#statements.writeDigest.run(id, name, count, sum, digestCrc(digest))
    digest.isChanged = false
  }

  #forgetUpTo(id: number): void {
    this.#statements.deleteAnswers.run(id)
    this.#anchor.ledger_first = Math.max(this.#anchor.ledger_first, id + 1)
  }

  #readAnchor(): AnchorRow {
    const row = reading({ table: 'anchor' }, () => this.#statements.anchor.get())
    const right = rightOf(TABLES.anchor, row ?? {})
    if (right === undefined) throw damaged('the anchor is damaged', { table: 'anchor' })
    return right
  }
}

/** The rows that are there before anything was filed. */
export function writeFirstRows(database: DatabaseSync): void {
  const { writeDigest, writeAnchor } = prepared(database)
  for (const [id, name] of [
    [SNAPSHOTS_DIGEST, '\0snapshots'], // no collection has such a name
    [FENCES_DIGEST, '\0fences'],
  ] as const)
    writeDigest.run(id, name, 0, 0, digestCrc({ id, name, count: 0, sum: 0 }))
  const anchor = { filed: 0, position: 0, streams: 0, ledger_first: 1, ledger_last: 0 }
  writeAnchor.run(...Object.values(anchor), anchorCrc(anchor))
}

function checkedDigest(row: Readonly<Record<string, unknown>>): Digest {
  const right = rightOf(TABLES.digests, row)
  const collection = String(row['name'])
  if (right === undefined)
    throw damaged(`the digest of ${collection} is damaged`, { table: 'digests', collection })
  return { ...right, isChanged: false }
}

function add(digest: Digest, crc: number): void {
  digest.count += 1
  digest.sum = sumWith(digest.sum, crc)
  digest.isChanged = true
}

/** `row` has the crc of what was there before, if anything was. */
function remove(digest: Digest, row: Readonly<Record<string, unknown>> | undefined): void {
  if (row === undefined) return
  digest.count -= 1
  digest.sum = sumWithout(digest.sum, Number(row['crc']))
  digest.isChanged = true
}
