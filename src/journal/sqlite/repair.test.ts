import assert from 'node:assert/strict'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test, type TestContext } from 'node:test'

import { anchorCrc } from './checks.ts'
import { sqliteJournal } from './engine.ts'
import { repairDirectory } from './errand.ts'
import { FrameWriter } from './frame.ts'
import { inspectNow } from './inspect.ts'
import { Intake, sealGroup } from './intake.ts'
import { openDirectory, type Opened } from './opening.ts'
import { repairNow } from './repair.ts'
import type { Loss } from './report.ts'
import { rightOf, TABLES } from './rows.ts'
import { TABLES_FILE } from './schema.ts'
import { Tables } from './tables.ts'

const RETENTION_MS = 1e12

const template = mkdtempSync(join(tmpdir(), 'flytower-repair-'))
before(async () => {
  await using journal = await sqliteJournal({ directory: template })
  for (let n = 1; n <= 20; n++) {
    const stream = `stream ${n % 2}`
    await journal.commit({
      streams: [
        { stream, expected: 'any', events: [{ type: 't', version: 1, at: n, data: `event ${n}` }] },
      ],
      records: [{ collection: 'c', key: `key ${n}`, value: `value ${n}` }],
      ledger: [{ key: `request ${n}`, fingerprint: '{}', response: `answer ${n}` }],
    })
  }
})
after(() => rmSync(template, { recursive: true }))

/** A directory that is closed, in a directory of the test's own. */
function closed(t: TestContext): string {
  const parent = mkdtempSync(join(tmpdir(), 'flytower-repair-'))
  t.after(() => rmSync(parent, { recursive: true }))
  const directory = join(parent, 'journal')
  cpSync(template, directory, { recursive: true })
  return directory
}

/** Changes the only place in the tables where this text stands in a row. */
function damage(directory: string, text: string): void {
  const path = join(directory, TABLES_FILE)
  const image = readFileSync(path)
  assert.notEqual(image.indexOf(text), -1)
  image[image.indexOf(text)]! ^= 1
  writeFileSync(path, image)
}

function change(directory: string, sql: string): void {
  const database = new DatabaseSync(join(directory, TABLES_FILE))
  database.exec(sql)
  database.close()
}

function opened(t: TestContext, directory: string): Opened['filing'] {
  const { filing, database, lock } = openDirectory(directory, RETENTION_MS)
  t.after(() => {
    database.close()
    lock.release()
  })
  return filing
}

function messages(losses: readonly Loss[]): string[] {
  return losses.map(({ message }) => message)
}

