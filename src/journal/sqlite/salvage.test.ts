import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'

import { imageBytes, readPages } from './pages.ts'
import type { TableName } from './rows.ts'
import { salvage, type FoundRow, type Standing } from './salvage.ts'
import { MIGRATIONS } from './schema.ts'
import { Tables, writeFirstRows } from './tables.ts'

const PAGE_BYTES = 4_096
const RECORDS = 400
const EVENTS = 300

const directory = mkdtempSync(join(tmpdir(), 'flytower-salvage-'))
after(() => rmSync(directory, { recursive: true }))

/** Tables of several levels, some pages of which were given back, and where their trees begin. */
const { image, roots } = made()

function made(): { image: Buffer; roots: ReadonlyMap<string, number> } {
  const path = join(directory, 'made.db')
  const database = new DatabaseSync(path)
  database.exec('pragma synchronous = off')
  for (const migration of MIGRATIONS) database.exec(migration)
  writeFirstRows(database)
  const tables = new Tables(database)
  tables.begin()
  for (let n = 0; n < 2 * RECORDS; n++)
    tables.putRecord('c', `key ${n}`, Buffer.from(`value ${n} ${'-'.repeat(n)}`))
  for (let n = RECORDS; n < 2 * RECORDS; n++) tables.deleteRecord('c', `key ${n}`)
  for (let n = 1; n <= EVENTS; n++)
    tables.event('s', {
      position: n,
      seq: n,
      batch: n,
      at: n,
      effective: null,
      type: 't',
      version: 1,
      about: null,
      data: Buffer.alloc(100, n),
    })
  tables.commit(1)
  const rows = database.prepare('select name, rootpage from sqlite_schema').all()
  database.close()
  return {
    image: readFileSync(path),
    roots: new Map(rows.map(({ name, rootpage }) => [String(name), Number(rootpage)])),
  }
}

function withoutPages(...numbers: readonly number[]): Buffer {
  const damaged = Buffer.from(image)
  for (const number of numbers) damaged.fill(0, (number - 1) * PAGE_BYTES, number * PAGE_BYTES)
  return damaged
}

function rowsIn(bytes: Buffer, table: TableName): FoundRow[] {
  const rows = []
  for (const found of salvage(readPages(imageBytes(bytes))))
    if (found.type === 'row' && found.table === table) rows.push(found)
  return rows
}

function standings(rows: readonly FoundRow[]): Partial<Record<Standing, number>> {
  const counts: Partial<Record<Standing, number>> = {}
  for (const { standing } of rows) counts[standing] = (counts[standing] ?? 0) + 1
  return counts
}

