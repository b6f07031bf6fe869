/**
 * All the ways in which a file may come to be wrong: by its bytes, behind SQLite's back, and by its
 * rows, behind the engine's.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite'

import { TABLES, type TableName } from '../../../src/journal/sqlite/rows.ts'
import { TABLES_FILE } from '../../../src/journal/sqlite/schema.ts'
import type { Random } from '../../../src/std/index.ts'
import { inDirectory, LOG_FILE, type Base } from './base.ts'
import { keyOf } from './contents.ts'
import type { Files } from './scribe.ts'

export type Damage = Readonly<{
  kind: string
  files: Files
  /** Items that are wrong, where the bytes do not tell because SQLite wrote them. */
  touched?: ReadonlySet<string>
}>

/** Gives `undefined` where it finds nothing to work on. */
type Damager = (base: Base, chance: Random) => Omit<Damage, 'kind'> | undefined
type Values = readonly SQLOutputValue[]

const SECTOR_BYTES = 512
const TABLE_NAMES = Object.values(TABLES).map(({ name }): TableName => name)

const DAMAGERS: Readonly<Record<string, Damager>> = {
  'bit flipped': anywhere((image, at, chance) => {
    image[at]! ^= 1 << chance.below(8)
    return image
  }),
  'bytes overwritten': anywhere((image, at, chance) => {
    for (let n = chance.below(64); n >= 0; n--) image[at + n] = chance.below(256)
    return image
  }),
  'sector zeroed': anywhere((image, at) => {
    partWith(image, SECTOR_BYTES, at).fill(0)
    return image
  }),
  'page zeroed': anywhere((image, at, _, { pageBytes }) => {
    partWith(image, pageBytes, at).fill(0)
    return image
  }),
  'file cut': anywhere((image, at) => image.subarray(0, at)),
  'pages swapped': (base, chance) =>
    changed(base, TABLES_FILE, (image) => {
      const one = partWith(image, base.pageBytes, chance.below(image.length))
      const other = partWith(image, base.pageBytes, chance.below(image.length))
      const before = Buffer.from(one)
      other.copy(one)
      before.copy(other)
      return image
    }),
  'old page put back': (base, chance) => {
    const { pageBytes } = base
    const from = chance.below(base.older.length / pageBytes) * pageBytes
    return changed(base, TABLES_FILE, (image) => {
      base.older.copy(image, from, from, from + pageBytes)
      return image
    })
  },
  'row deleted': byRows((database, table, chance) => {
    const row = anyRow(database, table, chance)
    database.prepare(`delete from ${table} where ${keyIs(table)}`).run(...keyIn(table, row))
  }),
  'row doubled': byRows((database, table, chance) => {
    const row = [...anyRow(database, table, chance)]
    const key = Math.max(0, TABLES[table].keyed - 1)
    row[key] =
      typeof row[key] === 'number' ? 900_000 + chance.below(100) : `${String(row[key])} again`
    insert(database, table, row)
  }),
  'row moved': byRows((database, table, chance) => {
    const row = anyRow(database, table, chance)
    const to = [...row]
    const key = Math.max(0, TABLES[table].keyed - 1)
    to[key] = typeof row[key] === 'number' ? row[key] + 700_000 : `${String(row[key])} elsewhere`
    database.prepare(`delete from ${table} where ${keyIs(table)}`).run(...keyIn(table, row))
    insert(database, table, to)
  }),
  'rows swapped': byRows((database, table, chance) => {
    const [one, other] = [anyRow(database, table, chance), anyRow(database, table, chance)]
    const key = TABLES[table].keyed || 1
    const remove = database.prepare(`delete from ${table} where ${keyIs(table)}`)
    for (const row of [one, other]) remove.run(...keyIn(table, row))
    insert(database, table, [...one.slice(0, key), ...other.slice(key)])
    insert(database, table, [...other.slice(0, key), ...one.slice(key)])
  }),
  'value edited': byRows((database, table, chance) => {
    const row = anyRow(database, table, chance)
    const column = chance.below(row.length)
    const name = TABLES[table].columns[column]![0]
    database
      .prepare(`update ${table} set ${name} = ? where ${keyIs(table)}`)
      .run(edited(row[column]!), ...keyIn(table, row))
  }),
  'old row put back': (base, chance) => {
    const { table, values } = chance.pick(base.oldRows)
    return rowsChanged(base, (database) => {
      const marks = values.map(() => '?').join(', ')
      database.prepare(`insert or replace into ${table} values (${marks})`).run(...values)
    })
  },
}

export const KINDS: readonly string[] = Object.keys(DAMAGERS)

const TRIES_MAX = 50

/** Some damage of that kind; of another where this journal has nothing old to put back, for example. */
export function damage(base: Base, kind: string, chance: Random): Damage {
  for (let n = 0; n < TRIES_MAX; n++) {
    const done = DAMAGERS[kind]!(base, chance)
    if (done !== undefined) return { kind, ...done }
  }
  return damage(base, chance.pick(KINDS), chance)
}

