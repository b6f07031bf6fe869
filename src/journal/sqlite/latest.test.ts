import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test, type TestContext } from 'node:test'

import type { RecordWrite } from '../journal.ts'
import { FrameWriter } from './frame.ts'
import { Intake, sealGroup } from './intake.ts'
import { openDirectory } from './opening.ts'
import { repairNow } from './repair.ts'
import type { RepairReport } from './report.ts'
import { TABLES_FILE } from './schema.ts'

const RETENTION_MS = 1e12
const PAGE_BYTES = 4_096
const FRAME_BYTES = 24 + PAGE_BYTES
const LAST = 11
/** What is left when both transactions of the log are in effect. */
const KEPT = [0, 4, 5, 6, 7, 8, 9, 10, LAST].map(keyOf)

type Image = Readonly<{ file: Buffer; log: Buffer }>

const directory = mkdtempSync(join(tmpdir(), 'flytower-latest-'))
/** The tables and their log, before it was carried over into them and after. */
let waiting: Image
let carried: Image
let anchorPage: number
let intake: readonly [name: string, bytes: Buffer][]

/**
 * The first transaction of the log writes the page of the first records. The second deletes most of
 * them, and so their place is taken by rows from pages that the first has not touched.
 */
before(() => {
  const { database, filing, lock, token } = openDirectory(directory, RETENTION_MS)
  const files = new Intake(directory, token, '0123456789abcdef', 65_536)
  file(
    1,
    Array.from({ length: LAST + 1 }, (_, n) => put(n, 'a')),
  )
  database.exec('pragma wal_checkpoint(truncate)')
  // The groups behind the first are all that the intake has: the first was written over.
  files.turn()
  file(2, [put(0, 'b')])
  file(
    3,
    [1, 2, 3].map((n) => ({ collection: 'c', key: keyOf(n), deleted: true })),
  )
  waiting = taken()
  database.exec('pragma wal_checkpoint(passive)')
  carried = taken()
  const root = database.prepare("select rootpage from sqlite_schema where name = 'anchor'").get()
  anchorPage = Number(root?.['rootpage'])
  const name = `intake-${token}-0123456789abcdef-b`
  intake = [[name, readFileSync(join(directory, name))]]
  files.close()
  database.close()
  lock.release()

  function file(number: number, records: readonly RecordWrite[]): void {
    const writer = new FrameWriter()
    writer.batch({ records }, 1_000)
    const bytes = Buffer.from(writer.cut())
    const head = { number, at: 1, position: 0, count: 1 }
    sealGroup(bytes, files.salt, head)
    files.write(bytes)
    files.flush(number, bytes.length)
    filing.lay({ ...head, bytes })
    filing.settle()
  }

  function taken(): Image {
    const path = join(directory, TABLES_FILE)
    return { file: readFileSync(path), log: readFileSync(`${path}-wal`) }
  }
})
after(() => rmSync(directory, { recursive: true }))

function keyOf(n: number): string {
  return `key ${String(n).padStart(2, '0')}`
}

function put(n: number, text: string): RecordWrite {
  return { collection: 'c', key: keyOf(n), value: valueOf(n, text) }
}

function valueOf(n: number, text: string): string {
  return `${n} ${text.repeat(900)}`
}

function flipped(image: Buffer, at: number): Buffer {
  const damaged = Buffer.from(image)
  damaged[at]! ^= 1
  return damaged
}

/** Changes the row of a record, and what is left of it on other pages. */
function withoutRow(image: Buffer, n: number): Buffer {
  const value = valueOf(n, 'a')
  let damaged = image
  for (let at = image.indexOf(value); at !== -1; at = image.indexOf(value, at + 1))
    damaged = flipped(damaged, at)
  return damaged
}

/** Where the first transaction of the log ends. */
function firstEnd({ log }: Image): number {
  for (let at = 32; at < log.length; at += FRAME_BYTES)
    if (log.readUInt32BE(at + 4) > 0) return at + FRAME_BYTES
  throw new Error('the log has no transaction')
}

/** Where the page ends that has the anchor of the last transaction. */
function anchorEnd({ log }: Image): number {
  for (let at = log.length - FRAME_BYTES; at > 0; at -= FRAME_BYTES)
    if (log.readUInt32BE(at) === anchorPage) return at + FRAME_BYTES
  throw new Error('the log has no anchor')
}

function repaired(
  t: TestContext,
  { file, log }: Image,
): Readonly<{ report: RepairReport; keys: readonly string[]; first: unknown }> {
  const damaged = mkdtempSync(join(tmpdir(), 'flytower-latest-'))
  t.after(() => rmSync(damaged, { recursive: true }))
  writeFileSync(join(damaged, TABLES_FILE), file)
  writeFileSync(join(damaged, `${TABLES_FILE}-wal`), log)
  for (const [name, bytes] of intake) writeFileSync(join(damaged, name), bytes)
  const report = repairNow(damaged, {})
  const { filing, database, lock } = openDirectory(damaged, RETENTION_MS)
  const records = filing.reading.records('c', '', undefined, 100)
  database.close()
  lock.release()
  return { report, keys: records.map(({ key }) => key), first: records[0]?.value }
}

describe('a repair, where a log is damaged that was carried over into the file,', () => {
  for (const [what, damage] of [
    ['in its last transaction', (log) => flipped(log, log.length - 1)],
    ['in a row of its last transaction', (log) => withoutRow(log, 4)],
    ['in its first transaction', (log) => flipped(log, 32 + 24 + 100)],
    ['in its header', (log) => flipped(log, 20)],
    ['in its header and a row of its last transaction', (log) => flipped(withoutRow(log, 4), 20)],
    ['by a cut within its last transaction', (log) => log.subarray(0, -1)],
    ['by a cut between transactions', (log) => log.subarray(0, firstEnd(carried))],
    ['by a cut within its first transaction', (log) => log.subarray(0, firstEnd(carried) - 1)],
  ] satisfies [string, (log: Buffer) => Buffer][])
    test(`${what}, loses no row that went from page to page and brings none back`, (t) => {
      const { report, keys, first } = repaired(t, { ...carried, log: damage(carried.log) })

      assert.deepEqual(keys, KEPT)
      assert.equal(first, valueOf(0, 'b'))
      assert.deepEqual([report.share, report.losses], [1, []])
    })

  test('in its last transaction, takes rows from it that are damaged in the file', (t) => {
    const file = withoutRow(carried.file, LAST)
    const { keys } = repaired(t, { file, log: flipped(carried.log, carried.log.length - 1) })

    assert.deepEqual(keys, KEPT)
  })

  test('by a cut between transactions, loses but the row that is damaged in the file', (t) => {
    const file = withoutRow(carried.file, LAST)
    const { keys } = repaired(t, { file, log: carried.log.subarray(0, firstEnd(carried)) })

    assert.deepEqual(keys, KEPT.slice(0, -1))
  })

  test('loses no row where only the first pages were carried over', (t) => {
    const split = 14 * PAGE_BYTES
    const file = Buffer.concat([carried.file.subarray(0, split), waiting.file.subarray(split)])
    for (const at of [carried.log.length, anchorEnd(carried)])
      assert.deepEqual(repaired(t, { file, log: flipped(carried.log, at - 1) }).keys, KEPT)
  })
})

test('a repair lays a log over the file that is older, and files what waits behind it', (t) => {
  for (const log of [waiting.log, waiting.log.subarray(0, -1)])
    assert.deepEqual(repaired(t, { ...waiting, log }).keys, KEPT)
})
