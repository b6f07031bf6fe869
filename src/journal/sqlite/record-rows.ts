/**
 * Records on their way into the table, many of one collection at a time: as many rows cost half as much
 * in one statement as in one each.
 *
 * The digest needs the crc of every row that is replaced or deleted. Keys that come together mostly
 * stand together, or behind all others, so the rows from the first to the last of them are read at once;
 * where others stand between them, each is looked for by itself.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { compareBytes } from '../sorted-map.ts'
import { recordCrc, sumWith, sumWithout, type DigestRow } from './checks.ts'

export type Digest = Omit<DigestRow, 'crc'> & { isChanged: boolean }

/** Rows of one statement. */
const ROWS = 32
const COLUMNS = 4
/** No key has it. */
const SEPARATOR = '\0'

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
    const crcs = this.#between(id, keys.toSorted(compareBytes)) ?? this.#each(id, keys).values()
    for (const crc of crcs) remove(digest, crc)
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
    const between = this.#between(id, sorted)
    if (between !== undefined) {
      for (const crc of between) remove(digest, crc)
      if (between.length > 0) this.#statements.deleteBetween.run(id, sorted[0]!, sorted.at(-1)!)
      return
    }
    for (const [key, crc] of this.#each(id, keys)) {
      remove(digest, crc)
      this.#statements.delete.run(id, key)
    }
  }

  /** The crcs of those that are there; nothing if others are there too. One row has all of them. */
  #between(id: number, keys: readonly string[]): readonly number[] | undefined {
    const row = this.#statements.between.get(id, keys[0]!, keys.at(-1)!, keys.length + 1)
    const count = Number(row?.['count'])
    if (count === 0) return []
    const found = String(row?.['keys'])
    if (found !== keys.join(SEPARATOR)) {
      const [asked, others] = [new Set(keys), found.split(SEPARATOR)]
      if (others.length !== count || !others.every((key) => asked.has(key))) return undefined
    }
    const crcs = String(row?.['crcs']).split(',').map(Number)
    return crcs.length === count && crcs.every(isCrc) ? crcs : undefined
  }

  #each(id: number, keys: readonly string[]): Map<string, number> {
    const crcs = new Map<string, number>()
    for (const key of keys) {
      const row = this.#statements.crc.get(id, key)
      if (row !== undefined) crcs.set(key, Number(row['crc']))
    }
    return crcs
  }
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
