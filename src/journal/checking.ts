/**
 * What a journal is asked, checked before anything is done about it.
 *
 * A batch that passes fits every engine: its texts are well-formed Unicode, so that they come back as
 * they were; its names have no NUL, which some databases cannot hold; nothing in it is larger than the
 * limits of the port. This stands in the way of every commit: a good batch costs no allocation, and
 * the bytes of a text are counted only where three for each code unit could be too many.
 */
import { Accident, fault, type FaultDetail } from '../std/index.ts'
import {
  BATCH_BYTES_MAX,
  BATCH_ITEMS_MAX,
  NAME_BYTES_MAX,
  PAYLOAD_BYTES_MAX,
  READ_LIMIT_DEFAULT,
  READ_LIMIT_MAX,
  type Batch,
  type LedgerEntry,
  type NewEvent,
  type Page,
  type RecordWrite,
  type SnapshotWrite,
  type StreamAppend,
} from './journal.ts'

/** Up to so many items that are out of order are compared with all others; more of them go through a set. */
const STRAGGLERS_MAX = 16

/** Throws `bad-batch`; gives the length of all texts in it, which is at most its bytes in UTF-8. */
export function checkBatch(batch: Batch): number {
  const { streams, records, ledger, snapshots, fence } = batch
  refuseTooMany(batch)
  let chars = 0
  if (streams !== undefined) for (const append of streams) chars += checkAppend(append)
  if (records !== undefined) for (const write of records) chars += checkRecord(write)
  if (ledger !== undefined) for (const entry of ledger) chars += checkEntry(entry)
  if (snapshots !== undefined) for (const snapshot of snapshots) chars += checkSnapshot(snapshot)
  if (fence !== undefined) {
    chars += checkName('fence', fence.name)
    checkWhole('the token of a fence', fence.token, 1)
  }
  if (chars * 3 > BATCH_BYTES_MAX) refuseTooLarge(batch)
  if (streams !== undefined) refuseTwice('stream', streams, compareStreams, idOfStream)
  if (records !== undefined) refuseTwice('record', records, compareRecords, idOfRecord)
  if (ledger !== undefined) refuseTwice('ledger key', ledger, compareEntries, idOfEntry)
  if (snapshots !== undefined) refuseTwice('snapshot', snapshots, compareSnapshots, idOfSnapshot)
  return chars
}

/** Throws `bad-read`; gives how much the page may have. */
export function checkPage(page: Page<unknown> | undefined): number {
  const limit = page?.limit
  if (limit === undefined) return READ_LIMIT_DEFAULT
  if (Number.isInteger(limit) && limit >= 1 && limit <= READ_LIMIT_MAX) return limit
  throw badRead('the limit of a page is out of bounds', {
    limit,
    remedy: `ask for 1 to ${READ_LIMIT_MAX} at a time`,
  })
}

/** Where a page of events begins; throws `bad-read`. */
export function checkPlace(page: Page<number> | undefined): number {
  const after = page?.after ?? 0
  if (Number.isSafeInteger(after) && after >= 0) return after
  throw badRead('a page of events begins after a whole number from 0', {
    after,
    remedy: 'give the place of the last event that was read, or 0',
  })
}

/** Names and keys that something is read by; throws `bad-read`. */
export function checkReadName(what: string, name: string): void {
  const wrong = wrongInName(name)
  if (wrong !== undefined)
    throw badRead(`the ${what} ${wrong}`, { remedy: 'read by a name that could be written' })
}

/** A prefix may be empty, and so may the key that a page begins after; throws `bad-read`. */
export function checkReadText(what: string, text: string): void {
  if (text !== '') checkReadName(what, text)
}

/** Keys that are read at once; throws `bad-read`. */
export function checkKeys(keys: readonly string[]): void {
  if (keys.length > READ_LIMIT_MAX)
    throw badRead('too many keys are read at once', {
      keys: keys.length,
      remedy: `ask for ${READ_LIMIT_MAX} at a time`,
    })
  for (const key of keys) checkReadName('key of a record', key)
}

