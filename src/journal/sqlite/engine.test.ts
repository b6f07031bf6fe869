import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  closeSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { systemClock, type Accident } from '../../std/index.ts'
import type { Batch, NewEvent } from '../journal.ts'
import { sqliteJournal, type SqliteJournal, type SqliteJournalOptions } from './engine.ts'
import { SCHEMA_VERSION, TABLES_FILE } from './schema.ts'

const journals = new Map<string, SqliteJournal[]>()

function directoryFor(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'journal-'))
  journals.set(directory, [])
  t.after(async () => {
    await Promise.all(journals.get(directory)!.map((journal) => journal.close()))
    rmSync(directory, { recursive: true })
  })
  return directory
}

/** A journal that is closed when the test is over. */
async function opened(
  directory: string,
  options: Partial<SqliteJournalOptions> = {},
): Promise<SqliteJournal> {
  const journal = await sqliteJournal({ directory, ...options })
  journals.get(directory)?.push(journal)
  return journal
}

function event(data: string): NewEvent {
  return { type: 'Happened', version: 1, at: 1, data }
}

function append(stream: string, ...data: readonly string[]): Batch {
  return { streams: [{ stream, expected: 'any', events: data.map(event) }] }
}

/** Some of everything, filed into the tables. */
async function filled(journal: SqliteJournal): Promise<void> {
  await journal.commit(append('a', '1', '2', '3'))
  await journal.commit(append('b', '4'))
  await journal.commit({
    records: ['k', 'l', 'm'].map((key) => ({ collection: 'c', key, value: key })),
    ledger: ['r', 's'].map((key) => ({ key, fingerprint: '{}', response: key })),
    snapshots: [1, 2].map((seq) => ({
      stream: 'a',
      seq,
      fold: 'f',
      topAt: 1,
      topSeq: 1,
      state: `${seq}`,
    })),
  })
  assert.equal((await journal.verify()).ok, true)
}

/** Changes the tables behind the back of whoever has them open. */
function tamper(directory: string, ...statements: readonly string[]): void {
  const database = new DatabaseSync(join(directory, TABLES_FILE), { timeout: 5_000 })
  for (const statement of statements) database.exec(statement)
  database.close()
}

async function datasOf(journal: SqliteJournal, stream: string): Promise<readonly string[]> {
  return (await journal.readStream(stream)).map(({ data }) => data)
}

describe('a directory', () => {
  test('is in use by one journal at a time, which the next is told of', async (t) => {
    const directory = directoryFor(t)
    const first = await opened(directory)

    await assert.rejects(sqliteJournal({ directory }), {
      code: 'journal-in-use',
      message: new RegExp(`in use by process ${process.pid} on `),
    })

    await first.close()
    await opened(directory)
  })

  test('that a later version has written is refused, and nothing in it is touched', async (t) => {
    const directory = directoryFor(t)
    await (await sqliteJournal({ directory })).close()
    tamper(directory, `pragma user_version = ${SCHEMA_VERSION + 1}`)
    const before = readFileSync(join(directory, TABLES_FILE))

    await assert.rejects(sqliteJournal({ directory }), { code: 'journal-newer' })

    assert.ok(readFileSync(join(directory, TABLES_FILE)).equals(before))
  })

  test('whose tables are no tables is refused as damaged', async (t) => {
    const directory = directoryFor(t)
    writeFileSync(join(directory, TABLES_FILE), 'x'.repeat(10_000))

    await assert.rejects(sqliteJournal({ directory }), { code: 'damaged' })
  })

  test('has everything in its tables when the journal is closed', async (t) => {
    const directory = directoryFor(t)
    const journal = await opened(directory)
    await journal.commit(append('a', '1'))
    await journal.close()
    assert.deepEqual(readdirSync(directory), [TABLES_FILE, 'lock.db', 'lock.txt'])
    const database = new DatabaseSync(join(directory, TABLES_FILE), { readOnly: true })
    assert.equal(database.prepare('select count(*) as n from events').get()?.['n'], 1)
    database.close()
  })

  test('keeps what was committed by a process that forgot to close it, and lets it end', async (t) => {
    const directory = directoryFor(t)
    const door = new URL('./engine.ts', import.meta.url).href
    const program = `
      const { sqliteJournal } = await import(${JSON.stringify(door)})
      const journal = await sqliteJournal({ directory: ${JSON.stringify(directory)} })
      const batch = { records: [{ collection: 'c', key: 'k', value: 'v' }] }
      console.log((await journal.commit(batch)).type)`
    const run = promisify(execFile)
    const args = ['--input-type=module', '--eval', program]
    const { stdout } = await run(process.execPath, args, { timeout: 60_000 })
    assert.equal(stdout.trim(), 'committed')

    const journal = await opened(directory)

    assert.deepEqual(await journal.getRecords('c', ['k']), [{ key: 'k', value: 'v' }])
  })

  test('that somebody else has taken fails, and what was committed to it may count', async (t) => {
    const directory = directoryFor(t)
    const { promise: failure, resolve: onFailed } = Promise.withResolvers<Accident>()
    const journal = await opened(directory, { onFailed })
    await journal.commit(append('a', '1'))
    rmSync(join(directory, 'lock.db')) // as if the file system did not keep its word on locks
    const other = await opened(directory)

    const answers = [journal.commit(append('a', '2')), journal.takeFence('f')]

    for (const answer of answers) await assert.rejects(answer, { code: 'unknown-outcome' })
    assert.equal((await failure).code, 'journal-in-use')
    assert.equal(journal.state, 'failed')
    await assert.rejects(journal.commit({}), { code: 'journal-closed' })
    await assert.rejects(journal.readAll(), { code: 'journal-closed' })
    assert.deepEqual(await datasOf(other, 'a'), ['1'])
  })

  test('of which a file cannot be written any more fails, and says nothing else', async (t) => {
    const directory = directoryFor(t)
    const whys: Accident[] = []
    const journal = await opened(directory, { onFailed: (why) => whys.push(why) })
    await journal.commit(append('a', '1'))
    for (const fd of openFiles(directory, /intake/)) closeSync(fd)

    const commits = [journal.commit(append('a', '2')), journal.commit(append('b', '1'))]

    for (const commit of commits) await assert.rejects(commit, { code: 'unknown-outcome' })
    assert.deepEqual([journal.state, whys.map(({ code }) => code)], ['failed', ['unknown-outcome']])
    await assert.rejects(journal.commit({}), { code: 'journal-closed' })
    await journal.close()
    assert.equal(journal.state, 'closed')
  })
})

