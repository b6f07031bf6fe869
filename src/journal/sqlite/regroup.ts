/**
 * Groups that waited to be filed when a journal was damaged, filed into the tables that were restored.
 *
 * A group that its crc proves is filed, also where one before it is lost. What a lost group has written
 * is lost, and its requests may be made again, because nothing of them is in effect. The positions
 * of its events are known from the group behind it. A later batch that expected a version, or has a
 * snapshot, tells which streams they were on. Those that nobody misses belong to nobody, and what was
 * appended to such a stream without an expectation moves up.
 */
import type { DatabaseSync } from 'node:sqlite'

import { FrameReader, type Sink } from './frame-reader.ts'
import { GROUP_CRC_BYTES, GROUP_HEADER_BYTES } from './frame.ts'
import type { Group } from './intake.ts'
import { isLostAnswer, lostEvent, UNKNOWN_STREAM } from './lost.ts'
import { Tables } from './tables.ts'

export type Regrouped = Readonly<{
  /** Groups that were filed, and numbers between them that were not there. */
  filed: number
  missing: readonly number[]
  /** Lost events by position; without a stream where nobody knows it. */
  lost: readonly Readonly<{ position: number; stream?: string }>[]
}>

/** `groups` are in order; `filed` is the last one that is in the tables, where that is known. */
export function regroup(
  database: DatabaseSync,
  groups: readonly Group[],
  filed: number | undefined,
): Regrouped {
  const tables = new Tables(database)
  const known = tables.position
  let last = lastFiled(groups, known, filed)
  const missing: number[] = []
  const lost: { position: number; stream?: string }[] = []
  let position = known
  tables.begin()
  for (const group of onceMore(groups, last)) file(tables, group, known)
  const unfiled = groups.filter(({ number }) => number > last)
  for (const [n, group] of unfiled.entries()) {
    while (++last < group.number) missing.push(last)
    const owners = group.position > position ? expectedIn(unfiled.slice(n), tables) : []
    while (position < group.position) {
      position += 1
      const stream = owners.shift()
      lost.push({ position, ...(stream !== undefined && { stream }) })
      markLost(tables, position, stream)
    }
    position = Math.max(position, file(tables, group, known))
  }
  tables.commit(last)
  return { filed: unfiled.length, missing, lost }
}

/**
 * Those up to the last that was filed, as far as there is no gap behind them. They are filed once more:
 * where the tables are right, that changes nothing, and where they have gone back it makes them right.
 */
function onceMore(groups: readonly Group[], last: number): Group[] {
  if ((groups.at(-1)?.number ?? 0) < last) return []
  const begin = groups.findLastIndex(({ number }, n) => groups[n - 1]?.number !== number - 1)
  return groups.slice(Math.max(0, begin)).filter(({ number }) => number <= last)
}

/** Without an anchor, or with an old one, the events in the tables tell how far filing had come. */
function lastFiled(groups: readonly Group[], position: number, filed: number | undefined): number {
  const seen = groups.findLast((group) => {
    const events = eventsIn(group)
    return group.position + (events || 1) <= position // without events, those behind it tell
  })
  return Math.max(filed ?? (groups[0]?.number ?? 1) - 1, seen?.number ?? 0)
}

export function eventsIn(group: Group): number {
  const reader = readerOf(group)
  let events = 0
  while (!reader.isDone) {
    const brief = reader.brief()
    if (brief.type === 'batch') events += brief.events
  }
  return events
}

/** One name for each version that groups expect of a stream, or took a snapshot of, and that is not there. */
function expectedIn(groups: readonly Group[], tables: Tables): string[] {
  const versions = new Map<string, number>()
  const names: string[] = []
  for (const group of groups) {
    const reader = readerOf(group)
    while (!reader.isDone) {
      const brief = reader.brief()
      if (brief.type === 'take') continue
      const { streams = [], snapshots = [] } = brief.batch
      for (const { stream, expected, events } of streams) {
        if (typeof expected === 'number') miss(stream, expected)
        versions.set(stream, versionOf(stream) + events.length)
      }
      for (const write of snapshots) if (!('dropped' in write)) miss(write.stream, write.seq)
    }
  }
  return names

  function versionOf(stream: string): number {
    return versions.get(stream) ?? tables.head(stream)?.version ?? 0
  }

  function miss(stream: string, version: number): void {
    for (let n = versionOf(stream); n < version; n++) names.push(stream)
    versions.set(stream, Math.max(version, versionOf(stream)))
  }
}

function markLost(tables: Tables, position: number, stream: string | undefined): void {
  if (stream !== undefined) {
    const seq = (tables.head(stream)?.version ?? 0) + 1
    tables.event(stream, lostEvent({ position, stream: 0, seq }, 0))
    return
  }
  const { database } = tables
  const [before] = Object.values(
    database.prepare('select max(seq) from events where stream = ?').get(UNKNOWN_STREAM) ?? {},
  )
  const row = lostEvent({ position, stream: UNKNOWN_STREAM, seq: Number(before ?? 0) + 1 }, 0)
  const values = Object.values(row)
  database
    .prepare(
      `insert into events (${Object.keys(row).join(', ')}) values (${values.map(() => '?').join(', ')})`,
    )
    .run(...values)
}

/** Gives the position of its last event; those up to `known` are in the tables. */
function file(tables: Tables, group: Group, known: number): number {
  const reader = readerOf(group)
  const answered = tables.database.prepare('select position, at from ledger where key = ?')
  let last = group.position
  let batch = last
  const sink: Sink = {
    event(stream, event) {
      last += 1
      if (last <= known) return
      const seq = (tables.head(stream)?.version ?? 0) + 1
      tables.event(stream, { ...event, position: last, seq, batch })
    },
    record(collection, key, value) {
      if (value === null) tables.deleteRecord(collection, key)
      else tables.putRecord(collection, key, value)
    },
    answer(key, fingerprint, response) {
      const row = answered.get(key)
      if (row?.['at'] === group.at || (row && isLostAnswer({ position: Number(row['position']) })))
        return
      tables.answer({ key, fingerprint, response, position: last, at: group.at })
    },
    snapshot(stream, seq, fold, kept) {
      if (kept === null) tables.dropSnapshot(stream, seq, fold)
      else if ((tables.head(stream)?.version ?? 0) >= seq)
        tables.keepSnapshot(stream, rowOf(seq, fold, kept))
    },
    fence: (name, token) => tables.fence(name, token),
  }
  while (!reader.isDone) {
    batch = last + 1
    reader.entry(sink)
  }
  tables.writeHeads()
  return last
}

function rowOf(
  seq: number,
  fold: string,
  { topAt, topSeq, state }: Readonly<{ topAt: number; topSeq: number; state: Buffer }>,
): Parameters<Tables['keepSnapshot']>[1] {
  return { seq, fold, top_at: topAt, top_seq: topSeq, state }
}

function readerOf({ bytes }: Group): FrameReader {
  return new FrameReader(bytes, GROUP_HEADER_BYTES, bytes.length - GROUP_CRC_BYTES)
}
