/**
 * What a batch is judged by: what was granted and is not filed yet, over what is in the tables.
 *
 * What a group was granted is remembered by its number. When the group turns out not to be durable it
 * is undone; when the tables have it, it may be forgotten. The tables are read through a connection of
 * its own, so a verdict waits for nobody.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { join } from 'node:path'
import { Deque, FleetingMap } from '../../std/index.ts'
import type { Batch, StoredAnswer } from '../journal.ts'
import { isForgotten, type View } from '../verdict.ts'
import { checkedAnswer } from './answers.ts'
import { damaged, reading } from './damage.ts'
import { rightOf, TABLES } from './rows.ts'
import { TABLES_FILE } from './schema.ts'

/** A number that grows, and what it was before the last group that has changed it. */
type Kept = { value: number; group: number; before: number; groupBefore: number }

type KeptAnswer = Readonly<Omit<StoredAnswer, 'key'> & { group: number }>

type Granted = Readonly<{ number: number; kept: Kept[]; keys: string[] }>

/** Versions, and tokens, that are remembered although the tables have them. */
const NUMBERS_KEPT = 65_536
/** How long a verdict waits for somebody who has the tables for himself, which is rare. */
const BUSY_MS = 5_000

export class Grants implements View {
  readonly #database: DatabaseSync
  readonly #statements: Readonly<Record<'stream' | 'answer' | 'fence', StatementSync>>
  readonly #retentionMs: number
  readonly #versions = new Numbers()
  readonly #tokens = new Numbers()
  readonly #answers = new FleetingMap<string, KeptAnswer>()
  /** Those that are not filed yet; the one that is being judged is the last. */
  readonly #groups = new Deque<Granted>()
  #current: Granted = { number: 0, kept: [], keys: [] }
  #now = 0
  #isJudging = false
  /** The last group that the tables have. */
  #filed = 0

  constructor(directory: string, retentionMs: number) {
    this.#database = new DatabaseSync(join(directory, TABLES_FILE), {
      readOnly: true,
      timeout: BUSY_MS,
    })
    this.#retentionMs = retentionMs
    this.#statements = {
      stream: this.#database.prepare('select * from streams where name = ?'),
      answer: this.#database.prepare('select * from ledger where key = ?'),
      fence: this.#database.prepare('select * from fences where name = ?'),
    }
  }

  /**
   * What is granted from here on is granted to group `number`, at `now`. All of it is judged by the tables
   * as they are at one moment, which costs less than to look each time how they are; they are left alone
   * where all is known without them.
   */
  begin(number: number, now: number): void {
    this.#current = { number, kept: [], keys: [] }
    this.#now = now
    this.#isJudging = true
  }

  /** All that the group has was judged: the tables may change. */
  judged(): void {
    this.#isJudging = false
    if (this.#database.isTransaction) this.#database.exec('commit')
  }

  /** The group is durable. */
  keep(): void {
    this.#groups.pushBack(this.#current)
  }

  /** The group is not durable, and nobody was told that it was. */
  undo(): void {
    for (const kept of this.#current.kept) {
      kept.value = kept.before
      kept.group = kept.groupBefore
    }
    for (const key of this.#current.keys) this.#answers.delete(key)
  }

  /** The tables have everything up to group `filed`. */
  release(filed: number): void {
    this.#filed = filed
    for (;;) {
      const group = this.#groups.peekFront()
      if (group === undefined || group.number > filed) break
      this.#groups.popFront()
      for (const key of group.keys)
        if (this.#answers.get(key)?.group === group.number) this.#answers.delete(key)
    }
  }

  version(stream: string): number {
    return this.#versionOf(stream).value
  }

  answer(key: string): ReturnType<View['answer']> {
    const answer = this.#answers.get(key) ?? this.#filedAnswer(key)
    if (answer === undefined || isForgotten(answer.at, this.#now, this.#retentionMs))
      return undefined
    return answer
  }

  token(fence: string): number {
    return this.#tokenOf(fence).value
  }

  /** The token of a fence in the tables, whatever was granted since. */
  filedToken(fence: string): number {
    const where = { table: 'fences', key: fence }
    this.#look()
    const row = reading(where, () => this.#statements.fence.get(fence))
    if (row === undefined) return 0
    const right = rightOf(TABLES.fences, row, { name: fence })
    if (right === undefined) throw damaged(`the fence ${fence} is damaged`, where)
    return right.token
  }

  /** Enters what a batch has been granted, `position` being that of its last event. */
  grant({ streams, ledger }: Batch, position: number, at: number): void {
    if (streams !== undefined)
      for (const { stream, events } of streams) {
        const kept = this.#versionOf(stream)
        this.#raise(kept, kept.value + events.length)
      }
    if (ledger !== undefined)
      for (const { key, fingerprint, response } of ledger) {
        const group = this.#current.number
        this.#answers.set(key, { fingerprint, response, position, at, group })
        this.#current.keys.push(key)
      }
  }

  takeFence(name: string): number {
    const kept = this.#tokenOf(name)
    this.#raise(kept, kept.value + 1)
    return kept.value
  }

  close(): void {
    this.#database.close()
  }

  #look(): void {
    if (this.#isJudging && !this.#database.isTransaction) this.#database.exec('begin')
  }

  #raise(kept: Kept, value: number): void {
    const { number, kept: all } = this.#current
    if (kept.group !== number) {
      kept.before = kept.value
      kept.groupBefore = kept.group
      kept.group = number
      all.push(kept)
    }
    kept.value = value
  }

  #versionOf(stream: string): Kept {
    return (
      this.#versions.get(stream) ??
      this.#versions.add(stream, this.#filedVersion(stream), this.#filed)
    )
  }

  #tokenOf(fence: string): Kept {
    return this.#tokens.get(fence) ?? this.#tokens.add(fence, this.filedToken(fence), this.#filed)
  }

  #filedVersion(stream: string): number {
    const where = { table: 'streams', stream }
    this.#look()
    const row = reading(where, () => this.#statements.stream.get(stream))
    if (row === undefined) return 0
    const right = rightOf(TABLES.streams, row, { name: stream })
    if (right === undefined) throw damaged(`the stream ${stream} is damaged`, where)
    return right.version
  }

  #filedAnswer(key: string): Omit<KeptAnswer, 'group'> | undefined {
    this.#look()
    const row = checkedAnswer(this.#statements.answer, key)
    if (row === undefined) return undefined
    const { fingerprint, response, position, at } = row
    return { fingerprint, response: Buffer.from(response).toString(), position, at }
  }
}

/** Numbers by name. When there are many, those go that the tables have as well. */
class Numbers {
  readonly #byName = new Map<string, Kept>()
  #most = NUMBERS_KEPT

  get(name: string): Kept | undefined {
    return this.#byName.get(name)
  }

  /** Adds one as the tables have it, which have everything up to group `filed`. */
  add(name: string, value: number, filed: number): Kept {
    if (this.#byName.size >= this.#most) this.#drop(filed)
    const kept = { value, group: 0, before: value, groupBefore: 0 }
    this.#byName.set(name, kept)
    return kept
  }

  #drop(filed: number): void {
    for (const [name, { group }] of this.#byName) if (group <= filed) this.#byName.delete(name)
    // Where few could go, it is not tried again for each one that comes.
    this.#most = Math.max(NUMBERS_KEPT, 2 * this.#byName.size)
  }
}
