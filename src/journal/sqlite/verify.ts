/**
 * Whether a file is what was written, from SQLite's own structure to the last check number.
 *
 * All of it is read in one transaction, so that commits and filing that go on beside it are seen
 * either as a whole or not at all, and nothing that is right is found wrong. A finding does not end the
 * search: what lies behind it is judged by itself.
 */
import { DatabaseSync } from 'node:sqlite'

import {
  FENCES_DIGEST,
  linkOf,
  SNAPSHOTS_DIGEST,
  sumWith,
  type AnchorRow,
  type EventRow,
} from './checks.ts'
import type { Found as IntakeContent } from './intake.ts'
import { isLostAnswer, isLostEvent, UNKNOWN_STREAM } from './lost.ts'
import { eventsIn } from './regroup.ts'
import { Findings, noCounts, type Finding, type FindingType, type VerifyReport } from './report.ts'
import { shaped, TABLES, type Rows, type Table, type TableName } from './rows.ts'
import { MIGRATIONS, SCHEMA_VERSION } from './schema.ts'

type Search = {
  readonly database: DatabaseSync
  readonly findings: Findings
  readonly checked: ReturnType<typeof noCounts>
  readonly losses: { events: number; answers: number }
  anchor?: AnchorRow
  /** Of each stream by its id: how many events it has, and the link of the last. */
  versions: Uint32Array
  links: Uint32Array
}

const SQLITE_FINDINGS_MAX = 100
/** How often the whole index is searched for what a damaged row cannot say. */
const INDEX_ASKED_MAX = 10

/** `groupsBehind` reads the intake, where nobody writes to it. */
export function verifyDatabase(
  database: DatabaseSync,
  groupsBehind?: (filed: number) => IntakeContent,
  findings: Findings = new Findings(),
): VerifyReport {
  const search: Search = {
    database,
    findings,
    checked: noCounts(),
    losses: { events: 0, answers: 0 },
    versions: new Uint32Array(1),
    links: new Uint32Array(1),
  }
  for (const part of [
    begin,
    verifyFile,
    verifyAnchor,
    verifyStreams,
    verifyEvents,
    verifyHeads,
    verifyLedger,
    verifyCollections,
    verifyGroups,
  ]) {
    try {
      part(search, groupsBehind)
    } catch (error) {
      findings.add('file', `SQLite cannot read the file: ${messageOf(error)}`)
    }
  }
  if (database.isTransaction) database.exec('rollback')
  return {
    ok: findings.count === 0,
    checked: search.checked,
    findings: findings.listed,
    unlisted: findings.count - findings.listed.length,
    losses: search.losses,
    torn: false,
  }
}

function begin({ database }: Search): void {
  database.exec('begin')
}

function verifyFile({ database, findings }: Search): void {
  for (const { integrity_check: message } of database
    .prepare(`pragma integrity_check(${SQLITE_FINDINGS_MAX})`)
    .all())
    if (message !== 'ok') findings.add('file', `SQLite finds: ${String(message)}`)

  const version = database.prepare('pragma user_version').get()?.['user_version']
  if (version !== SCHEMA_VERSION)
    findings.add('file', `the schema has version ${String(version)}, not ${SCHEMA_VERSION}`)
  if (schemaOf(database) !== expectedSchema()) findings.add('file', 'the schema is another')
}

function schemaOf(database: DatabaseSync): string {
  const rows = database.prepare('select type, name, tbl_name, sql from sqlite_schema order by name')
  return JSON.stringify(rows.all())
}

let expected: string | undefined

function expectedSchema(): string {
  if (expected !== undefined) return expected
  const database = new DatabaseSync(':memory:')
  try {
    for (const migration of MIGRATIONS) database.exec(migration)
    return (expected = schemaOf(database))
  } finally {
    database.close()
  }
}

function verifyAnchor(search: Search): void {
  for (const { row } of read(search, TABLES.anchor)) if (row !== undefined) search.anchor = row
  if (search.anchor === undefined)
    search.findings.add('anchor', 'there is no anchor', { table: 'anchor' })
}

function verifyStreams(search: Search): void {
  const { findings, checked, anchor } = search
  let last = 0
  for (const { id } of read(search, TABLES.streams)) {
    noteGap(search, 'streams', last, id)
    last = id
    checked.streams += 1
  }
  if (anchor !== undefined && last !== anchor.streams)
    findings.add('anchor', `streams end at ${last}, not at ${anchor.streams}`, { table: 'streams' })
  const streams = Math.max(last, anchor?.streams ?? 0)
  search.versions = new Uint32Array(streams + 1)
  search.links = new Uint32Array(streams + 1)
}

