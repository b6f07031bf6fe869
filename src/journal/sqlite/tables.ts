/**
 * The tables, as the one who files into them sees them: what their rows add up to is kept in memory
 * while a transaction is open, and written with its last statement. `commit` moves `anchor.filed`, so
 * rows and the group they came from are there together or not at all.
 *
 * A row that is read is checked before it is believed. Whoever has lost the directory files nothing:
 * each transaction looks at the fence that was taken for it first.
 */
import type { DatabaseSync } from 'node:sqlite'
import { Accident, assert } from '../../std/index.ts'
import {
  anchorCrc,
  digestCrc,
  eventCrc,
  fenceCrc,
  FENCES_DIGEST,
  ledgerCrc,
  linkOf,
  snapshotCrc,
  SNAPSHOTS_DIGEST,
  streamCrc,
  type AnchorRow,
  type DigestRow,
  type EventRow,
  type LedgerRow,
  type SnapshotRow,
} from './checks.ts'
import { damaged, reading } from './damage.ts'
import { taken } from './lock.ts'
import { add, RecordRows, remove, type Digest } from './record-rows.ts'
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

/** Ends of streams, and digests, that are remembered. */
const HEADS_KEPT = 65_536
const DIGESTS_KEPT = 4_096
/** Answers that one transaction forgets at most, beside two for each that it files. */
const FORGOTTEN_AT_ONCE = 1_024

export class Tables {
  readonly database: DatabaseSync
  readonly #statements: Statements
  readonly #records: RecordRows
  readonly #heads = new Map<string, Head>()
  readonly #changedHeads: Head[] = []
  readonly #digests = new Map<string, Digest>()
  #snapshots: Digest
  #fences: Digest
  #anchor: AnchorRow
  /** Whether a transaction was begun and neither committed nor rolled back, here. */
  #hasBegun = false
  /** Answers of the open transaction. */
  #answered = 0
  /** Whoever takes it next is the one who files. */
  #fence: Readonly<{ name: string; token: number }> | undefined

  constructor(database: DatabaseSync) {
    this.database = database
    this.#statements = prepared(database)
    this.#records = new RecordRows(database)
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
    const right = rightOf(TABLES.streams, row, { name })
    if (right === undefined) throw damaged(`the stream ${name} is damaged`, where)
    const { id, version, link } = right
    return this.#keepHead({ id, name, version, link, isChanged: false, isNew: false })
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
    this.putRecords(collection, [key], [value])
  }

  deleteRecord(collection: string, key: string): void {
    this.deleteRecords(collection, [key])
  }

  /** No two of the keys are the same, neither here nor below. */
  putRecords(collection: string, keys: readonly string[], values: readonly Uint8Array[]): void {
    const digest = this.#digest(collection) ?? this.#newCollection(collection)
    this.#records.put(digest, keys, values)
  }

  deleteRecords(collection: string, keys: readonly string[]): void {
    const digest = this.#digest(collection)
    if (digest !== undefined) this.#records.delete(digest, keys)
  }

  answer(row: Omit<LedgerRow, 'id' | 'crc'>): void {
    const { key, fingerprint, response, position, at } = row
    const { insertAnswer, idOfAnswer } = this.#statements
    const id = this.#anchor.ledger_last + 1
    const crc = ledgerCrc({ ...row, id })
    const values = [id, key, fingerprint, response, position, at, crc] as const
    if (insertAnswer.run(...values).changes === 0) {
      // A key comes back only when it was forgotten, and whatever is older was forgotten before it.
      const before = idOfAnswer.get(key)
      if (before === undefined) throw damaged('the ledger is damaged', { table: 'ledger', key })
      this.#forgetUpTo(Number(before['id']))
      insertAnswer.run(...values)
    }
    this.#anchor.ledger_last = id
    this.#answered += 1
  }