type Change = (image: Buffer, at: number, chance: Random, base: Base) => Buffer

/** Mostly where something is: large parts of the files are empty. */
function anywhere(change: Change): Damager {
  return (base, chance) => {
    const spans = [...base.own.values()]
    const span = chance.below(4) === 0 ? undefined : chance.pick(chance.pick(spans))
    const file = span?.file ?? chance.pick([...base.files.keys()])
    const [from, to] = [span?.from ?? 0, span?.to ?? base.files.get(file)!.length]
    if (from === to) return undefined
    const at = from + chance.below(to - from)
    return changed(base, file, (image) => change(image, at, chance, base))
  }
}

function changed(base: Base, name: string, change: (image: Buffer) => Buffer): ReturnType<Damager> {
  const image = base.files.get(name)!
  if (image.length === 0) return undefined
  const damaged = change(Buffer.from(image))
  if (damaged.equals(image)) return undefined
  return { files: new Map(base.files).set(name, damaged) }
}

function partWith(image: Buffer, bytes: number, at: number): Buffer {
  const from = at - (at % bytes)
  return image.subarray(from, from + bytes)
}

function byRows(
  change: (database: DatabaseSync, table: TableName, chance: Random) => void,
): Damager {
  return (base, chance) => {
    const table = chance.pick(TABLE_NAMES)
    return rowsChanged(base, (database) => change(database, table, chance))
  }
}

/** What SQLite itself does not allow is no damage. */
function rowsChanged(base: Base, change: (database: DatabaseSync) => void): ReturnType<Damager> {
  const tables = [...base.files].filter(([name]) => name === TABLES_FILE || name === LOG_FILE)
  return inDirectory(new Map(tables), (directory) => {
    const path = join(directory, TABLES_FILE)
    const database = new DatabaseSync(path)
    database.exec('pragma synchronous = off')
    const before = itemsBefore.get(base) ?? itemsIn(database)
    itemsBefore.set(base, before)
    try {
      change(database)
    } catch {
      database.close()
      return undefined
    }
    const after = itemsIn(database)
    database.close()
    const files = new Map(base.files).set(TABLES_FILE, readFileSync(path))
    files.delete(LOG_FILE)
    const items = new Set([...before.keys(), ...after.keys()])
    const touched = [...items].filter((item) => before.get(item) !== after.get(item))
    return touched.length === 0 ? undefined : { files, touched: new Set(touched) }
  })
}

const itemsBefore = new WeakMap<Base, Map<string, string>>()

/** Every row by the item it holds, or by its table and key. */
function itemsIn(database: DatabaseSync): Map<string, string> {
  const names = new Map(
    ['streams', 'digests'].map((table) => [
      table,
      new Map(
        all(database, `select id, name from ${table}`).map(([id, name]) => [id, String(name)]),
      ),
    ]),
  )
  const items = new Map<string, string>()
  for (const table of TABLE_NAMES)
    for (const row of all(database, `select * from ${table}`)) {
      const [first, second, third] = row
      const stream = names.get('streams')?.get(first) ?? ''
      const item: Readonly<Record<TableName, string>> = {
        streams: keyOf.name(String(second)),
        digests: keyOf.collection(String(second)),
        anchor: 'anchor',
        events: keyOf.event(Number(first)),
        records: keyOf.record(names.get('digests')?.get(first) ?? '', String(second)),
        ledger: keyOf.answer(String(second)),
        snapshots: keyOf.snapshot(stream, String(third), Number(second)),
        fences: keyOf.fence(String(first)),
      }
      items.set(item[table], JSON.stringify(row.map(printed)))
    }
  return items
}

function printed(value: SQLOutputValue): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value
}

function all(database: DatabaseSync, query: string): Values[] {
  return database
    .prepare(query)
    .all()
    .map((row) => Object.values(row))
}

function anyRow(database: DatabaseSync, table: TableName, chance: Random): Values {
  return chance.pick(all(database, `select * from ${table}`))
}

function keyIs(table: TableName): string {
  const { columns, keyed } = TABLES[table]
  return columns
    .slice(0, keyed || 1)
    .map(([column]) => `${column} = ?`)
    .join(' and ')
}

function keyIn(table: TableName, row: Values): SQLInputValue[] {
  return row.slice(0, TABLES[table].keyed || 1)
}

function insert(database: DatabaseSync, table: TableName, row: Values): void {
  const marks = row.map(() => '?').join(', ')
  database.prepare(`insert into ${table} values (${marks})`).run(...row)
}

function edited(value: SQLOutputValue): SQLInputValue {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'string') return `${value}!`
  if (value instanceof Uint8Array) return Buffer.concat([value, Buffer.from('!')])
  return 1
}