function verifyEvents(search: Search): void {
  const { findings, checked, losses, anchor, versions, links } = search
  let position = 0
  let batch: number | undefined
  let asked = 0
  for (const { id, row } of read(search, TABLES.events, { place: placeOf })) {
    if (id !== position + 1) batch = undefined
    noteGap(search, 'events', position, id)
    position = id
    checked.events += 1
    if (row === undefined) {
      batch = undefined
      continue
    }
    const { stream, seq, link } = row
    const lost = isLostEvent(row)
    if (lost) losses.events += 1
    if (stream >= versions.length || (stream === UNKNOWN_STREAM && !lost)) {
      note('row', 'the event belongs to a stream that is not there', row)
      continue
    }
    if (batch !== undefined && row.batch !== batch && row.batch !== position)
      note('row', 'the event belongs to a batch that is not there', row)
    batch = lost ? undefined : row.batch // which of the lost ones began a batch is lost as well
    if (seq !== versions[stream]! + 1)
      note('gap', `version ${seq} follows on version ${versions[stream]}`, row)
    else if (link !== linkOf(links[stream]!, row.crc))
      note('link', 'the event does not follow on the one before it', row)
    versions[stream] = seq
    links[stream] = link
  }
  if (anchor !== undefined && position !== anchor.position)
    findings.add('anchor', `events end at ${position}, not at ${anchor.position}`, {
      table: 'events',
      position: anchor.position,
    })

  function note(type: FindingType, message: string, { stream, seq }: EventRow): void {
    findings.add(type, message, { table: 'events', stream: nameOf(search, stream), seq, position })
  }

  /** What the row says is believed where it follows on the event before; else the index is asked. */
  function placeOf([id, stream, seq]: readonly unknown[]): Where {
    const place = { position: Number(id) }
    if (typeof stream === 'number' && typeof seq === 'number' && seq - 1 === versions[stream])
      return { ...place, stream: nameOf(search, stream), seq }
    const [indexed] = asked++ < INDEX_ASKED_MAX ? indexedAt(search, place.position) : []
    return indexed === undefined
      ? place
      : { ...place, stream: nameOf(search, indexed.stream), seq: indexed.seq }
  }
}

/** The index by stream and version is on other pages than the events; all of it is read. */
function indexedAt({ database }: Search, position: number): { stream: number; seq: number }[] {
  try {
    return database
      .prepare(
        'select stream, seq from events indexed by events_by_stream where +position = ? limit 1',
      )
      .all(position)
      .map((row) => ({ stream: Number(row['stream']), seq: Number(row['seq']) }))
  } catch {
    return []
  }
}

function verifyHeads(search: Search): void {
  const { findings, versions, links } = search
  for (const { id, row } of read(search, TABLES.streams, { noted: true })) {
    if (row === undefined) continue
    const where = { table: 'streams', stream: row.name }
    if (row.version !== versions[id])
      findings.add(
        'gap',
        `the stream ends at version ${versions[id]}, not at ${row.version}`,
        where,
      )
    else if (row.link !== links[id])
      findings.add('link', 'the stream does not end with the event that was written', where)
  }
}

function verifyLedger(search: Search): void {
  const { findings, checked, losses, anchor } = search
  let last = anchor === undefined ? undefined : anchor.ledger_first - 1
  for (const { id, row } of read(search, TABLES.ledger)) {
    if (last !== undefined) noteGap(search, 'ledger', last, id)
    last = id
    checked.answers += 1
    if (row === undefined) continue
    if (isLostAnswer(row)) losses.answers += 1
    if (anchor !== undefined && row.position > anchor.position)
      findings.add('row', 'the answer was given at a position that is not there', {
        table: 'ledger',
        key: row.key,
      })
  }
  if (anchor !== undefined && last !== anchor.ledger_last)
    findings.add('anchor', `answers end at ${last}, not at ${anchor.ledger_last}`, {
      table: 'ledger',
    })
}

