/**
 * What the rows of tables add up to, made anew from the rows: the links of histories, the ends of
 * streams, the digests and the anchor.
 */
import type { DatabaseSync } from 'node:sqlite'

import {
  anchorCrc,
  digestCrc,
  FENCES_DIGEST,
  linkOf,
  SNAPSHOTS_DIGEST,
  streamCrc,
  sumWith,
} from './checks.ts'
import type { KeyedTable } from './collect.ts'

const LINKS_AT_ONCE = 10_000

/** `filed` and `ledger_first` cannot be told from the rows. */
export function writeFigures(
  database: DatabaseSync,
  known: Readonly<{ filed: number; ledger_first: number }>,
): void {
  dropUncovered(database, writeLinks(database))
  writeDigests(database)
  writeAnchor(database, known)
}

/** Gives the versions of all streams by their id. */
function writeLinks(database: DatabaseSync): Uint32Array {
  const streams = numberOf(database, 'select max(id) from streams')
  const versions = new Uint32Array(streams + 1)
  const links = new Uint32Array(streams + 1)
  const read = database.prepare(
    'select position, stream, seq, crc, link from events where position > ? order by position limit ?',
  )
  const updateEvent = database.prepare('update events set link = ? where position = ?')
  for (let position = 0, more = true; more;) {
    const rows = read.all(position, LINKS_AT_ONCE)
    for (const row of rows) {
      const stream = Number(row['stream'])
      const link = linkOf(links[stream]!, Number(row['crc']))
      position = Number(row['position'])
      if (row['link'] !== link) updateEvent.run(link, position)
      versions[stream] = Number(row['seq'])
      links[stream] = link
    }
    more = rows.length === LINKS_AT_ONCE
  }
  const update = database.prepare('update streams set version = ?, link = ?, crc = ? where id = ?')
  for (const row of database.prepare('select id, name from streams').all()) {
    const [id, name] = [Number(row['id']), String(row['name'])]
    const [version, link] = [versions[id]!, links[id]!]
    update.run(version, link, streamCrc({ id, name, version, link }), id)
  }
  return versions
}

/** A snapshot of history that is lost without a trace would be history that nobody can read. */
function dropUncovered(database: DatabaseSync, versions: Uint32Array): void {
  const remove = database.prepare('delete from snapshots where stream = ? and seq > ?')
  for (const { stream } of database.prepare('select distinct stream from snapshots').all())
    remove.run(stream!, versions[Number(stream)] ?? 0)
}

function writeDigests(database: DatabaseSync): void {
  const update = database.prepare('update digests set count = ?, sum = ?, crc = ? where id = ?')
  for (const row of database.prepare('select id, name from digests').all()) {
    const [id, name] = [Number(row['id']), String(row['name'])]
    const { count, sum } = contentOf(database, rowsOf(id))
    update.run(count, sum, digestCrc({ id, name, count, sum }), id)
  }
}

function writeAnchor(
  database: DatabaseSync,
  { filed, ledger_first }: Readonly<{ filed: number; ledger_first: number }>,
): void {
  const row = {
    filed,
    position: numberOf(database, 'select max(position) from events'),
    streams: numberOf(database, 'select max(id) from streams'),
    ledger_first,
    ledger_last: Math.max(ledger_first - 1, numberOf(database, 'select max(id) from ledger')),
  }
  database
    .prepare('insert or replace into anchor values (1, ?, ?, ?, ?, ?, ?)')
    .run(...Object.values(row), anchorCrc(row))
}

export type Content = Readonly<{ count: number; sum: number }>

export function tableOf(digest: number): KeyedTable {
  return digest === SNAPSHOTS_DIGEST ? 'snapshots' : digest === FENCES_DIGEST ? 'fences' : 'records'
}

/** The rows that a digest is made of, as they are named in a query. */
export function rowsOf(digest: number): string {
  const table = tableOf(digest)
  return table === 'records' ? `${table} where collection = ${digest}` : table
}

export function contentOf(database: DatabaseSync, from: string): Content {
  let [count, sum] = [0, 0]
  for (const { crc } of database.prepare(`select crc from ${from}`).iterate()) {
    count += 1
    sum = sumWith(sum, Number(crc))
  }
  return { count, sum }
}

/** The first column of the first row, 0 where there is none. */
export function numberOf(database: DatabaseSync, query: string, ...values: number[]): number {
  const row = database.prepare(query).get(...values)
  return Number(Object.values(row ?? {})[0] ?? 0)
}
