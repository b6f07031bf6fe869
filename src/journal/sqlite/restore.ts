/**
 * Everything that is still right in damaged pages, put into an empty database so that it is one again.
 *
 *   - A row that its crc proves is kept, whatever happened to the pages around it.
 *   - What may be overwritten is kept too. Where it is doubtful whether it was the last version it is kept
 *     only if the digest of its collection proves that.
 *   - A lost event or answer leaves a mark in its place (`lost.ts`), so that nothing else takes it.
 *   - A lost name is found again where there is proof of it (`names.ts`); otherwise the name says so.
 *   - A lost record leaves nothing: it cannot be told any more from one that was deleted.
 *   - Links, digests and the anchor are made anew from what was kept.
 */
import type { DatabaseSync } from 'node:sqlite'

import { FENCES_DIGEST } from './checks.ts'
import {
  BESIDE,
  collect,
  KEYED,
  putter,
  witnesses,
  type Collected,
  type Witnesses,
} from './collect.ts'
import { contentOf, numberOf, rowsOf, tableOf, writeFigures, type Content } from './figures.ts'
import { placeLost, type Gap, type Holes, type Lost } from './holes.ts'
import type { Group } from './intake.ts'
import { lostAnswer, lostEvent, UNKNOWN_STREAM } from './lost.ts'
import { collectionName, streamName } from './names.ts'
import type { Pages } from './pages.ts'
import { regroup, type Regrouped } from './regroup.ts'
import { FINDINGS_MAX, noCounts, type Counts, type Loss } from './report.ts'
import { writeFirstRows } from './tables.ts'

export type Restored = Readonly<{
  kept: Counts
  lost: Counts
  losses: readonly Loss[]
  /** Losses beyond `FINDINGS_MAX`. */
  unlisted: number
}>

type Restoring = Collected & {
  readonly lost: ReturnType<typeof noCounts>
  readonly losses: Loss[]
  lossCount: number
  /** Reads the damaged pages once more when it is asked for the first time. */
  readonly witnesses: () => Witnesses
}

/** `database` has the tables of the schema with nothing in them; `groups` are in order. */
export function restore(pages: Pages, database: DatabaseSync, groups: readonly Group[]): Restored {
  let known: Witnesses | undefined
  database.exec('begin')
  writeFirstRows(database)
  const restoring: Restoring = {
    ...collect(pages, database),
    lost: noCounts(),
    losses: [],
    lossCount: 0,
    witnesses: () => (known ??= witnesses(pages)),
  }
  restoreStreams(restoring)
  restoreEvents(restoring)
  restoreLedger(restoring)
  restoreCollections(restoring)
  for (const { id } of database.prepare('select id from digests order by id').all())
    settle(restoring, Number(id))
  for (const table of KEYED)
    for (const beside of BESIDE) database.exec(`drop table temp.${beside}_${table}`)
  const filed = restoring.anchor?.filed
  writeFigures(database, { filed: filed ?? 0, ledger_first: firstAnswer(restoring) })
  database.exec('commit')
  const regrouped = restoreGroups(restoring, groups)
  const { lost, losses, lossCount } = restoring
  return {
    kept: { ...keptOf(restoring), groups: regrouped.filed },
    lost,
    losses,
    unlisted: lossCount - losses.length,
  }
}

function lose(restoring: Restoring, message: string, where: Omit<Loss, 'message'>): void {
  restoring.lossCount += 1
  if (restoring.losses.length < FINDINGS_MAX) restoring.losses.push({ message, ...where })
}

function restoreStreams(restoring: Restoring): void {
  const { database, anchor, lost } = restoring
  const end = Math.max(
    anchor?.streams ?? 0,
    numberOf(database, 'select max(id) from streams'),
    numberOf(database, 'select max(stream) from events'),
  )
  const put = putter(database)
  for (const id of missing(database, 'select id from streams order by id', [1, end])) {
    const row = restoring.wrongStreams.get(id)
    const indexed = restoring.witnesses().streams.get(id)
    const name = streamName(database, id, { row, indexed })
    if (name !== undefined) put('streams', { id, name, version: 0, link: 0, crc: 0 })
    if (numberOf(database, 'select count(*) from streams where id = ?', id) > 0) continue
    const none = `lost stream ${id}`
    put('streams', { id, name: none, version: 0, link: 0, crc: 0 })
    lost.streams += 1
    lose(restoring, 'the name of the stream is lost', { table: 'streams', stream: none })
  }
}