/** UTF-8 bytes of all texts of a batch. */
export function batchBytes({ streams, records, ledger, snapshots, fence }: Batch): number {
  let bytes = fence === undefined ? 0 : Buffer.byteLength(fence.name)
  for (const { stream, events } of streams ?? []) {
    bytes += Buffer.byteLength(stream)
    for (const { type, data, requestId = '', actor = '', trace = '' } of events)
      bytes += [type, data, requestId, actor, trace].reduce(addBytes, 0)
  }
  for (const write of records ?? [])
    bytes += [write.collection, write.key, 'value' in write ? write.value : ''].reduce(addBytes, 0)
  for (const { key, fingerprint, response } of ledger ?? [])
    bytes += [key, fingerprint, response].reduce(addBytes, 0)
  for (const write of snapshots ?? [])
    bytes += [write.stream, write.fold, 'state' in write ? write.state : ''].reduce(addBytes, 0)
  return bytes
}

function addBytes(sum: number, text: string): number {
  return sum + Buffer.byteLength(text)
}

function refuseTooMany({ streams, records, ledger, snapshots }: Batch): void {
  let items = (records?.length ?? 0) + (ledger?.length ?? 0) + (snapshots?.length ?? 0)
  if (streams !== undefined) for (const { events } of streams) items += 1 + events.length
  if (items <= BATCH_ITEMS_MAX) return
  throw badBatch('the batch has too many items', {
    items,
    limit: BATCH_ITEMS_MAX,
    remedy: 'commit less at once',
  })
}

function refuseTooLarge(batch: Batch): void {
  const bytes = batchBytes(batch)
  if (bytes <= BATCH_BYTES_MAX) return
  throw badBatch('the batch is too large', {
    bytes,
    limit: BATCH_BYTES_MAX,
    remedy: 'commit less at once',
  })
}

function checkAppend({ stream, expected, events }: StreamAppend): number {
  let chars = checkName('stream', stream)
  if (typeof expected === 'number') checkWhole('the expected version of a stream', expected, 0)
  else if (expected !== 'any' && expected !== 'none')
    throw badBatch('the expected version of a stream is none', {
      stream,
      expected,
      remedy: "give a version, 'any' or 'none'",
    })
  for (const event of events) chars += checkEvent(event)
  return chars
}

function checkEvent(event: NewEvent): number {
  const { type, version, at, effectiveAt, data, requestId, actor, trace } = event
  checkWhole('the version of an event', version, 1)
  checkWhole('the time of an event', at, Number.MIN_SAFE_INTEGER)
  if (effectiveAt !== undefined)
    checkWhole('the time of effect of an event', effectiveAt, Number.MIN_SAFE_INTEGER)
  let chars = checkName('type of an event', type) + checkPayload('data of an event', data)
  if (requestId !== undefined) chars += checkName('request id of an event', requestId)
  if (actor !== undefined) chars += checkName('actor of an event', actor)
  if (trace !== undefined) chars += checkName('trace of an event', trace)
  return chars
}

function checkRecord(write: RecordWrite): number {
  const chars = checkName('collection', write.collection) + checkName('key of a record', write.key)
  return 'value' in write ? chars + checkPayload('value of a record', write.value) : chars
}

function checkEntry({ key, fingerprint, response }: LedgerEntry): number {
  if (typeof fingerprint === 'string' && fingerprint.includes('\0'))
    throw badBatch('a fingerprint has a NUL in it', { key, remedy: 'make it with fingerprintOf' })
  return (
    checkName('request id', key) +
    checkPayload('fingerprint', fingerprint) +
    checkPayload('response', response)
  )
}

function checkSnapshot(write: SnapshotWrite): number {
  checkWhole('the length of a snapshot', write.seq, 1)
  const chars = checkName('stream', write.stream) + checkName('fold', write.fold)
  if ('dropped' in write) return chars
  checkWhole('the latest time of effect in a snapshot', write.topAt, Number.MIN_SAFE_INTEGER)
  checkWhole('the last event in effect of a snapshot', write.topSeq, 1)
  if (write.topSeq > write.seq)
    throw badBatch('a snapshot names an event that it does not cover', {
      stream: write.stream,
      seq: write.seq,
      topSeq: write.topSeq,
      remedy: 'let topSeq be at most seq',
    })
  return chars + checkPayload('state of a snapshot', write.state)
}