  /** Deletes answers that are older than they are remembered: more than come, and not all at once. */
  forget(now: number, retentionMs: number): void {
    const most = FORGOTTEN_AT_ONCE + 2 * this.#answered
    let last: number | undefined
    for (const row of this.#statements.oldestAnswers.iterate(this.#anchor.ledger_first, most)) {
      if (!isForgotten(Number(row['at']), now, retentionMs)) break
      last = Number(row['id'])
    }
    if (last !== undefined) this.#forgetUpTo(last)
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
      removeRow(this.#snapshots, this.#statements.deleteSnapshot.get(id, seq, fold))
  }

  fence(name: string, token: number): void {
    removeRow(this.#fences, this.#statements.deleteFence.get(name))
    const crc = fenceCrc({ name, token })
    this.#statements.insertFence.run(name, token, crc)
    add(this.#fences, crc)
  }

  /** The token of a fence, as of the open transaction; 0 if nobody took it. */
  token(name: string): number {
    const where = { table: 'fences', key: name }
    const row = reading(where, () => this.#statements.fence.get(name))
    if (row === undefined) return 0
    const right = rightOf(TABLES.fences, row, { name })
    if (right === undefined) throw damaged(`the fence ${name} is damaged`, where)
    return right.token
  }

  /** When the latest answer was given. */
  lastAt(): number {
    const row = this.#statements.lastAnswer.get()
    return row === undefined ? -Infinity : Number(row['at'])
  }

  /** Takes the fence of that name, durably: once somebody else takes it, nothing is filed here. */
  takeFence(name: string): number {
    this.begin()
    const token = this.token(name) + 1
    this.fence(name, token)
    this.commit(this.filed)
    this.#fence = { name, token }
    return token
  }

  /** Whether SQLite has rolled the transaction back by itself, as it does where it has no room. */
  get isUndone(): boolean {
    return this.#hasBegun && !this.database.isTransaction
  }

  /** Throws `journal-in-use` where somebody else has taken the fence. */
  begin(): void {
    assert(!this.isUndone, 'what SQLite has rolled back is rolled back here first')
    if (this.database.isTransaction) return
    this.database.exec('begin immediate')
    this.#hasBegun = true
    if (!this.#isLost()) return
    this.rollback()
    throw taken()
  }

  /** Writes where streams end, so that a reader of the table sees it. */
  writeHeads(): void {
    const { insertStream, updateStream } = this.#statements
    for (const head of this.#changedHeads) {
      const { id, name, version, link } = head
      const crc = streamCrc({ id, name, version, link })
      if (head.isNew) insertStream.run(version, link, crc, id, name)
      else updateStream.run(version, link, crc, id)
      head.isChanged = false
      head.isNew = false
    }
    this.#changedHeads.length = 0
  }

  /** Durable when it returns, all groups up to `filed` included. */
  commit(filed: number): void {
    this.begin()
    this.writeHeads()
    for (const digest of [this.#snapshots, this.#fences, ...this.#digests.values()])
      this.#writeDigest(digest)
    this.#anchor.filed = filed
    const { position, streams, ledger_first, ledger_last } = this.#anchor
    const crc = anchorCrc(this.#anchor)
    this.#statements.writeAnchor.run(filed, position, streams, ledger_first, ledger_last, crc)
    this.database.exec('commit')
    this.#hasBegun = false
    this.#answered = 0
  }

  /** Forgets what the open transaction has done, in the file and here. */
  rollback(): void {
    if (this.database.isTransaction) this.database.exec('rollback')
    this.#hasBegun = false
    this.#answered = 0
    this.#heads.clear()
    this.#changedHeads.length = 0
    this.#digests.clear()
    this.#anchor = this.#readAnchor()
    this.#snapshots = this.#digestOf(SNAPSHOTS_DIGEST)
    this.#fences = this.#digestOf(FENCES_DIGEST)
  }

  /** A row that is damaged says nothing; the lock still says whose the directory is. */
  #isLost(): boolean {
    if (this.#fence === undefined) return false
    try {
      return this.token(this.#fence.name) !== this.#fence.token
    } catch (error) {
      if (error instanceof Accident) return false
      throw error
    }
  }

  #newStream(name: string): Head {
    const id = ++this.#anchor.streams
    return this.#keepHead({ id, name, version: 0, link: 0, isChanged: false, isNew: true })
  }

  #keepHead(head: Head): Head {
    if (this.#heads.size >= HEADS_KEPT) {
      this.writeHeads()
      this.#heads.clear()
    }
    this.#heads.set(head.name, head)
    return head
  }

  #digest(name: string): Digest | undefined {
    const known = this.#digests.get(name)
    if (known !== undefined) return known
    const row = reading({ table: 'digests', collection: name }, () =>
      this.#statements.digest.get(name),
    )
    if (row === undefined) return undefined
    return this.#keepDigest(checkedDigest(row, { name }))
  }

  #digestOf(id: number): Digest {
    const row = reading({ table: 'digests' }, () => this.#statements.digestById.get(id))
    return checkedDigest(row ?? {}, { id })
  }

  #newCollection(name: string): Digest {
    const last = Number(this.#statements.lastDigest.get()?.['id'])
    const digest = { id: last + 1, name, count: 0, sum: 0, isChanged: true }
    this.#writeDigest(digest)
    return this.#keepDigest(digest)
  }

  #keepDigest(digest: Digest): Digest {
    if (this.#digests.size >= DIGESTS_KEPT) {
      for (const each of this.#digests.values()) this.#writeDigest(each)
      this.#digests.clear()
    }
    this.#digests.set(digest.name, digest)
    return digest
  }

  #writeDigest(digest: Digest): void {
    if (!digest.isChanged) return
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

function checkedDigest(row: Readonly<Record<string, unknown>>, asked: Partial<DigestRow>): Digest {
  const right = rightOf(TABLES.digests, row, asked)
  const collection = String(row['name'])
  if (right === undefined)
    throw damaged(`the digest of ${collection} is damaged`, { table: 'digests', collection })
  return { ...right, isChanged: false }
}

/** `row` has the crc of what was there before, if anything was. */
function removeRow(digest: Digest, row: Readonly<Record<string, unknown>> | undefined): void {
  if (row !== undefined) remove(digest, Number(row['crc']))
}
