/**
 * Streams that nothing may be appended to, because nobody can tell which version they have.
 *
 * A stream is found by an index, and where that is damaged an existing one looks as if there was none:
 * what waits in the intake would begin it anew, with versions that were never written. So a stream that
 * is not found is looked for once more, without the index, before anything is laid on the desk.
 */
import type { DatabaseSync } from 'node:sqlite'

import { Accident } from '../../std/index.ts'
import { damaged, reading } from './damage.ts'
import { FrameReader } from './frame-reader.ts'
import { GROUP_CRC_BYTES, GROUP_HEADER_BYTES } from './frame.ts'
import type { Group } from './intake.ts'

/** The groups before the first one that appends to such a stream, and why it is one. */
export function sureGroups(
  database: DatabaseSync,
  groups: readonly Group[],
  version: (stream: string) => number,
): Readonly<{ groups: readonly Group[]; damage?: Accident<'damaged'> }> {
  const unsure = new Map<string, Accident<'damaged'>>()
  const unknown = new Set<string>()
  const streams = groups.map(streamsOf)
  for (const stream of new Set(streams.flat()))
    try {
      if (version(stream) === 0) unknown.add(stream)
    } catch (error) {
      if (!isDamage(error)) throw error
      unsure.set(stream, error)
    }
  for (const [stream, damage] of hidden(database, unknown)) unsure.set(stream, damage)
  for (const [n, names] of streams.entries())
    for (const stream of names) {
      const damage = unsure.get(stream)
      if (damage !== undefined) return { groups: groups.slice(0, n), damage }
    }
  return { groups }
}

function streamsOf({ bytes }: Group): string[] {
  const reader = new FrameReader(bytes, GROUP_HEADER_BYTES, bytes.length - GROUP_CRC_BYTES)
  const names = new Set<string>()
  while (!reader.isDone) {
    const brief = reader.brief()
    if (brief.type === 'batch')
      for (const { stream } of brief.batch.streams ?? []) names.add(stream)
  }
  return [...names]
}

/** Those that the table has all the same; all of them where it cannot be read. */
function* hidden(
  database: DatabaseSync,
  unknown: ReadonlySet<string>,
): Generator<[stream: string, damage: Accident<'damaged'>]> {
  if (unknown.size === 0) return
  try {
    const names = database.prepare('select name from streams not indexed')
    for (const name of reading({ table: 'streams' }, () => [
      ...namesIn(names.iterate(), unknown),
    ])) {
      const where = { table: 'streams', stream: name }
      yield [name, damaged(`the index that leads to the stream ${name} is damaged`, where)]
    }
  } catch (error) {
    if (!isDamage(error)) throw error
    for (const stream of unknown) yield [stream, error]
  }
}

function* namesIn(
  rows: Iterable<Readonly<Record<string, unknown>>>,
  wanted: ReadonlySet<string>,
): Generator<string> {
  for (const { name } of rows) if (wanted.has(String(name))) yield String(name)
}

function isDamage(error: unknown): error is Accident<'damaged'> {
  return error instanceof Accident && error.code === 'damaged'
}