describe('repair', () => {
  test('of what is not damaged changes nothing for anybody', (t) => {
    const directory = closed(t)

    const report = repairNow(directory, {})

    assert.deepEqual([report.share, report.losses], [1, []])
    assert.equal(inspectNow(directory).ok, true)
    const { reading } = opened(t, directory)
    assert.equal(reading.all(0, 100).length, 20)
    assert.equal(reading.records('c', '', undefined, 100).length, 20)
  })

  test('refuses the event that was lost, and no other', (t) => {
    const directory = closed(t)
    damage(directory, 'event 7')

    const report = repairNow(directory, {})

    assert.equal(report.lost.events, 1)
    assert.deepEqual(report.losses, [
      { message: 'the event is lost', table: 'events', position: 7, stream: 'stream 1', seq: 4 },
    ])
    assert.deepEqual(inspectNow(directory).losses, { events: 1, answers: 0 })
    const { reading } = opened(t, directory)
    assert.equal(reading.all(0, 6).length, 6)
    assert.equal(reading.all(7, 100).length, 13)
    assert.throws(() => reading.all(6, 1), { code: 'damaged' })
    assert.equal(reading.stream('stream 1', 4, 100).length, 6)
    assert.throws(() => reading.stream('stream 1', 0, 100), { code: 'damaged' })
    assert.equal(reading.stream('stream 0', 0, 100).length, 10)
  })

  test('keeps the version of a stream that lost its end', (t) => {
    const directory = closed(t)
    change(directory, 'delete from events where position > 18')

    const { losses } = repairNow(directory, {})

    assert.deepEqual(
      losses.map(({ stream, seq }) => [stream, seq]),
      [
        ['stream 1', 10],
        ['stream 0', 10],
      ],
    )
    const { reading } = opened(t, directory)
    assert.equal(reading.version('stream 0'), 10)
    assert.throws(() => reading.all(18, 2), { code: 'damaged' })
  })

  test('lets a request whose answer was lost be made by nobody a second time', async (t) => {
    const directory = closed(t)
    damage(directory, 'answer 7')

    const { losses } = repairNow(directory, {})

    assert.deepEqual(losses, [{ message: 'the answer is lost', table: 'ledger', key: 'request 7' }])
    await using journal = await sqliteJournal({ directory })
    await assert.rejects(journal.lookup('request 7'), { code: 'damaged' })
    const ledger = [{ key: 'request 7', fingerprint: '{}', response: '' }]
    await assert.rejects(journal.commit({ ledger }), { code: 'damaged' })
    assert.equal((await journal.lookup('request 8'))?.response, 'answer 8')
  })

  test('says how many records of a collection are gone', (t) => {
    const directory = closed(t)
    damage(directory, 'value 7')

    const { losses, lost, share } = repairNow(directory, {})

    assert.equal(lost.records, 1)
    assert.deepEqual(messages(losses), [
      '19 rows are kept of 20, and maybe not the last version of each',
    ])
    assert.ok(share > 0.9 && share < 1)
  })

  test('finds the name of a stream again, or says that it is lost', (t) => {
    const directory = closed(t)
    change(directory, 'update streams set crc = crc + 1 where id = 1')
    assert.deepEqual(repairNow(directory, {}).losses, [])

    change(directory, 'delete from streams where id = 1')
    assert.deepEqual(messages(repairNow(directory, {}).losses), ['the name of the stream is lost'])
    const { reading } = opened(t, directory)
    assert.equal(reading.stream('lost stream 1', 0, 100).length, 10)
  })

  test('makes the anchor and the digests anew', (t) => {
    const directory = closed(t)
    change(directory, 'delete from anchor; delete from digests')

    const { losses } = repairNow(directory, {})

    assert.deepEqual(messages(losses), [
      'the name of the collection is lost',
      '0 rows are kept, and maybe not all there were',
      '1 rows are kept, and maybe not all there were',
      '20 rows are kept, and maybe not all there were',
    ])
    assert.equal(inspectNow(directory).ok, true)
  })

  test('keeps the damaged files beside, each time in a place of their own', (t) => {
    const directory = closed(t)
    damage(directory, 'event 7')
    const damaged = readFileSync(join(directory, TABLES_FILE))

    const first = repairNow(directory, {})
    const second = repairNow(directory, {})

    assert.equal(first.original, join(directory, 'damaged-1'))
    assert.deepEqual(readFileSync(join(first.original, TABLES_FILE)), damaged)
    assert.equal(second.original, join(directory, 'damaged-2'))
  })

  test('leaves the damaged files where they are if it goes elsewhere', (t) => {
    const directory = closed(t)
    damage(directory, 'event 7')
    const damaged = readFileSync(join(directory, TABLES_FILE))
    const into = join(directory, '..', 'repaired')

    const report = repairNow(directory, { into })

    assert.deepEqual([report.directory, report.original], [into, directory])
    assert.deepEqual(readFileSync(join(directory, TABLES_FILE)), damaged)
    assert.equal(inspectNow(into).ok, true)
    assert.throws(() => repairNow(directory, { into }), { code: 'target-exists' })
  })

  test('that was cut short is taken for no journal, and goes on from where it was', (t) => {
    const directory = closed(t)
    damage(directory, 'event 7')
    repairNow(directory, {})
    const whole = readFileSync(join(directory, TABLES_FILE))
    writeFileSync(
      join(directory, TABLES_FILE),
      'this journal is being repaired; what it was is in damaged-1',
    )
    assert.throws(() => openDirectory(directory, RETENTION_MS), { code: 'damaged' })

    const report = repairNow(directory, {})

    assert.equal(report.original, join(directory, 'damaged-1'))
    assert.equal(report.lost.events, 1)
    assert.deepEqual(readFileSync(join(directory, TABLES_FILE)), whole)
    assert.equal(existsSync(join(directory, 'damaged-2')), false)
  })

  test('files what waits in the intake, also behind a group that is lost', (t) => {
    const directory = closed(t)
    const database = new DatabaseSync(join(directory, TABLES_FILE))
    const filed = Number(database.prepare('select filed from anchor').get()?.['filed'])
    database.close()
    for (const name of readdirSync(directory))
      if (name.startsWith('intake')) rmSync(join(directory, name))
    const intake = new Intake(directory, 1, '0123456789abcdef', 65_536)
    write(intake, { number: filed + 1, position: 20, stream: 'stream 0', expected: 10 })
    write(intake, { number: filed + 3, position: 22, stream: 'stream 0', expected: 12 })
    write(intake, { number: filed + 4, position: 23, stream: 'new', expected: 0 })
    intake.close()

    const { losses, kept, lost } = repairNow(directory, {})

    assert.deepEqual([kept.groups, lost.groups, lost.events], [3, 1, 1])
    assert.deepEqual(losses, [
      { message: `group ${filed + 2} of commits is lost` },
      { message: 'the event is lost', table: 'events', position: 22, stream: 'stream 0' },
    ])
    const { reading } = opened(t, directory)
    assert.equal(reading.version('stream 0'), 13)
    assert.equal(reading.all(20, 1)[0]?.seq, 11)
    assert.throws(() => reading.all(21, 1), { code: 'damaged' })
    assert.deepEqual(
      reading.all(22, 10).map(({ stream, seq }) => [stream, seq]),
      [
        ['stream 0', 13],
        ['new', 1],
      ],
    )
  })

  test('marks events up to the last answer as lost where nothing else tells how many there were', (t) => {
    const directory = closed(t)
    change(
      directory,
      'delete from anchor; delete from streams; delete from events where position > 18',
    )

    const { lost } = repairNow(directory, {})

    assert.equal(lost.events, 2)
    assert.throws(() => opened(t, directory).reading.all(19, 1), { code: 'damaged' })
  })

  test('forgets answers that were forgotten, also where the anchor is found behind them', (t) => {
    const directory = closed(t)
    const path = join(directory, TABLES_FILE)
    const database = new DatabaseSync(path)
    const row = rightOf(TABLES.anchor, database.prepare('select * from anchor').get()!)!
    const crc = anchorCrc({ ...row, ledger_first: 6 })
    database.prepare('update anchor set ledger_first = 6, crc = ?').run(crc)
    database.close()
    swapRoots(path, 'anchor', 'sqlite_autoindex_digests_1')

    repairNow(directory, {})

    assert.equal(inspectNow(directory).checked.answers, 15)
    assert.equal(opened(t, directory).reading.lookup('request 5', 0, RETENTION_MS), undefined)
  })

  test('keeps what is left of a transaction of the log that was whole once', (t) => {
    const directory = closed(t)
    for (const name of readdirSync(directory))
      if (name.startsWith('intake')) rmSync(join(directory, name))
    const path = join(directory, TABLES_FILE)
    const database = new DatabaseSync(path)
    database.exec('pragma wal_autocheckpoint = 0')
    const tables = new Tables(database)
    const { filed } = tables
    tables.begin()
    tables.fence('f', 5)
    tables.putRecord('c', 'large', Buffer.alloc(10_000))
    tables.event('stream 0', { ...EVENT, position: 21, seq: 11, batch: 21 })
    tables.commit(filed + 1)
    const log = readFileSync(`${path}-wal`)
    const image = readFileSync(path)
    database.close()
    writeFileSync(path, image)
    writeFileSync(`${path}-wal`, log.subarray(0, -1))
    const intake = new Intake(directory, 1, '0123456789abcdef', 65_536)
    write(intake, { number: filed + 2, position: 21, stream: 'stream 0', expected: 11 })
    intake.close()

    repairNow(directory, {})

    const { reading } = opened(t, directory)
    assert.deepEqual(
      reading.stream('stream 0', 10, 10).map(({ position, seq }) => [position, seq]),
      [
        [21, 11],
        [22, 12],
      ],
    )
    const repaired = new DatabaseSync(path, { readOnly: true })
    assert.equal(repaired.prepare("select token from fences where name = 'f'").get()?.['token'], 5)
    repaired.close()
  })

  test('is refused while a journal is open, and where there is none', async (t) => {
    const directory = closed(t)
    {
      await using _ = await sqliteJournal({ directory })
      await assert.rejects(repairDirectory(directory), { code: 'journal-in-use' })
    }
    assert.equal((await repairDirectory(directory)).share, 1)

    rmSync(join(directory, TABLES_FILE))
    await assert.rejects(repairDirectory(directory), { code: 'damaged' })
  })
})