describe('salvage', () => {
  test('finds every row of a whole file where it belongs, and none that was deleted', () => {
    assert.deepEqual(standings(rowsIn(image, 'events')), { sound: EVENTS })
    assert.deepEqual(standings(rowsIn(image, 'records')), { sound: RECORDS })
    assert.ok(image.readUInt32BE(36) > 0, 'there are free pages')
  })

  test('finds rows that nothing leads to any more', () => {
    const events = rowsIn(withoutPages(roots.get('events')!), 'events')
    assert.deepEqual(standings(events), { stray: EVENTS })

    const records = rowsIn(withoutPages(roots.get('records')!), 'records')
    const { stray = 0, ...others } = standings(records)
    assert.deepEqual(others, {})
    assert.ok(stray > RECORDS * 0.9 && stray < RECORDS, 'those on the root itself are gone')
  })

  test('finds all trees without the schema', () => {
    assert.deepEqual(standings(rowsIn(withoutPages(1), 'events')), { sound: EVENTS })
    const { sound } = standings(rowsIn(withoutPages(1), 'records'))
    assert.equal(sound, RECORDS)
  })

  test('doubts what may be old where the free pages are not known', () => {
    const damaged = withoutPages(1, roots.get('records')!)

    const { doubtful = 0, ...others } = standings(rowsIn(damaged, 'records'))

    assert.deepEqual(others, {})
    assert.ok(doubtful > RECORDS * 0.9)
  })

  test('gives no row whose crc is wrong, and all its neighbours', () => {
    const damaged = Buffer.from(image)
    const event = rowsIn(image, 'events')[10]!
    const data = Buffer.alloc(100, 11)
    damaged[damaged.indexOf(data, (event.pages[0]! - 1) * PAGE_BYTES)]! ^= 1

    assert.equal(rowsIn(damaged, 'events').length, EVENTS - 1)
  })

  test('notices a row that is not where its key belongs', () => {
    const [one] = rowsIn(image, 'records')
    const last = rowsIn(image, 'records').at(-1)
    const [from, to] = [one!.pages[0]!, last!.pages[0]!]
    const damaged = Buffer.from(image)
    image.copy(damaged, (to - 1) * PAGE_BYTES, (from - 1) * PAGE_BYTES, from * PAGE_BYTES)

    assert.ok(standings(rowsIn(damaged, 'records')).astray! > 0)
  })

  test('finds what is on a page that an old list of free pages has', () => {
    const [event] = rowsIn(image, 'events')
    const record = rowsIn(image, 'records').find(({ pages }) => isLeaf(pages[0]!))
    const damaged = alsoFree(event!.pages[0]!, record!.pages[0]!)

    assert.equal(rowsIn(damaged, 'events').length, EVENTS)
    const { sound = 0, astray = 0, ...others } = standings(rowsIn(damaged, 'records'))
    assert.equal(sound + astray, RECORDS)
    assert.ok(astray > 0, 'one of both is old: the list, or what leads to the page')
    assert.deepEqual(others, {})
  })

  test('finds history on a free page that nothing leads to, and nothing that may be old', () => {
    const [event] = rowsIn(image, 'events')
    const record = rowsIn(image, 'records').find(({ pages }) => isLeaf(pages[0]!))
    const damaged = alsoFree(event!.pages[0]!, record!.pages[0]!)
    for (const table of ['events', 'records'])
      damaged.fill(0, (roots.get(table)! - 1) * PAGE_BYTES, roots.get(table)! * PAGE_BYTES)

    assert.equal(rowsIn(damaged, 'events').length, EVENTS)
    const records = rowsIn(damaged, 'records')
    assert.equal(
      records.some(({ pages }) => pages[0] === record!.pages[0]),
      false,
    )
  })

  test('doubts what is on a page where a row should go on', () => {
    const path = join(directory, 'large.db')
    const database = new DatabaseSync(path)
    database.exec('pragma synchronous = off')
    for (const migration of MIGRATIONS) database.exec(migration)
    writeFirstRows(database)
    const tables = new Tables(database)
    tables.begin()
    for (let n = 0; n < 50; n++) tables.putRecord('c', `key ${n}`, Buffer.alloc(500, n))
    tables.putRecord('c', 'large', Buffer.alloc(PAGE_BYTES, 1))
    tables.commit(1)
    database.close()
    const damaged = readFileSync(path)
    const rows = rowsIn(damaged, 'records')
    const [, to] = rows.find(({ pages }) => pages.length === 2)!.pages
    const from = rows.find(({ pages }) => isLeaf(pages[0]!, damaged))!.pages[0]!
    damaged.copy(damaged, (to! - 1) * PAGE_BYTES, (from - 1) * PAGE_BYTES, from * PAGE_BYTES)

    const { sound, doubtful = 0, ...others } = standings(rowsIn(damaged, 'records'))

    assert.equal(sound, 50)
    assert.ok(doubtful > 0)
    assert.deepEqual(others, {})
  })
})

function isLeaf(page: number, bytes = image): boolean {
  return bytes[(page - 1) * PAGE_BYTES] === 0x0a
}

/** With more pages at the end of the list of free ones. */
function alsoFree(...numbers: readonly number[]): Buffer {
  const damaged = Buffer.from(image)
  const trunk = damaged.subarray((damaged.readUInt32BE(32) - 1) * PAGE_BYTES)
  const leaves = trunk.readUInt32BE(4)
  for (const [n, number] of numbers.entries()) trunk.writeUInt32BE(number, 8 + 4 * (leaves + n))
  trunk.writeUInt32BE(leaves + numbers.length, 4)
  damaged.writeUInt32BE(damaged.readUInt32BE(36) + numbers.length, 36)
  return damaged
}
