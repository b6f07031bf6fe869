import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'

import { Filing } from './filing.ts'
import { FrameWriter } from './frame.ts'
import { Intake, sealGroup } from './intake.ts'
import { openDirectory, type Opened } from './opening.ts'
import { TABLES_FILE } from './schema.ts'
import { Tables } from './tables.ts'

const RETENTION_MS = 1e12

function opened(t: TestContext, directory: string): Opened {
  const journal = openDirectory(directory, RETENTION_MS)
  t.after(() => {
    if (journal.database.isOpen) journal.database.close()
    journal.lock.release()
  })
  return journal
}

function write(intake: Intake, number: number, ...streams: readonly string[]): void {
  const writer = new FrameWriter()
  const events = [{ type: 't', version: 1, at: 1, data: 'd' }]
  writer.batch({ streams: streams.map((stream) => ({ stream, expected: 'any', events })) }, 1_000)
  const bytes = Buffer.from(writer.cut())
  sealGroup(bytes, intake.salt, { number, position: number - 1, at: 1, count: 1 })
  intake.write(bytes)
  intake.flush(number, bytes.length)
}

/** Two streams in the tables, and for one of them, then for the other, a group in the intake. */
function killed(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'flytower-unsure-'))
  t.after(() => rmSync(directory, { recursive: true }))
  openDirectory(directory, RETENTION_MS).lock.release()
  const intake = new Intake(directory, 1, '0123456789abcdef', 65_536)
  write(intake, 1, 'good')
  write(intake, 2, 'hidden')
  const { database, lock, filing } = openDirectory(directory, RETENTION_MS)
  assert.equal(filing.position, 2)
  database.close()
  lock.release()
  const next = new Intake(directory, 3, '0123456789abcdef', 65_536)
  write(next, 3, 'good', 'new')
  write(next, 4, 'hidden')
  return directory
}

const DAMAGE: Readonly<Record<string, (path: string) => void>> = {
  'whose row is damaged': (path) => {
    const database = new DatabaseSync(path)
    database.exec("update streams set crc = crc + 1 where name = 'hidden'")
    database.close()
  },
  'that the index of names does not lead to': (path) => {
    const database = new DatabaseSync(path)
    const index = "select rootpage from sqlite_schema where name = 'sqlite_autoindex_streams_1'"
    const root = Number(database.prepare(index).get()!['rootpage'])
    const bytes = Number(database.prepare('pragma page_size').get()!['page_size'])
    database.close()
    const image = readFileSync(path)
    image.write('hiddex', image.indexOf('hidden', (root - 1) * bytes))
    writeFileSync(path, image)
  },
}

for (const [which, damage] of Object.entries(DAMAGE))
  test(`a stream ${which} is not begun anew`, (t) => {
    const directory = killed(t)
    damage(join(directory, TABLES_FILE))

    const { filing, damage: found } = opened(t, directory)

    assert.equal(found?.fault.detail?.['stream'], 'hidden')
    assert.equal(filing.position, 4, 'the group before it is read')
    assert.equal(filing.reading.version('good'), 2)
    assert.equal(filing.reading.version('new'), 1)
  })

test('where nothing is damaged everything in the intake is filed', (t) => {
  const { filing, damage } = opened(t, killed(t))

  assert.equal(damage, undefined)
  assert.equal(filing.reading.version('hidden'), 2)
})

test('records of a collection whose row is gone are given to no other collection', (t) => {
  const { database } = opened(t, killed(t))
  const tables = new Tables(database)
  tables.begin()
  tables.putRecord('lost', 'key', Buffer.from('value'))
  tables.commit(tables.filed)
  database.exec("delete from digests where name = 'lost'")

  const after = new Tables(database)
  after.begin()
  after.putRecord('other', 'another key', Buffer.from('value'))
  after.commit(after.filed)

  const filing = new Filing(database, RETENTION_MS)
  assert.deepEqual(filing.reading.getRecords('other', ['key']), [])
})
