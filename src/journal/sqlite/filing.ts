/**
 * From the desk into the tables.
 *
 * Items are filed within an open transaction and leave the desk at the same time, so a reader of both
 * finds each in one place. The transaction ends between two groups only: it is what makes
 * `anchor.filed` true. If it fails, what it took from the desk is laid there again, from the groups,
 * which are kept until they are durable in the tables. The same goes for a transaction that SQLite has
 * rolled back by itself: whatever is done next finds it undone.
 */
import type { DatabaseSync } from 'node:sqlite'
import { Deque, unreachable } from '../../std/index.ts'
import { Desk, type DeskRecord, type Item } from './desk.ts'
import type { Group } from './intake.ts'
import { Reading } from './reading.ts'
import { Tables } from './tables.ts'

/** What is written to the tables before their log is carried over into the file. */
const CHECKPOINT_BYTES = 8_388_608

/** Records of one collection that are filed together. */
type Run = Readonly<{ keys: string[]; values: Uint8Array[]; deleted: string[] }>

export class Filing {
  readonly #reading: Reading
  readonly #database: DatabaseSync
  readonly #tables: Tables
  readonly #retentionMs: number
  /** Those that are not durable in the tables. */
  readonly #groups = new Deque<Group>()
  /** Taken from the desk and not in the tables yet, which is so only while something is filed. */
  readonly #runs = new Map<string, Run>()
  #desk: Desk
  #at = -Infinity
  #bytesInLog = 0
  #flushes = 0

  constructor(database: DatabaseSync, retentionMs: number) {
    this.#database = database
    this.#tables = new Tables(database)
    this.#retentionMs = retentionMs
    this.#desk = this.#newDesk()
    this.#reading = new Reading(this.#tables, () => this.#desk)
  }

  get reading(): Reading {
    this.#mend()
    return this.#reading
  }

  /** The last group that is durable in the tables. */
  get filed(): number {
    return this.#tables.filed
  }

  /** The last group that came. */
  get last(): number {
    return this.#groups.at(this.#groups.length - 1)?.number ?? this.filed
  }

  get position(): number {
    return this.#desk.position
  }

  /** How often the tables were flushed. */
  get flushes(): number {
    return this.#flushes
  }

  lay(group: Group): void {
    this.#mend()
    // It is kept first: what fails half way must not be passed over by the groups behind it.
    this.#groups.pushBack(group)
    this.#at = Math.max(this.#at, group.at)
    try {
      this.#desk.lay(group)
    } catch (error) {
      this.undo()
      throw error
    }
  }

  /** Files some items, up to group `target`; true when all of them are filed, if not yet durable. */
  file(target: number, items: number): boolean {
    this.#mend()
    this.#tables.begin()
    this.#fileWhile((n) => n < items && this.#desk.filed < target)
    return this.#desk.filed >= target
  }

  /** Makes all durable that was filed. */
  commit(): void {
    this.#mend()
    this.#tables.begin()
    this.#fileWhile(() => !this.#desk.isBetweenGroups)
    this.#tables.forget(this.#at, this.#retentionMs)
    this.#tables.commit(this.#desk.filed)
    this.#flushes += 1
    for (;;) {
      const group = this.#groups.peekFront()
      if (group === undefined || group.number > this.filed) break
      this.#bytesInLog += group.bytes.length
      this.#groups.popFront()
    }
    if (this.#bytesInLog >= CHECKPOINT_BYTES) this.checkpoint()
  }

  /** Files everything that has come. */
  settle(): void {
    if (this.filed === this.last) return
    this.file(this.last, Infinity)
    this.commit()
  }

  /** Takes the fence of that name, and gives its token. Nothing of that fence is on the desk. */
  takeFence(name: string): number {
    this.#flushes += 1
    return this.#tables.takeFence(name)
  }

  /** Carries the log of the tables over into their file, as far as no reader is in the way. */
  checkpoint(): void {
    if (this.#bytesInLog === 0) return
    this.#bytesInLog = 0
    this.#database.exec('pragma wal_checkpoint(passive)')
    this.#flushes += 2 // the log and the file
  }

  /** Undoes what is not durable: it is on the desk again. */
  undo(): void {
    this.#tables.rollback()
    this.#runs.clear()
    this.#desk = this.#newDesk()
    for (const group of this.#groups) this.#desk.lay(group)
  }

  /** The latest time of an answer. */
  lastAt(): number {
    return Math.max(this.#at, this.#tables.lastAt())
  }

  #mend(): void {
    if (this.#tables.isUndone) this.undo()
  }

  #newDesk(): Desk {
    const tables = this.#tables
    return new Desk({
      filed: tables.filed,
      position: tables.position,
      version: (stream) => tables.head(stream)?.version ?? 0,
    })
  }

  /** What was taken from the desk is in the tables when this ends, or on the desk again. */
  #fileWhile(isMore: (n: number) => boolean): void {
    try {
      for (let n = 0; isMore(n); n++) {
        const { next } = this.#desk
        if (next === undefined) break
        this.#fileOne(next)
        this.#desk.take()
      }
      this.#fileRecords()
    } catch (error) {
      this.undo()
      throw error
    }
  }

  #fileOne(item: Item): void {
    const tables = this.#tables
    switch (item.type) {
      case 'event':
        tables.event(item.stream, item.row)
        break
      case 'record':
        if (item.isLatest) this.#addRecord(item)
        break
      case 'answer':
        tables.answer(item)
        break
      case 'snapshot': {
        const { stream, seq, fold, kept, isLatest } = item
        if (!isLatest) break
        if (kept === null) tables.dropSnapshot(stream, seq, fold)
        else {
          const { topAt: top_at, topSeq: top_seq, state } = kept
          tables.keepSnapshot(stream, { seq, fold, top_at, top_seq, state })
        }
        break
      }
      case 'fence':
        if (item.isLatest) tables.fence(item.name, item.token)
        break
      default:
        unreachable(item)
    }
  }

  #addRecord({ collection, key, value }: DeskRecord): void {
    let run = this.#runs.get(collection)
    if (run === undefined) this.#runs.set(collection, (run = { keys: [], values: [], deleted: [] }))
    if (value === null) run.deleted.push(key)
    else {
      run.keys.push(key)
      run.values.push(value)
    }
  }

  /** Of each key there is one at most, the latest, so those that are deleted may go last. */
  #fileRecords(): void {
    for (const [collection, { keys, values, deleted }] of this.#runs) {
      if (keys.length > 0) this.#tables.putRecords(collection, keys, values)
      if (deleted.length > 0) this.#tables.deleteRecords(collection, deleted)
    }
    this.#runs.clear()
  }
}
