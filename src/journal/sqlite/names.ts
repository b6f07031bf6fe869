/**
 * Which name a stream or a collection had whose row is damaged.
 *
 * There are two witnesses: the row as it is, and the index of names. A name is believed if it makes
 * the crc of the row right again, with what the row says beside it or with what the events and records
 * add up to. If the crc itself is damaged, both witnesses have to agree, and all else in the row has to
 * be right. Where there is no row any more, the index is believed, because it is on another page.
 */
import type { DatabaseSync } from 'node:sqlite'

import { digestCrc, linkOf, streamCrc, type DigestRow, type StreamRow } from './checks.ts'
import { contentOf, rowsOf } from './figures.ts'

export function streamName(
  database: DatabaseSync,
  id: number,
  { row, indexed }: Readonly<{ row: StreamRow | undefined; indexed: string | undefined }>,
): string | undefined {
  if (row === undefined) return indexed
  let [version, link] = [0, 0]
  const events = database.prepare('select crc from events where stream = ? order by seq')
  for (const { crc } of events.iterate(id)) {
    version += 1
    link = linkOf(link, Number(crc))
  }
  const name = [row.name, indexed].find(
    (candidate) =>
      candidate !== undefined &&
      [row, { version, link }].some(
        (head) =>
          streamCrc({ id, name: candidate, version: head.version, link: head.link }) === row.crc,
      ),
  )
  const agreed = row.name === indexed && row.version === version && row.link === link
  return name ?? (agreed ? indexed : undefined)
}

export function collectionName(
  database: DatabaseSync,
  id: number,
  { row, indexed }: Readonly<{ row: DigestRow | undefined; indexed: string | undefined }>,
): string | undefined {
  if (row === undefined) return indexed
  const content = contentOf(database, rowsOf(id))
  const name = [row.name, indexed].find(
    (candidate) =>
      candidate !== undefined &&
      [row, content].some(
        ({ count, sum }) => digestCrc({ id, name: candidate, count, sum }) === row.crc,
      ),
  )
  const agreed = row.name === indexed && row.count === content.count && row.sum === content.sum
  return name ?? (agreed ? indexed : undefined)
}