function checkName(what: string, name: string): number {
  const wrong = wrongInName(name)
  if (wrong === undefined) return name.length
  throw badBatch(`the ${what} ${wrong}`, {
    limit: NAME_BYTES_MAX,
    remedy: `name it in 1 to ${NAME_BYTES_MAX} bytes of UTF-8 without NUL`,
  })
}

function wrongInName(name: string): string | undefined {
  if (typeof name !== 'string') return 'is not a text'
  if (name === '') return 'is empty'
  if (name.length * 3 > NAME_BYTES_MAX && Buffer.byteLength(name) > NAME_BYTES_MAX)
    return 'is too long'
  if (!name.isWellFormed()) return 'has half a character in it'
  if (name.includes('\0')) return 'has a NUL in it'
  return undefined
}

function checkPayload(what: string, text: string): number {
  if (typeof text !== 'string')
    throw badBatch(`the ${what} is not a text`, { remedy: 'encode it, as JSON for example' })
  if (!text.isWellFormed())
    throw badBatch(`the ${what} has half a character in it`, {
      remedy: 'let it be well-formed Unicode; encode bytes as base64',
    })
  if (text.length * 3 > PAYLOAD_BYTES_MAX && Buffer.byteLength(text) > PAYLOAD_BYTES_MAX)
    throw badBatch(`the ${what} is too large`, {
      bytes: Buffer.byteLength(text),
      limit: PAYLOAD_BYTES_MAX,
      remedy: 'keep what is that large elsewhere, and its name here',
    })
  return text.length
}

function checkWhole(what: string, value: number, min: number): void {
  if (Number.isSafeInteger(value) && value >= min) return
  const from = min === Number.MIN_SAFE_INTEGER ? '' : ` from ${min}`
  throw badBatch(`${what} is not a whole number${from}`, {
    given: value,
    remedy: 'give a whole number',
  })
}

/** Mostly they are in order, and then none of them is there twice: one look at each is enough. */
function refuseTwice<T>(
  what: string,
  items: readonly T[],
  compare: (a: T, b: T) => number,
  idOf: (item: T) => string,
): void {
  const stragglers: T[] = []
  let before: T | undefined
  let last = items[0]
  for (let n = 1; n < items.length; n++) {
    const item = items[n]!
    if (compare(last!, item) < 0) {
      before = last
      last = item
    } else if (before === undefined || compare(before, item) < 0) {
      stragglers.push(last!) // it was too far ahead
      last = item
    } else stragglers.push(item)
  }
  if (stragglers.length > STRAGGLERS_MAX) {
    if (new Set(items.map(idOf)).size < items.length) throw twice(what)
    return
  }
  for (const straggler of stragglers) {
    let times = 0
    for (const item of items) if (compare(item, straggler) === 0) times++
    if (times > 1) throw twice(what)
  }
}

/** Any order will do, as long as it is one. */
function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

function compareStreams(a: StreamAppend, b: StreamAppend): number {
  return compareTexts(a.stream, b.stream)
}

function idOfStream({ stream }: StreamAppend): string {
  return stream
}

function compareRecords(a: RecordWrite, b: RecordWrite): number {
  return compareTexts(a.collection, b.collection) || compareTexts(a.key, b.key)
}

function idOfRecord({ collection, key }: RecordWrite): string {
  return `${collection}\0${key}` // no name has a NUL
}

function compareEntries(a: LedgerEntry, b: LedgerEntry): number {
  return compareTexts(a.key, b.key)
}

function idOfEntry({ key }: LedgerEntry): string {
  return key
}

function compareSnapshots(a: SnapshotWrite, b: SnapshotWrite): number {
  return compareTexts(a.stream, b.stream) || a.seq - b.seq || compareTexts(a.fold, b.fold)
}

function idOfSnapshot({ stream, seq, fold }: SnapshotWrite): string {
  return `${stream}\0${seq}\0${fold}`
}

function twice(what: string): Accident<'bad-batch'> {
  return badBatch(`a ${what} stands in the batch twice`, { remedy: `name each ${what} once` })
}

function badBatch(message: string, detail: FaultDetail): Accident<'bad-batch'> {
  return new Accident(fault('bad-batch', message, detail))
}

function badRead(message: string, detail: FaultDetail): Accident<'bad-read'> {
  return new Accident(fault('bad-read', message, detail))
}
