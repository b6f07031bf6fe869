/**
 * The check numbers of the rows of `schema.ts`.
 *
 * A `crc` is the CRC-32 of the canonical bytes of a row: which table it belongs to, then its numbers,
 * its texts and its blob, each in the order of the columns and with its length where that is not
 * fixed. A row therefore has one crc, and a row that was moved, cut or mixed with another does not
 * have its own any more. Changing anything here changes the file: see `schema.ts`.
 */
import { crc32 } from 'node:zlib'
import { writeText } from './texts.ts'

export type StreamRow = { id: number; name: string; version: number; link: number; crc: number }

export type EventRow = {
  position: number
  stream: number
  seq: number
  batch: number
  at: number
  effective: number | null
  type: string
  version: number
  about: string | null
  data: Uint8Array
  crc: number
  link: number
}

export type RecordRow = { collection: number; key: string; value: Uint8Array; crc: number }

export type LedgerRow = {
  id: number
  key: string
  fingerprint: string
  response: Uint8Array
  position: number
  at: number
  crc: number
}

export type SnapshotRow = {
  stream: number
  seq: number
  fold: string
  top_at: number
  top_seq: number
  state: Uint8Array
  crc: number
}

export type FenceRow = { name: string; token: number; crc: number }

export type DigestRow = { id: number; name: string; count: number; sum: number; crc: number }

export type AnchorRow = {
  filed: number
  position: number
  streams: number
  ledger_first: number
  ledger_last: number
  crc: number
}

/** Digests of what belongs to no collection; the ids of collections follow. */
export const SNAPSHOTS_DIGEST = 1
export const FENCES_DIGEST = 2

const TABLE = {
  stream: 1,
  event: 2,
  record: 3,
  ledger: 4,
  snapshot: 5,
  fence: 6,
  digest: 7,
  anchor: 8,
}
const UTF8_BYTES_PER_UNIT = 3
const NO_LENGTH = -1
/** A blob up to here is copied, because a second call of `crc32` costs more than that. */
const COPIED_BYTES_MAX = 4_096

/** The canonical bytes of the row in hand; rows are taken one after the other, so one is enough. */
let scratch = Buffer.alloc(65_536)
let view = new DataView(scratch.buffer, scratch.byteOffset)
let end = 0

export function streamCrc(row: Omit<StreamRow, 'crc'>): number {
  begin(TABLE.stream)
  number(row.id)
  text(row.name)
  number(row.version)
  number(row.link)
  return finish()
}

export function eventCrc(row: Omit<EventRow, 'crc' | 'link'>): number {
  begin(TABLE.event)
  number(row.position)
  number(row.stream)
  number(row.seq)
  number(row.batch)
  number(row.at)
  number(row.effective ?? Infinity)
  text(row.type)
  number(row.version)
  text(row.about)
  return finish(row.data)
}

/** The link of an event, from that of the event before it in its stream: 0 for the first. */
export function linkOf(previous: number, crc: number): number {
  return mixed(Math.imul(previous ^ 0x9e3779b9, 0x85ebca6b) ^ crc)
}

export function recordCrc(row: Omit<RecordRow, 'crc'>): number {
  begin(TABLE.record)
  number(row.collection)
  text(row.key)
  return finish(row.value)
}

/** The same of a row whose value is read as text: a text and a blob of the same bytes count alike. */
export function recordTextCrc(collection: number, key: string, value: string): number {
  begin(TABLE.record)
  number(collection)
  text(key)
  text(value)
  return finish()
}

export function ledgerCrc(row: Omit<LedgerRow, 'crc'>): number {
  begin(TABLE.ledger)
  number(row.id)
  text(row.key)
  text(row.fingerprint)
  number(row.position)
  number(row.at)
  return finish(row.response)
}

export function snapshotCrc(row: Omit<SnapshotRow, 'crc'>): number {
  begin(TABLE.snapshot)
  number(row.stream)
  number(row.seq)
  text(row.fold)
  number(row.top_at)
  number(row.top_seq)
  return finish(row.state)
}

export function fenceCrc({ name, token }: Omit<FenceRow, 'crc'>): number {
  begin(TABLE.fence)
  text(name)
  number(token)
  return finish()
}

export function digestCrc(row: Omit<DigestRow, 'crc'>): number {
  begin(TABLE.digest)
  number(row.id)
  text(row.name)
  number(row.count)
  number(row.sum)
  return finish()
}

export function anchorCrc(row: Omit<AnchorRow, 'crc'>): number {
  begin(TABLE.anchor)
  number(row.filed)
  number(row.position)
  number(row.streams)
  number(row.ledger_first)
  number(row.ledger_last)
  return finish()
}

/**
 * Sums of crcs, the same in whatever order rows came and went. They stay below 2^52, so that adding
 * two is exact.
 */
const SUM_MODULUS = 2 ** 52

export function sumWith(sum: number, crc: number): number {
  return (sum + spread(crc)) % SUM_MODULUS
}

export function sumWithout(sum: number, crc: number): number {
  return (sum - spread(crc) + SUM_MODULUS) % SUM_MODULUS
}

/** A crc over 52 bits: sums of plain ones cancel out where rows differ by a bit. */
function spread(crc: number): number {
  return mixed(crc) * 2 ** 20 + (mixed(crc ^ 0x5bd1e995) >>> 12)
}

/** Each bit of the answer depends on all of `word`, and no two words have the same answer. */
function mixed(word: number): number {
  let hash = word
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d)
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b)
  return (hash ^ (hash >>> 16)) >>> 0
}

function begin(table: number): void {
  scratch[0] = table
  end = 1
}

function number(value: number): void {
  if (end + 8 > scratch.length) grow(8)
  view.setFloat64(end, value, true)
  end += 8
}

function text(value: string | null): void {
  if (value === null) return number(NO_LENGTH)
  const bytesMax = value.length * UTF8_BYTES_PER_UNIT
  if (end + 8 + bytesMax > scratch.length) grow(8 + bytesMax)
  const length = writeText(scratch, value, end + 8)
  view.setFloat64(end, length, true)
  end += 8 + length
}

function finish(blob?: Uint8Array): number {
  if (blob === undefined) return crc32(scratch.subarray(0, end))
  number(blob.length)
  if (blob.length > COPIED_BYTES_MAX) return crc32(blob, crc32(scratch.subarray(0, end)))
  if (end + blob.length > scratch.length) grow(blob.length)
  scratch.set(blob, end)
  return crc32(scratch.subarray(0, end + blob.length))
}

function grow(bytes: number): void {
  const larger = Buffer.alloc(Math.max(scratch.length * 2, end + bytes))
  scratch.copy(larger, 0, 0, end)
  scratch = larger
  view = new DataView(scratch.buffer, scratch.byteOffset)
}