function verifyCollections(search: Search): void {
  const { findings, checked, versions } = search
  const sums = new Map<number, { count: number; sum: number }>()
  for (const { row } of read(search, TABLES.records)) {
    checked.records += 1
    if (row !== undefined) add(row.collection, row.crc)
  }
  for (const { row } of read(search, TABLES.snapshots)) {
    checked.snapshots += 1
    if (row === undefined) continue
    add(SNAPSHOTS_DIGEST, row.crc)
    if (row.seq > (versions[row.stream] ?? 0))
      findings.add('row', 'the snapshot covers more than there is', {
        table: 'snapshots',
        stream: nameOf(search, row.stream),
        seq: row.seq,
      })
  }
  for (const { row } of read(search, TABLES.fences)) {
    checked.fences += 1
    if (row !== undefined) add(FENCES_DIGEST, row.crc)
  }
  let last = 0
  for (const { id, row } of read(search, TABLES.digests)) {
    noteGap(search, 'digests', last, id)
    last = id
    checked.collections += 1
    const { count, sum } = sums.get(id) ?? { count: 0, sum: 0 }
    sums.delete(id)
    if (row !== undefined && (row.count !== count || row.sum !== sum))
      findings.add(
        'digest',
        row.count === count
          ? 'the content is not what was written last'
          : `there are ${count} rows, not ${row.count}`,
        { table: tableOf(id), ...(id > FENCES_DIGEST && { key: row.name }) },
      )
  }
  for (const [id, { count }] of sums)
    findings.add('digest', `${count} rows belong to a collection that is not there`, {
      table: tableOf(id),
    })

  function add(id: number, crc: number): void {
    const of = sums.get(id)
    if (of === undefined) sums.set(id, { count: 1, sum: sumWith(0, crc) })
    else {
      of.count += 1
      of.sum = sumWith(of.sum, crc)
    }
  }
}

function tableOf(digest: number): string {
  return digest === SNAPSHOTS_DIGEST ? 'snapshots' : digest === FENCES_DIGEST ? 'fences' : 'records'
}

/** Groups of commits that wait to be filed go on where the tables end, each where the last one ended. */
function verifyGroups(
  { findings, checked, anchor }: Search,
  groupsBehind?: (filed: number) => IntakeContent,
): void {
  if (groupsBehind === undefined || anchor === undefined) return
  const { groups, stranded, missing } = groupsBehind(anchor.filed)
  if (missing !== undefined) findings.add('group', `group ${missing} of commits is missing`)
  let { position } = anchor
  for (const group of [...groups, ...stranded]) {
    checked.groups += 1
    if (group.position !== position && missing === undefined)
      findings.add('group', `group ${group.number} goes on from ${group.position}`, { position })
    position = group.position + eventsIn(group)
  }
}

/** Where something was found, beyond its table and its key. */
type Where = Pick<Finding, 'stream' | 'seq' | 'position'>

type Read<Name extends TableName> = { id: number; row: Rows[Name] | undefined }

/** Each row by its key; without `row` where it is not what was written, which is noted unless it was. */
function* read<Name extends TableName>(
  { database, findings }: Search,
  table: Table<Name>,
  {
    noted = false,
    place,
  }: Readonly<{ noted?: boolean; place?: (values: readonly unknown[]) => Where }> = {},
): Generator<Read<Name>> {
  const columns = table.columns.map(([column]) => column)
  const key = columns.slice(0, table.keyed || 1).join(', ')
  const statement = database.prepare(
    `select ${columns.join(', ')} from ${table.name} order by ${key}`,
  )
  statement.setReturnArrays(true)
  statement.setReadBigInts(true) // a damaged number may be larger than others can be read
  for (const cells of statement.iterate()) {
    const values = Object.values(cells).map((each) =>
      typeof each === 'bigint' ? Number(each) : each,
    )
    const row = shaped(table, values)
    const right = row !== undefined && table.crc(row) === row.crc
    if (!right && !noted)
      findings.add('row', 'the row is not what was written', {
        table: table.name,
        key: values
          .slice(0, table.keyed || 1)
          .map(String)
          .join(' '),
        ...place?.(values),
      })
    yield { id: Number(values[0]), row: right ? row : undefined }
  }
}

function noteGap({ findings }: Search, table: TableName, last: number, id: number): void {
  if (id !== last + 1)
    findings.add('gap', `${id} follows on ${last}`, {
      table,
      ...(table === 'events' && { position: last + 1 }),
    })
}

function nameOf({ database }: Search, stream: number): string {
  const row = database.prepare('select name from streams where id = ?').get(stream)
  return String(row?.['name'] ?? `#${stream}`)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
