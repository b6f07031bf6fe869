import assert from 'node:assert/strict'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { checkBatch } from '../checking.ts'
import type { Batch } from '../journal.ts'
import { fenceCrc } from './checks.ts'
import { Filing } from './filing.ts'
import { FrameWriter } from './frame.ts'
import { MIGRATIONS } from './schema.ts'
import { writeFirstRows } from './tables.ts'
import { verifyDatabase } from './verify.ts'

const RETENTION_MS = 1_000
const START = 1_700_000_000_000

/** Tables of their own, and groups that come a second apart. */
function simple(): Readonly<{
  database: DatabaseSync
  filing: Filing
  lay: (...batches: readonly Batch[]) => void
}> {
  const database = new DatabaseSync(':memory:')
  database.exec(MIGRATIONS[0]!)
  writeFirstRows(database)
  database.exec('pragma user_version = 1')
  const filing = new Filing(database, RETENTION_MS)
  let number = 0
  const lay = (...batches: readonly Batch[]): void => {
    const writer = new FrameWriter()
    for (const batch of batches) writer.batch(batch, checkBatch(batch))
    const { position } = filing
    const at = START + ++number * (RETENTION_MS + 1)
    filing.lay({ number, at, position, count: batches.length, bytes: Buffer.from(writer.cut()) })
  }
  return { database, filing, lay }
}

function eventOf(stream: string, data: string): Batch {
  const events = [{ type: 'Happened', version: 1, at: START, data }]
  return { streams: [{ stream, expected: 'any', events }] }
}

function countOf(database: DatabaseSync, table: string): number {
  return Number(database.prepare(`select count(*) as n from ${table}`).get()?.['n'])
}

describe('filing into the tables', () => {
  test('ends when somebody else has taken the fence, and leaves the tables as they are', () => {
    const { database, filing, lay } = simple()
    assert.equal(filing.takeFence('f'), 1)
    lay(eventOf('s', '1'))
    const crc = fenceCrc({ name: 'f', token: 2 })
    database.exec(`update fences set token = 2, crc = ${crc}`)

    for (let n = 0; n < 2; n++) assert.throws(() => filing.settle(), { code: 'journal-in-use' })

    assert.equal(database.isTransaction, false)
    assert.equal(countOf(database, 'events'), 0)
    assert.equal(filing.filed, 0)
  })

  test('begins again what SQLite has rolled back by itself', () => {
    const { database, filing, lay } = simple()
    const todo: readonly (() => void)[] = [
      () => filing.commit(),
      () => filing.file(filing.last, 1),
      () => lay(eventOf('s', '4')),
      () => undefined,
    ]
    for (const work of todo) {
      lay(eventOf('s', '1'), eventOf('t', '2'))
      filing.file(filing.last, 1)
      database.exec('rollback')
      work()
      assert.equal(filing.reading.all(0, 1_000).length, filing.position)
    }
    filing.settle()
    assert.equal(countOf(database, 'events'), filing.position)
    assert.deepEqual(verifyDatabase(database).findings, [])
  })

  test('passes over no group of which half was laid when there was no room', (t) => {
    const { database, filing, lay } = simple()
    const get = t.mock.method(StatementSync.prototype, 'get')
    const noRoom = Object.assign(new Error('database or disk is full'), { errcode: 13 })
    get.mock.mockImplementationOnce(() => {
      throw noRoom
    }, 1)

    assert.throws(() => lay(eventOf('s', '1'), eventOf('t', '2')), noRoom)
    get.mock.restore()
    lay(eventOf('u', '3'))

    assert.equal(filing.reading.all(0, 10).length, 3)
    filing.settle()
    assert.equal(countOf(database, 'events'), 3)
    assert.deepEqual(verifyDatabase(database).findings, [])
  })

  test('loses nothing from sight that a damaged table does not take', (t) => {
    const { database, filing, lay } = simple()
    const keys = ['k', 'l']
    lay({ records: keys.map((key) => ({ collection: 'c', key, value: key })) })
    const run = t.mock.method(StatementSync.prototype, 'run')
    const isCorrupt = Object.assign(new Error('database disk image is malformed'), { errcode: 11 })
    run.mock.mockImplementation(() => {
      throw isCorrupt
    })

    assert.throws(() => filing.file(filing.last, Infinity), isCorrupt)
    run.mock.restore()

    assert.deepEqual(
      filing.reading.getRecords('c', keys).map(({ key }) => key),
      keys,
    )
    filing.settle()
    assert.equal(countOf(database, 'records'), 2)
    assert.deepEqual(verifyDatabase(database).findings, [])
  })

  test('forgets answers sooner than they come', () => {
    const { database, filing, lay } = simple()
    for (let round = 0; round < 5; round++) {
      const ledger = Array.from({ length: 3_000 }, (_, n) => ({
        key: `${round} ${n}`,
        fingerprint: '{}',
        response: '',
      }))
      lay({ ledger })
      filing.settle()
      assert.ok(countOf(database, 'ledger') <= 6_000) // those of two rounds
    }
    assert.deepEqual(verifyDatabase(database).findings, [])
  })

  test('into more collections than are remembered is the same', () => {
    const { database, filing, lay } = simple()
    for (const value of ['1', '2'])
      lay({
        records: Array.from({ length: 5_000 }, (_, n) => ({
          collection: `c${n}`,
          key: 'k',
          value,
        })),
      })

    filing.settle()

    assert.equal(countOf(database, 'records'), 5_000)
    assert.deepEqual(verifyDatabase(database).findings, [])
  })
})