function restoreEvents(restoring: Restoring): void {
  const { database, anchor, lost } = restoring
  const { gaps, heads } = gapsIn(database)
  const kept = numberOf(database, 'select count(*) from events')
  const end = Math.max(
    anchor?.position ?? 0,
    numberOf(database, 'select max(position) from events'),
    numberOf(database, 'select max(position) from ledger'),
    gaps.reduce((sum, { from, to }) => sum + to - from + 1, kept),
  )
  const positions = missing(database, 'select position from events order by position', [1, end])
  if (positions.length === 0) return
  const streams = numberOf(database, 'select max(id) from streams')
  const witnessed = restoring
    .witnesses()
    .events.filter(({ stream }) => stream >= 1 && stream <= streams)
  const put = putter(database)
  const nameOf = database.prepare('select name from streams where id = ?')
  for (const place of placeLost({ missing: positions, gaps, heads }, witnessed)) {
    put('events', lostEvent(place, 0))
    lost.events += 1
    const { stream, seq, position } = place
    const known = stream !== UNKNOWN_STREAM && { stream: String(nameOf.get(stream)?.['name']), seq }
    lose(restoring, 'the event is lost', { table: 'events', position, ...known })
  }
}

/** Versions that are missing in streams: between events, and up to the version the stream should have. */
function gapsIn(database: DatabaseSync): Pick<Holes, 'gaps' | 'heads'> {
  const gaps: Gap[] = []
  const heads = new Map<number, Lost>()
  const events = database.prepare('select stream, seq, position from events order by stream, seq')
  for (const row of events.iterate()) {
    const head = headOf(Number(row['stream']))
    const event = { ...head, seq: Number(row['seq']), position: Number(row['position']) }
    addGap(head, event.seq, event.position)
    heads.set(event.stream, event)
  }
  for (const { id, version } of database.prepare('select id, version from streams').iterate())
    addGap(headOf(Number(id)), Number(version) + 1, Infinity)
  return { gaps, heads }

  function headOf(stream: number): Lost {
    return heads.get(stream) ?? { stream, seq: 0, position: 0 }
  }

  function addGap({ stream, seq, position }: Lost, next: number, before: number): void {
    if (next > seq + 1) gaps.push({ stream, from: seq + 1, to: next - 1, after: position, before })
  }
}

function restoreLedger(restoring: Restoring): void {
  const { database, anchor, lost } = restoring
  const end = Math.max(anchor?.ledger_last ?? 0, numberOf(database, 'select max(id) from ledger'))
  // Answers that were forgotten may still be found on a page that was given back.
  database.prepare('delete from ledger where id < ?').run(firstAnswer(restoring))
  const put = putter(database)
  const atBefore = 'select at from ledger where id < ? order by id desc limit 1'
  for (const id of missing(database, 'select id from ledger order by id', [
    firstAnswer(restoring),
    end,
  ])) {
    const known = restoring.witnesses().ledger.get(id)
    const at = numberOf(database, atBefore, id)
    if (known !== undefined) put('ledger', lostAnswer({ id, key: known, at }))
    put('ledger', lostAnswer({ id, key: `lost answer ${id}`, at })) // unless it has its own key
    lost.answers += 1
    lose(restoring, 'the answer is lost', { table: 'ledger', ...(known && { key: known }) })
  }
}