describe('damage in the tables', () => {
  test('of an event refuses what reads it, and names it, and leaves its neighbours', async (t) => {
    const directory = directoryFor(t)
    const journal = await opened(directory)
    await filled(journal)
    tamper(directory, "update events set data = x'00' where position = 2")

    await assert.rejects(journal.readStream('a'), ({ code, detail, message }: Accident) => {
      assert.equal(code, 'damaged')
      const { stream, seq, position } = detail
      assert.deepEqual({ stream, seq, position }, { stream: 'a', seq: 2, position: 2 })
      assert.match(message, /event 2 of the stream a, at position 2, is damaged; .*repair/)
      return true
    })
    await assert.rejects(journal.readAll(), { code: 'damaged' })
    assert.equal((await journal.readStream('a', { limit: 1 })).length, 1)
    assert.equal((await journal.readStream('a', { after: 2 })).length, 1)
    assert.equal((await journal.readAll({ after: 2 })).length, 2)
    assert.deepEqual(await datasOf(journal, 'b'), ['4'])
    assert.equal((await journal.commit(append('a', '5'))).type, 'committed')
    assert.equal(journal.state, 'open')
    assert.equal((await journal.verify()).ok, false)
  })

  test('is found where events are missing, in the middle and at the end', async (t) => {
    const directory = directoryFor(t)
    const journal = await opened(directory)
    await filled(journal)
    tamper(directory, 'delete from events where position = 2')
    await assert.rejects(journal.readStream('a'), { code: 'damaged' })
    await assert.rejects(journal.readAll(), { code: 'damaged' })
    tamper(directory, 'delete from events where position > 2')
    await assert.rejects(journal.readStream('a', { after: 2 }), { code: 'damaged' })
    await assert.rejects(journal.readStream('b'), { code: 'damaged' })
    await assert.rejects(journal.readAll({ after: 3 }), { code: 'damaged' })
    assert.equal((await journal.readStream('a', { limit: 1 })).length, 1)
  })

  test('is found where an event is one that was not written, by its link', async (t) => {
    const directory = directoryFor(t)
    const journal = await opened(directory)
    await filled(journal)
    tamper(directory, 'update events set link = link + 1 where position = 3')
    await assert.rejects(journal.readStream('a'), { code: 'damaged' })
    await assert.rejects(journal.readStream('a', { after: 2 }), { code: 'damaged' })
  })

  test('of a record, an answer or a snapshot refuses that one alone', async (t) => {
    const directory = directoryFor(t)
    const journal = await opened(directory)
    await filled(journal)
    tamper(
      directory,
      "update records set value = x'00' where key = 'l'",
      "update ledger set response = x'00' where key = 'r'",
      "update snapshots set state = x'00' where seq = 1",
    )
    await assert.rejects(journal.getRecords('c', ['l']), { code: 'damaged' })
    await assert.rejects(journal.readRecords('c', ''), { code: 'damaged' })
    assert.deepEqual(await journal.getRecords('c', ['k', 'm']), [
      { key: 'k', value: 'k' },
      { key: 'm', value: 'm' },
    ])
    assert.equal((await journal.readRecords('c', 'm')).length, 1)
    await assert.rejects(journal.lookup('r'), { code: 'damaged' })
    assert.equal((await journal.lookup('s'))?.response, 's')
    await assert.rejects(journal.snapshots('a', 'f'), { code: 'damaged' })
    const again = { ledger: [{ key: 'r', fingerprint: '{}', response: 'r' }] }
    await assert.rejects(journal.commit(again), { code: 'damaged' })
    assert.equal((await journal.commit(append('a', '5'))).type, 'committed')
  })

  test('of a stream refuses commits to it, and to no other', async (t) => {
    const directory = directoryFor(t)
    const before = await sqliteJournal({ directory })
    await filled(before)
    await before.close()
    tamper(directory, "update streams set version = 1 where name = 'a'")
    const journal = await opened(directory)

    const commits = [append('a', '5'), append('b', '5')].map((batch) => journal.commit(batch))

    await assert.rejects(commits[0]!, { code: 'damaged' })
    assert.equal((await commits[1])?.type, 'committed')
    await assert.rejects(journal.version('a'), { code: 'damaged' })
    assert.equal(await journal.version('b'), 2)
    await assert.rejects(journal.streams(''), { code: 'damaged' })
  })

  test('of values that no column holds is damage as well', async (t) => {
    const directory = directoryFor(t)
    const journal = await opened(directory)
    await filled(journal)
    tamper(
      directory,
      'update events set at = 9223372036854775807 where position = 1',
      "update events set data = 'text' where position = 2",
      "update records set value = 7 where key = 'k'",
    )
    await assert.rejects(journal.readAll({ limit: 1 }), { code: 'damaged' })
    await assert.rejects(journal.readAll({ after: 1, limit: 1 }), { code: 'damaged' })
    await assert.rejects(journal.getRecords('c', ['k']), { code: 'damaged' })
    assert.equal((await journal.readAll({ after: 2 })).length, 2)
  })

  test('that filing meets stops commits, and no reads', async (t) => {
    const directory = directoryFor(t)
    const journal = await opened(directory)
    await filled(journal)
    tamper(
      directory,
      "insert into records values (3, 'n', x'00', 0)",
      "insert into events values (5, 9, 9, 5, 1, null, 't', 1, null, x'00', 0, 0)",
    )
    assert.equal((await journal.commit(append('a', '5'))).type, 'committed')

    await assert.rejects(journal.backup(join(directory, 'copy')), { code: 'damaged' })

    assert.equal(journal.state, 'damaged')
    await assert.rejects(journal.commit(append('a', '6')), { code: 'damaged' })
    assert.deepEqual(await datasOf(journal, 'b'), ['4'])
  })
})

