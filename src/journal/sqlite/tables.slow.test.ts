import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { streamCrc } from './checks.ts'
import { MIGRATIONS } from './schema.ts'
import { prepared } from './statements.ts'
import { Tables, writeFirstRows } from './tables.ts'

const STREAMS = 200_000
const NAME_LENGTH = 400

function nameOf(id: number): string {
  return `${id}`.padEnd(NAME_LENGTH, 'x')
}

function heapUsed(): number {
  assert.ok(globalThis.gc, 'tests run with --expose-gc')
  for (let n = 0; n < 3; n++) globalThis.gc()
  return process.memoryUsage().heapUsed
}

test('streams that are only looked at are not all remembered', () => {
  const database = new DatabaseSync(':memory:')
  database.exec(MIGRATIONS[0]!)
  writeFirstRows(database)
  const { insertStream } = prepared(database)
  database.exec('begin')
  for (let id = 1; id <= STREAMS; id++) {
    const row = { id, name: nameOf(id), version: id, link: 0 }
    insertStream.run(row.version, row.link, streamCrc(row), id, row.name)
  }
  database.exec('commit')
  const tables = new Tables(database)
  const before = heapUsed()

  for (let id = 1; id <= STREAMS; id++) assert.equal(tables.head(nameOf(id))?.version, id)

  const kept = heapUsed() - before
  assert.ok(kept < (STREAMS * NAME_LENGTH) / 2, `${kept} bytes are kept`)
  assert.equal(tables.head(nameOf(1))?.version, 1)
})
