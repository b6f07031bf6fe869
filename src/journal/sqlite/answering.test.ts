import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test, type TestContext } from 'node:test'

import { systemClock } from '../../std/index.ts'
import type { Batch, CommitResult, NewEvent } from '../journal.ts'
import { sqliteJournal, type SqliteJournal } from './engine.ts'
import { TABLES_FILE } from './schema.ts'

function directoryFor(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'answering-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

function append(stream: string, count = 1): Batch {
  const event: NewEvent = { type: 'Happened', version: 1, at: 1, data: 'x'.repeat(100) }
  return {
    streams: [{ stream, expected: 'any', events: Array.from({ length: count }, () => event) }],
  }
}

/** Somebody who reads without end, and how to end it. */
function readers(journal: SqliteJournal, count: number): () => Promise<void> {
  const ending = new AbortController()
  const all = Array.from({ length: count }, async () => {
    while (!ending.signal.aborted) await journal.readAll({ limit: 500 })
  })
  return async () => {
    ending.abort()
    await Promise.all(all)
  }
}

describe('whoever was answered', () => {
  test('reads what was committed, however much others read', async (t) => {
    await using journal = await sqliteJournal({ directory: directoryFor(t) })
    await journal.commit(append('large', 2_000))
    const end = readers(journal, 8)

    for (let n = 1; n <= 20; n++) {
      await journal.commit(append('s'))
      assert.equal(await journal.version('s'), n)
    }

    await end()
  })

  test('reads what was committed, however soon it asks', async (t) => {
    await using journal = await sqliteJournal({ directory: directoryFor(t) })
    for (let n = 1; n <= 500; n++) {
      await journal.commit(append('s'))
      assert.equal(await journal.version('s'), n)
    }
  })

  test('is followed by every subscription, however much others read', async (t) => {
    await using journal = await sqliteJournal({ directory: directoryFor(t) })
    await journal.commit(append('large', 2_000))
    const [target, { promise: reached, resolve }] = [2_020, Promise.withResolvers<void>()]
    await using _ = journal.subscribe({
      after: 0,
      handle: (events) => {
        if (events.at(-1)!.position === target) resolve()
      },
    })
    const end = readers(journal, 8)

    for (let n = 1; n <= 20; n++) await journal.commit(append('s'))

    await reached
    await end()
  })
})

describe('a journal that is closed', () => {
  test('has answered every commit, also where nobody listened meanwhile', async (t) => {
    const journal = await sqliteJournal({ directory: directoryFor(t) })
    await journal.commit(append('s'))
    await journal.readAll()
    const commits = Array.from({ length: 3_000 }, () => journal.commit(append('s')))
    const closing = journal.close()
    const since = systemClock.monotonic()
    while (systemClock.monotonic() - since < 400); // holds the thread while both threads speak

    await closing

    assert.equal(journal.stats().pending, 0)
    for (const { type } of await Promise.all(commits)) assert.equal(type, 'committed')
  })

  test('ends its subscriptions quietly, also in the middle of a page', async (t) => {
    const journal = await sqliteJournal({ directory: directoryFor(t) })
    await journal.commit(append('s', 5_000))
    const subscription = journal.subscribe({ after: 0, limit: 5, handle: () => {} })

    await journal.close()

    await subscription.ended
  })
})

/** What was committed of so many at once, in order. */
async function commitsTo(journal: SqliteJournal, count: number): Promise<CommitResult[]> {
  const settled = await Promise.allSettled(
    Array.from({ length: count }, () => journal.commit(append('s'))),
  )
  return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

describe('a journal whose tables turn out damaged', () => {
  test('reads all that it has answered, and answers all when it is closed', async (t) => {
    const directory = directoryFor(t)
    const first = await sqliteJournal({ directory })
    await first.commit({ records: [{ collection: 'c', key: 'k', value: 'v' }] })
    await first.close()
    const database = new DatabaseSync(join(directory, TABLES_FILE))
    database.exec(`update digests set crc = crc + 1 where name = 'c'`)
    database.close()
    const journal = await sqliteJournal({ directory })

    await journal.commit({ records: [{ collection: 'c', key: 'k', value: 'w' }] })
    const results: CommitResult[] = []
    for (let n = 0; journal.state === 'open' && n < 10_000; n++)
      results.push(...(await commitsTo(journal, 100)))

    assert.equal(journal.state, 'damaged')
    const version = results.findLast(({ type }) => type === 'committed')
    assert.deepEqual(version, {
      type: 'committed',
      position: await journal.position(),
      versions: [await journal.version('s')],
    })
    const [before] = [await journal.readStream('s'), await journal.close()]

    await using again = await sqliteJournal({ directory })
    assert.equal(again.state, 'damaged')
    assert.deepEqual(await again.readStream('s'), before)
    await assert.rejects(again.commit(append('s')), { code: 'damaged' })
  })
})