describe('damage in the intake', () => {
  test('opens the journal for reading up to it', async (t) => {
    const directory = directoryFor(t)
    const copy = directoryFor(t)
    const before = await opened(directory)
    for (const data of ['1', '2', '3']) await before.commit(append('a', data.repeat(50)))
    // What a process leaves behind that is killed now, but for the second group.
    for (const name of readdirSync(directory).filter((file) => file.startsWith('intake'))) {
      const content = readFileSync(join(directory, name))
      const at = content.indexOf('2'.repeat(50))
      if (at !== -1) content[at]! ^= 1
      writeFileSync(join(copy, name), content)
    }

    const journal = await opened(copy)

    assert.equal(journal.state, 'damaged')
    assert.deepEqual(await datasOf(journal, 'a'), ['1'.repeat(50)])
    await assert.rejects(journal.commit(append('a', '4')), {
      code: 'damaged',
      message: /group 2 of the intake is damaged/,
    })
    await journal.close()
    assert.ok(readdirSync(copy).some((name) => name.startsWith('intake')))
  })
})

describe('reads', () => {
  test('of more than fits end early, and going on gives the rest', async (t) => {
    const journal = await opened(directoryFor(t))
    const data = 'x'.repeat(4_194_304)
    for (let n = 0; n < 17; n++)
      await journal.commit({
        ...append('a', data),
        records: [{ collection: 'c', key: `${n}`.padStart(2, '0'), value: data }],
      })

    assert.equal((await journal.readStream('a')).length, 16)
    assert.equal((await journal.readStream('a', { after: 16 })).length, 1)
    assert.equal((await journal.readRecords('c', '')).length, 16)
    assert.equal((await journal.readRecords('c', '', { after: '15' })).length, 1)
    assert.equal((await journal.readAll({ after: 1 })).length, 16)
  })
})

describe('a clock', () => {
  test('with parts of a millisecond gives answers that can be read', async (t) => {
    const clock = { ...systemClock, now: () => 1_000.5 }
    const journal = await opened(directoryFor(t), { clock })

    await journal.commit({ ledger: [{ key: 'r', fingerprint: '{}', response: 'r' }] })

    assert.equal((await journal.lookup('r'))?.at, 1_000)
    assert.equal((await journal.verify()).ok, true)
    assert.equal((await journal.lookup('r'))?.at, 1_000)
  })
})

function openFiles(directory: string, name: RegExp): number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => {
      try {
        const path = readlinkSync(`/proc/self/fd/${fd}`)
        return path.startsWith(directory) && name.test(path)
      } catch {
        return false
      }
    })
}
