/**
 * What a batch is judged by: what was granted and is not filed yet, over what is in the tables.
 *
 * What a group was granted is remembered by its number. When the group turns out not to be durable it
 * is undone; when the tables have it, it may be forgotten. The tables are read through a connection of
 * its own, so a verdict waits for nobody.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { join } from 'node:path'
import { Deque } from '../../std/index.ts'
import type { Batch, StoredAnswer } from '../journal.ts'
import { isForgotten, type View } from '../verdict.ts'
import { damaged, reading } from './damage.ts'
import { checkedAnswer } from './reading.ts'
import { rightOf, TABLES } from './rows.ts'
import { TABLES_FILE } from './schema.ts'

/** A number that grows, and what it was before the last group that has changed it. */
type Kept = { value: number; group: number; before: number; groupBefore: number }

type KeptAnswer = Readonly<Omit<StoredAnswer, 'key'> & { group: number }>

type Granted = Readonly<{ number: number; kept: Kept[]; keys: string[] }>

/** Versions that are remembered although the tables have them. */
const VERSIONS_KEPT = 65_536
/** How long a verdict waits for somebody who has the tables for himself, which is rare. */
const BUSY_MS = 5_000

export class Grants implements View {
  readonly #database: DatabaseSync
  readonly #statements: Readonly<Record<'stream' | 'answer' | 'fence', StatementSync>>
  readonly #retentionMs: number
  readonly #versions = new Map<string, Kept>()
  readonly #tokens = new Map<string, Kept>()
  readonly #answers = new Map<string, KeptAnswer>()
  /** Those that are not filed yet; the one that is being judged is the last. */
  readonly #groups = new Deque<Granted>()
  #current: Granted = { number: 0, kept: [], keys: [] }
  #now = 0

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

  /** What is granted from here on is granted to group `number`, at `now`. */
  begin(number: number, now: number): void {
    this.#current = { number, kept: [], keys: [] }
    this.#now = now
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
    for (;;) {
      const group = this.#groups.peekFront()
      if (group === undefined || group.number > filed) break
      this.#groups.popFront()
      for (const key of group.keys)
        if (this.#answers.get(key)?.group === group.number) this.#answers.delete(key)
    }
    for (const numbers of [this.#versions, this.#tokens])
      if (numbers.size > VERSIONS_KEPT)
        for (const [name, { group }] of numbers) if (group <= filed) numbers.delete(name)
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
    const row = reading(where, () => this.#statements.fence.get(fence))
    if (row === undefined) return 0
    const right = rightOf(TABLES.fences, row)
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
    let kept = this.#versions.get(stream)
    if (kept === undefined) this.#versions.set(stream, (kept = keptAt(this.#filedVersion(stream))))
    return kept
  }

  #tokenOf(fence: string): Kept {
    let kept = this.#tokens.get(fence)
    if (kept === undefined) this.#tokens.set(fence, (kept = keptAt(this.filedToken(fence))))
    return kept
  }

  #filedVersion(stream: string): number {
    const where = { table: 'streams', stream }
    const row = reading(where, () => this.#statements.stream.get(stream))
    if (row === undefined) return 0
    const right = rightOf(TABLES.streams, row)
    if (right === undefined) throw damaged(`the stream ${stream} is damaged`, where)
    return right.version
  }

  #filedAnswer(key: string): Omit<KeptAnswer, 'group'> | undefined {
    const row = checkedAnswer(this.#statements.answer, key)
    if (row === undefined) return undefined
    const { fingerprint, response, position, at } = row
    return { fingerprint, response: Buffer.from(response).toString(), position, at }
  }
}

function keptAt(value: number): Kept {
  return { value, group: 0, before: value, groupBefore: 0 }
}
