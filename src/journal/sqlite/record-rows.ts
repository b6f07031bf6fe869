/**
 * Records on their way into the table, many of one collection at a time: as many rows cost half as much
 * in one statement as in one each.
 *
 * The digest needs the crc of every row that is replaced or deleted. Keys that come together mostly
 * stand together, or behind all others, so the rows from the first to the last of them are read at once.
 * A few others may stand between them: what is to be deleted is then deleted stretch by stretch. Where
 * they are many, each key is looked for by itself.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { compareBytes } from '../sorted-map.ts'
import { recordCrc, sumWith, sumWithout, type DigestRow } from './checks.ts'

export type Digest = Omit<DigestRow, 'crc'> & { isChanged: boolean }

/** Rows of one statement. */
const ROWS = 32
const COLUMNS = 4
/** Among so many rows that were asked for, one other is few. */
const OTHERS_EVERY = 4
/** No key has it. */
const SEPARATOR = '\0'

/** Rows that stand side by side. */
type Stretch = Readonly<{ keys: readonly string[]; crcs: readonly number[] }>

const TEXTS = {
  between: `
    select count(*) as count, group_concat(key, char(0)) as keys, group_concat(crc) as crcs
    from (select key, crc from records where collection = ? and key >= ? and key <= ? limit ?)`,
  crc: 'select crc from records where collection = ? and key = ?',
  putMany: `replace into records values ${new Array(ROWS).fill('(?, ?, ?, ?)').join()}`,
  put: 'replace into records values (?, ?, ?, ?)',
  deleteBetween: 'delete from records where collection = ? and key >= ? and key <= ?',
  delete: 'delete from records where collection = ? and key = ?',
} as const

export class RecordRows {
  readonly #statements: Readonly<Record<keyof typeof TEXTS, StatementSync>>

  constructor(database: DatabaseSync) {
    const prepare = (name: keyof typeof TEXTS): StatementSync => database.prepare(TEXTS[name])
    this.#statements = {
      between: prepare('between'),
      crc: prepare('crc'),
      putMany: prepare('putMany'),
      put: prepare('put'),
      deleteBetween: prepare('deleteBetween'),
      delete: prepare('delete'),
    }
  }

  /** No two keys are the same, neither here nor below. */
  put(digest: Digest, keys: readonly string[], blobs: readonly Uint8Array[]): void {
    const { id } = digest
    const { putMany, put } = this.#statements
    const sorted = keys.toSorted(compareBytes)
    const stretches = this.#between(id, sorted) ?? [this.#each(id, sorted)]
    for (const { crcs } of stretches) for (const crc of crcs) remove(digest, crc)
    const values: (number | string | Uint8Array)[] = []
    for (let n = 0; n < keys.length; n++) {
      const [key, value] = [keys[n]!, blobs[n]!]
      const crc = recordCrc({ collection: id, key, value })
      values.push(id, key, value, crc)
      add(digest, crc)
      if (values.length < ROWS * COLUMNS) continue
      putMany.run(...values)
      values.length = 0
    }
    while (values.length > 0) put.run(...values.splice(0, COLUMNS))
  }

  delete(digest: Digest, keys: readonly string[]): void {
    const { id } = digest
    const sorted = keys.toSorted(compareBytes)
    const stretches = this.#between(id, sorted)
    if (stretches !== undefined)
      for (const stretch of stretches) {
        for (const crc of stretch.crcs) remove(digest, crc)
        this.#statements.deleteBetween.run(id, stretch.keys[0]!, stretch.keys.at(-1)!)
      }
    else {
      const { keys: found, crcs } = this.#each(id, sorted)
      for (const [n, key] of found.entries()) {
        remove(digest, crcs[n]!)
        this.#statements.delete.run(id, key)
      }
    }
  }

  /** Those that are there, cut where others stand between them; nothing if the others are too many. */
  #between(id: number, asked: readonly string[]): readonly Stretch[] | undefined {
    const limit = asked.length + Math.floor(asked.length / OTHERS_EVERY) + 1
    const row = this.#statements.between.get(id, asked[0]!, asked.at(-1)!, limit)
    const count = Number(row?.['count'])
    if (count === 0) return []
    if (count === limit) return undefined
    const crcs = String(row?.['crcs']).split(',').map(Number)
    if (crcs.length !== count || !crcs.every(isCrc)) return undefined
    const found = String(row?.['keys'])
    if (found === asked.join(SEPARATOR)) return [{ keys: asked, crcs }]
    const keys = found.split(SEPARATOR)
    return keys.length === count ? stretchesOf(keys, crcs, asked) : undefined
  }

  #each(id: number, asked: readonly string[]): Stretch {
    const keys: string[] = []
    const crcs: number[] = []
    for (const key of asked) {
      const row = this.#statements.crc.get(id, key)
      if (row === undefined) continue
      keys.push(key)
      crcs.push(Number(row['crc']))
    }
    return { keys, crcs }
  }
}

/** Of the rows with these keys, those that were asked for. */
function stretchesOf(
  keys: readonly string[],
  crcs: readonly number[],
  asked: readonly string[],
): readonly Stretch[] {
  const stretches: Stretch[] = []
  const wanted = new Set(asked)
  let start = 0
  for (let end = 0; end <= keys.length; end++) {
    if (end < keys.length && wanted.has(keys[end]!)) continue
    if (end > start) stretches.push({ keys: keys.slice(start, end), crcs: crcs.slice(start, end) })
    start = end + 1
  }
  return stretches
}

/** A row with this crc was added. */
export function add(digest: Digest, crc: number): void {
  digest.count += 1
  digest.sum = sumWith(digest.sum, crc)
  digest.isChanged = true
}

/** A row that had this crc was taken away. */
export function remove(digest: Digest, crc: number): void {
  digest.count -= 1
  digest.sum = sumWithout(digest.sum, crc)
  digest.isChanged = true
}

/** What damage has left in place of a crc is looked at by itself. */
function isCrc(value: number): boolean {
  return value >>> 0 === value
}