/** Names are made sure of here; counts and sums are written when the content is settled. */
function restoreCollections(restoring: Restoring): void {
  const { database, digests, lost } = restoring
  const end = Math.max(
    FENCES_DIGEST,
    ...digests.keys(),
    numberOf(database, 'select max(collection) from records'),
  )
  const put = putter(database)
  for (let id = FENCES_DIGEST + 1; id <= end; id++) {
    const name = digests.get(id)?.name ?? lostName(id)
    if (name !== undefined) put('digests', { id, name, count: 0, sum: 0, crc: 0 })
    if (numberOf(database, 'select count(*) from digests where id = ?', id) > 0) continue
    const none = `lost collection ${id}`
    put('digests', { id, name: none, count: 0, sum: 0, crc: 0 })
    lost.collections += 1
    lose(restoring, 'the name of the collection is lost', { table: 'digests', key: none })
  }

  function lostName(id: number): string | undefined {
    const row = restoring.wrongDigests.get(id)
    const indexed = restoring.witnesses().collections.get(id)
    return collectionName(database, id, { row, indexed })
  }
}

/** What is astray comes in where its place is free, what is doubtful only if the digest proves it. */
function settle(restoring: Restoring, id: number): void {
  const { database, digests, lost } = restoring
  const table = tableOf(id)
  const written = digests.get(id)
  let content = contentOf(database, rowsOf(id))
  if (isOther(content)) {
    take('astray')
    content = contentOf(database, rowsOf(id))
  }
  if (isOther(content)) {
    database.exec('savepoint doubt')
    take('doubtful')
    const more = contentOf(database, rowsOf(id))
    if (isOther(more)) database.exec('rollback to doubt')
    else content = more
    database.exec('release doubt')
  }
  if (!isOther(content)) return
  lost[table] += Math.max(0, (written?.count ?? 0) - content.count)
  const name = database.prepare('select name from digests where id = ?').get(id)?.['name']
  lose(restoring, lossOf(content, written), {
    table,
    ...(table === 'records' && { key: String(name) }),
  })

  function take(beside: (typeof BESIDE)[number]): void {
    database.exec(`insert or ignore into ${table} select * from temp.${beside}_${rowsOf(id)}`)
  }

  function isOther({ count, sum }: Content): boolean {
    return written === undefined || count !== written.count || sum !== written.sum
  }
}

function lossOf(content: Content, written: Content | undefined): string {
  if (written === undefined) return `${content.count} rows are kept, and maybe not all there were`
  if (written.count > content.count)
    return `${content.count} rows are kept of ${written.count}, and maybe not the last version of each`
  return `${content.count} rows are kept, and not the last version of each`
}

function restoreGroups(restoring: Restoring, groups: readonly Group[]): Regrouped {
  const { database, anchor, lost } = restoring
  const regrouped = regroup(database, groups, anchor?.filed)
  for (const number of regrouped.missing) {
    lost.groups += 1
    lose(restoring, `group ${number} of commits is lost`, {})
  }
  for (const where of regrouped.lost) {
    lost.events += 1
    lose(restoring, 'the event is lost', { table: 'events', ...where })
  }
  const [filed, first] = ['filed', 'ledger_first'].map((column) =>
    numberOf(database, `select ${column} from anchor`),
  )
  database.exec('begin')
  writeFigures(database, { filed: filed!, ledger_first: first! })
  database.exec('commit')
  return regrouped
}

function firstAnswer({ database, anchor }: Restoring): number {
  return anchor?.ledger_first ?? Math.max(1, numberOf(database, 'select min(id) from ledger'))
}

function keptOf({ database, lost }: Restoring): Counts {
  const count = (table: string): number => numberOf(database, `select count(*) from ${table}`)
  return {
    groups: 0,
    streams: count('streams') - lost.streams,
    events: count('events') - lost.events,
    records: count('records'),
    answers: count('ledger') - lost.answers,
    snapshots: count('snapshots'),
    fences: count('fences'),
    collections: count('digests') - lost.collections,
  }
}

/** Whole numbers of a range that an ascending query does not give. */
function missing(
  database: DatabaseSync,
  query: string,
  [from, to]: readonly [number, number],
): number[] {
  const numbers: number[] = []
  const statement = database.prepare(query)
  statement.setReturnArrays(true)
  let next = from
  for (const row of statement.iterate()) {
    const [number] = Object.values(row).map(Number)
    while (next < number!) numbers.push(next++)
    next = number! + 1
  }
  while (next <= to) numbers.push(next++)
  return numbers
}
