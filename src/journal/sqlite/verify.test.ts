import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test, type TestContext } from 'node:test'

import type { Batch } from '../journal.ts'
import { anchorCrc, recordCrc } from './checks.ts'
import { sqliteJournal, type SqliteJournal } from './engine.ts'
import { verifyDirectory } from './errand.ts'
import { FrameWriter } from './frame.ts'
import { inspectNow } from './inspect.ts'
import { Intake, sealGroup } from './intake.ts'
import { Findings, FINDINGS_MAX, type Finding } from './report.ts'
import { TABLES_FILE } from './schema.ts'

function directoryFor(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'flytower-verify-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

function batch(n: number): Batch {
  const event = { type: 'counted', version: 1, at: n, data: `event ${n}` }
  return {
    streams: [{ stream: `stream ${n % 3}`, expected: 'any', events: [event, event] }],
    records: [{ collection: 'c', key: `key ${n % 10}`, value: `value ${n}` }],
    ledger: [{ key: `request ${n}`, fingerprint: '{}', response: 'yes' }],
    snapshots: [
      { stream: `stream ${n % 3}`, seq: 1, topAt: 1, topSeq: 1, fold: 'f', state: `state ${n}` },
    ],
  }
}

async function fill(journal: SqliteJournal, batches: number): Promise<void> {
  await Promise.all(Array.from({ length: batches }, (_, n) => journal.commit(batch(n))))
  await journal.takeFence('fence')
}

const template = mkdtempSync(join(tmpdir(), 'flytower-verify-'))
before(async () => {
  await using journal = await sqliteJournal({ directory: template })
  await fill(journal, 30)
})
after(() => rmSync(template, { recursive: true }))

/** The directory of a journal with some of everything, which is closed. */
function closed(t: TestContext): string {
  const directory = directoryFor(t)
  cpSync(template, directory, { recursive: true })
  return directory
}

function change(directory: string, sql: string, ...values: (string | number)[]): void {
  const database = new DatabaseSync(join(directory, TABLES_FILE))
  database.prepare(sql).run(...values)
  database.close()
}

/** The index of events by stream and version stays as it was. */
function changeBehindIndex(directory: string, sql: string): void {
  const where = "where name = 'events_by_stream'"
  const database = schemaOf(directory)
  const row = database.prepare(`select * from sqlite_schema ${where}`).get()!
  database.exec(`delete from sqlite_schema ${where}`)
  database.close()
  change(directory, sql)
  const again = schemaOf(directory)
  again.prepare('insert into sqlite_schema values (?, ?, ?, ?, ?)').run(...Object.values(row))
  again.close()
}

function schemaOf(directory: string): DatabaseSync {
  const database = new DatabaseSync(join(directory, TABLES_FILE))
  database.enableDefensive(false)
  database.exec('pragma writable_schema = on')
  return database
}

function eventAt(directory: string, position: number): { stream: unknown; seq: unknown } {
  const database = new DatabaseSync(join(directory, TABLES_FILE))
  const { name, seq } = database
    .prepare(
      'select name, seq from events join streams on streams.id = events.stream where position = ?',
    )
    .get(position)!
  database.close()
  return { stream: name, seq }
}

function findingsIn(directory: string): readonly Finding[] {
  const { ok, findings } = inspectNow(directory)
  assert.equal(ok, findings.length === 0)
  for (const { message, remedy } of findings) {
    assert.match(message, /^\S.*[^.]$/)
    assert.match(remedy, /repair/)
  }
  return findings
}

describe('verify', () => {
  test('counts what it has looked at, and finds nothing where nothing is wrong', async (t) => {
    const directory = closed(t)
    const was = readFileSync(join(directory, TABLES_FILE))

    const report = await verifyDirectory(directory)

    assert.deepEqual(report, {
      ok: true,
      checked: {
        groups: 0,
        streams: 3,
        events: 60,
        records: 10,
        answers: 30,
        snapshots: 3,
        fences: 2,
        collections: 3,
      },
      findings: [],
      unlisted: 0,
      losses: { events: 0, answers: 0 },
      torn: false,
    })
    assert.deepEqual(readFileSync(join(directory, TABLES_FILE)), was)
  })

  test('names the event that is not what was written, and its stream and version', (t) => {
    const directory = closed(t)
    const was = eventAt(directory, 7)
    change(directory, `update events set data = cast('other' as blob) where position = 7`)

    const [found] = findingsIn(directory)

    const { type, table, key, position, stream, seq } = found!
    assert.deepEqual({ type, table, key }, { type: 'row', table: 'events', key: '7' })
    assert.deepEqual({ position, stream, seq }, { position: 7, ...was })
  })

  test('asks the index where the row cannot say which event it was', (t) => {
    const directory = closed(t)
    const was = eventAt(directory, 7)
    changeBehindIndex(directory, 'update events set seq = 100 where position = 7')

    const found = findingsIn(directory).find(({ type }) => type === 'row')

    const { position, stream, seq } = found!
    assert.deepEqual({ position, stream, seq }, { position: 7, ...was })
  })

  test('names the stream whose history is another', (t) => {
    const directory = closed(t)
    change(directory, 'update events set link = link + 1 where position = 7')

    const [found] = findingsIn(directory)

    assert.equal(found?.type, 'link')
    assert.match(String(found?.stream), /^stream \d$/)
    assert.equal(found?.position, 7)
  })

  test('finds what is missing, in the middle and at the end', (t) => {
    for (const [sql, type] of [
      ['delete from events where position = 7', 'gap'],
      ['delete from events where position = 60', 'gap'],
      ['delete from streams where id = 3', 'anchor'],
      ['delete from ledger where id = 5', 'gap'],
      ['delete from ledger where id = 30', 'anchor'],
      ['delete from records where key = (select max(key) from records)', 'digest'],
      ['delete from snapshots where stream = 1', 'digest'],
      ["delete from fences where name = 'fence'", 'digest'],
      ['delete from digests where id = 3', 'digest'],
      ['delete from anchor', 'anchor'],
    ] as const) {
      const directory = closed(t)
      change(directory, sql)

      const found = findingsIn(directory)

      assert.ok(
        found.some((finding) => finding.type === type),
        `${sql}: ${JSON.stringify(found)}`,
      )
    }
  })

  test('finds an old version of a row, whose own crc is right', (t) => {
    const directory = closed(t)
    const value = Buffer.from('value 0')
    const crc = recordCrc({ collection: 3, key: 'key 0', value })
    change(
      directory,
      `update records set value = cast('value 0' as blob), crc = ? where key = 'key 0'`,
      crc,
    )

    const [found] = findingsIn(directory)

    assert.deepEqual([found?.type, found?.table, found?.key], ['digest', 'records', 'c'])
  })

  test('finds an anchor from before, and one that is ahead', (t) => {
    for (const position of [58, 62]) {
      const directory = closed(t)
      const row = { filed: 1, position, streams: 3, ledger_first: 1, ledger_last: 30 }
      change(
        directory,
        'update anchor set filed = 1, position = ?, crc = ?',
        position,
        anchorCrc(row),
      )

      assert.ok(findingsIn(directory).some(({ type }) => type === 'anchor'))
    }
  })

  test('finds a schema that is not ours, and a file that is none', (t) => {
    const directory = closed(t)
    change(directory, 'create table more (id integer)')
    assert.deepEqual(
      findingsIn(directory).map(({ type }) => type),
      ['file'],
    )

    writeFileSync(join(directory, TABLES_FILE), 'not a database at all')
    assert.ok(findingsIn(directory).every(({ type }) => type === 'file'))

    rmSync(join(directory, TABLES_FILE))
    assert.ok(findingsIn(directory).every(({ type }) => type === 'file'))
  })

  test('finds a group of commits that is missing before others', (t) => {
    const directory = closed(t)
    const filed = filedIn(directory)
    const intake = newIntake(t, directory)
    for (const number of [filed + 1, filed + 2]) write(intake, { number, position: 60 })
    assert.equal(inspectNow(directory).checked.groups, 2)

    write(intake, { number: filed + 4, position: 60 })

    const found = findingsIn(directory)
    assert.deepEqual(
      found.map(({ type, message }) => [type, message]),
      [['group', `group ${filed + 3} of commits is missing`]],
    )
  })

  test('finds a group of commits that goes on from elsewhere', (t) => {
    const directory = closed(t)
    const intake = newIntake(t, directory)
    write(intake, { number: filedIn(directory) + 1, position: 59 })

    assert.deepEqual(
      findingsIn(directory).map(({ type }) => type),
      ['group'],
    )
  })

  test('finds tables that are older than the intake beside them', (t) => {
    const directory = closed(t)
    newIntake(t, directory, 1_000)

    const [found] = findingsIn(directory)

    assert.match(String(found?.message), /older than the intake/)
  })

  test('is refused while a journal is open', async (t) => {
    const directory = directoryFor(t)
    await using _ = await sqliteJournal({ directory })

    await assert.rejects(verifyDirectory(directory), { code: 'journal-in-use' })
  })

  test('goes on beside commits and filing, and takes none of it for damage', async (t) => {
    const directory = directoryFor(t)
    await using journal = await sqliteJournal({ directory })
    await fill(journal, 50)
    const signal = { done: false }
    const commits = (async () => {
      let n = 0
      for (; !signal.done || n < 50; n++)
        await Promise.all([journal.commit(batch(n)), fill(journal, 5)])
      return n
    })()

    for (let n = 0; n < 5; n++) assert.deepEqual((await journal.verify()).findings, [])

    signal.done = true
    assert.ok((await commits) >= 50)
  })

  test('reports so many findings, and counts the others', () => {
    const findings = new Findings()
    for (let n = 0; n < FINDINGS_MAX; n++) findings.add('row', `row ${n}`)
    assert.equal(findings.listed.length, FINDINGS_MAX)

    findings.add('row', 'one more')

    assert.deepEqual([findings.listed.length, findings.count], [FINDINGS_MAX, FINDINGS_MAX + 1])
  })
})

describe('backup', () => {
  test('is a journal that has everything that was committed before it', async (t) => {
    const directory = directoryFor(t)
    const target = join(directory, 'copy')
    await using journal = await sqliteJournal({ directory: join(directory, 'journal') })
    await fill(journal, 40)
    const events = await journal.readAll()

    const more = fill(journal, 40)
    await journal.backup(target)
    await more

    assert.deepEqual(readdirSync(target), [TABLES_FILE])
    assert.equal((await verifyDirectory(target)).ok, true)
    await using copy = await sqliteJournal({ directory: target })
    assert.deepEqual(await copy.readAll({ limit: events.length }), events)
    await copy.commit(batch(1_000))
  })

  test('goes to no directory that is there already', async (t) => {
    const directory = directoryFor(t)
    await using journal = await sqliteJournal({ directory: join(directory, 'journal') })

    await assert.rejects(journal.backup(directory), { code: 'target-exists' })
  })
})

function filedIn(directory: string): number {
  const database = new DatabaseSync(join(directory, TABLES_FILE), { readOnly: true })
  const row = database.prepare('select filed from anchor').get()
  database.close()
  return Number(row?.['filed'])
}

/** Files of an intake that count more than those which are there. */
function newIntake(t: TestContext, directory: string, token = 1): Intake {
  for (const name of readdirSync(directory))
    if (name.startsWith('intake')) rmSync(join(directory, name))
  const intake = new Intake(directory, token, '0123456789abcdef', 65_536)
  t.after(() => intake.close())
  return intake
}

function write(intake: Intake, head: Readonly<{ number: number; position: number }>): void {
  const writer = new FrameWriter()
  writer.batch({ records: [{ collection: 'c', key: 'k', value: 'v' }] }, 100)
  const bytes = Buffer.from(writer.cut())
  sealGroup(bytes, intake.salt, { ...head, at: 1, count: 1 })
  intake.write(bytes)
  intake.flush(head.number, bytes.length)
}
