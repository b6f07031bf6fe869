/**
 * The first half of a repair: every row that its crc proves goes from the damaged pages into an empty
 * database. What may be overwritten and is astray or doubtful waits in a table beside, until all
 * others have their place.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

import type { AnchorRow, DigestRow, StreamRow } from './checks.ts'
import type { Lost } from './holes.ts'
import type { Pages } from './pages.ts'
import { shaped, TABLES, type Rows, type TableName } from './rows.ts'
import { salvage, type FoundRow, type IndexName, type Standing, type Wrong } from './salvage.ts'

export type Collected = {
  readonly pages: Pages
  readonly database: DatabaseSync
  anchor?: AnchorRow
  readonly digests: Map<number, DigestRow>
  /** Rows with names that are not what was written, by their id. */
  readonly wrongStreams: Map<number, StreamRow>
  readonly wrongDigests: Map<number, DigestRow>
  /** Of several versions of the row of a stream the one that has most events is the last. */
  readonly grow: StatementSync
  /** Deletes an older answer to the same request. */
  readonly forget: StatementSync
  /** Deletes an older token of the same fence. */
  readonly release: StatementSync
}

export type KeyedTable = 'records' | 'snapshots' | 'fences'

/** Tables whose rows may be overwritten. */
export const KEYED: readonly KeyedTable[] = ['records', 'snapshots', 'fences']
export const BESIDE = ['astray', 'doubtful'] as const

/** `database` has the tables of the schema with nothing in them; `astray_` and `doubtful_` ones come beside. */
export function collect(pages: Pages, database: DatabaseSync): Collected {
  for (const name of KEYED)
    for (const beside of BESIDE)
      database.exec(`create temp table ${beside}_${name} as select * from ${name}`)
  const grow = database.prepare('update streams set version = max(version, ?) where id = ?')
  const forget = database.prepare('delete from ledger where key = ? and id < ?')
  const release = database.prepare('delete from fences where name = ? and token < ?')
  const collected: Collected = {
    pages,
    database,
    digests: new Map(),
    wrongStreams: new Map(),
    wrongDigests: new Map(),
    grow,
    forget,
    release,
  }
  const put = putter(database)
  for (const found of salvage(pages)) {
    if (found.type === 'row') keep(collected, found, put)
    else if (found.type === 'wrong') note(collected, found)
  }
  return collected
}

/** What indexes say about rows that are missing; they are read only where something is. */
export type Witnesses = Readonly<{
  events: readonly Lost[]
  /** Names by the id of the row that has them. */
  streams: ReadonlyMap<number, string>
  ledger: ReadonlyMap<number, string>
  collections: ReadonlyMap<number, string>
}>

export function witnesses(pages: Pages): Witnesses {
  const events: Lost[] = []
  const streams = new Map<number, string>()
  const ledger = new Map<number, string>()
  const collections = new Map<number, string>()
  const names: Readonly<Record<IndexName, Map<number, string> | undefined>> = {
    events_by_stream: undefined,
    sqlite_autoindex_streams_1: streams,
    sqlite_autoindex_ledger_1: ledger,
    sqlite_autoindex_digests_1: collections,
  }
  for (const found of salvage(pages)) {
    if (found.type !== 'entry') continue
    const [first, second, third] = found.values
    if (typeof first === 'string' && typeof second === 'number')
      names[found.index]?.set(second, first)
    else if (typeof first === 'number' && typeof second === 'number' && typeof third === 'number')
      events.push({ stream: first, seq: second, position: third })
  }
  return { events, streams, ledger, collections }
}

type Put = <Name extends TableName>(table: Name, row: Rows[Name], standing?: Standing) => void

/** A row whose place is taken is left out, unless it is stray. */
export function putter(database: DatabaseSync): Put {
  const inserts = new Map<string, StatementSync>()
  return (table, row, standing = 'sound') => {
    const { columns } = TABLES[table]
    const waits = standing === 'astray' || standing === 'doubtful'
    const into = waits ? `temp.${standing}_${table}` : table
    const insertInto = `insert or ${standing === 'stray' ? 'replace' : 'ignore'} into ${into}`
    let insert = inserts.get(insertInto)
    if (insert === undefined) {
      insert = database.prepare(`${insertInto} values (${columns.map(() => '?').join(', ')})`)
      inserts.set(insertInto, insert)
    }
    const values = new Map<string, unknown>(Object.entries(row))
    insert.run(...columns.map(([column]) => bindable(values.get(column))))
  }
}

function bindable(value: unknown): number | string | Uint8Array | null {
  return typeof value === 'number' || typeof value === 'string' || value instanceof Uint8Array
    ? value
    : null
}

function note(collected: Collected, { table, values }: Wrong): void {
  const stream = table === 'streams' ? shaped(TABLES.streams, values) : undefined
  if (stream !== undefined) collected.wrongStreams.set(stream.id, stream)
  const digest = table === 'digests' ? shaped(TABLES.digests, values) : undefined
  if (digest !== undefined) collected.wrongDigests.set(digest.id, digest)
}

function keep(collected: Collected, found: FoundRow, put: Put): void {
  switch (found.table) {
    case 'anchor':
      if (collected.anchor === undefined || found.standing !== 'doubtful')
        collected.anchor = found.row
      return
    case 'digests':
      if (!collected.digests.has(found.row.id) || found.standing !== 'doubtful')
        collected.digests.set(found.row.id, found.row)
      return
    case 'ledger':
      // A key comes back when it was forgotten: whichever row has it first, the last one keeps it.
      collected.forget.run(found.row.key, found.row.id)
      return put('ledger', found.row)
    case 'streams':
      put('streams', found.row)
      collected.grow.run(found.row.version, found.row.id)
      return
    case 'events':
      return put('events', found.row)
    case 'records':
      return put('records', found.row, found.standing)
    case 'snapshots':
      return put('snapshots', found.row, found.standing)
    case 'fences':
      // Tokens only grow, so of several the largest is the last.
      collected.release.run(found.row.name, found.row.token)
      return put('fences', found.row)
  }
}