const EVENT = {
  at: 1,
  effective: null,
  type: 't',
  version: 1,
  about: null,
  data: Buffer.from('d'),
}

function swapRoots(path: string, ...names: readonly string[]): void {
  const database = new DatabaseSync(path)
  const root = database.prepare('select rootpage from sqlite_schema where name = ?')
  const bytes = Number(database.prepare('pragma page_size').get()!['page_size'])
  const starts = names.map((name) => (Number(root.get(name)!['rootpage']) - 1) * bytes)
  database.close()
  const image = readFileSync(path)
  const pages = starts.map((start) => Buffer.from(image.subarray(start, start + bytes)))
  for (const [n, page] of pages.toReversed().entries()) page.copy(image, starts[n])
  writeFileSync(path, image)
}

type Written = Readonly<{ number: number; position: number; stream: string; expected: number }>

function write(intake: Intake, { number, position, stream, expected }: Written): void {
  const writer = new FrameWriter()
  const events = [{ type: 't', version: 1, at: 1, data: 'd' }]
  writer.batch({ streams: [{ stream, expected, events }] }, 1_000)
  const bytes = Buffer.from(writer.cut())
  sealGroup(bytes, intake.salt, { number, position, at: 1, count: 1 })
  intake.write(bytes)
  intake.flush(number, bytes.length)
}
