import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { checkBatch } from '../checking.ts'
import { PAYLOAD_BYTES_MAX, type Batch } from '../journal.ts'
import { Filing } from './filing.ts'
import { FrameWriter } from './frame.ts'
import { READ_BYTES_MAX } from './reading.ts'
import { MIGRATIONS } from './schema.ts'
import { writeFirstRows } from './tables.ts'

const FITTING = READ_BYTES_MAX / PAYLOAD_BYTES_MAX
const EVENTS = 2 * FITTING + 1

test('a page of large events ends early, wherever they are, and the next goes on', () => {
  const database = new DatabaseSync(':memory:')
  database.exec(MIGRATIONS[0]!)
  writeFirstRows(database)
  const filing = new Filing(database, 1_000)
  const data = 'x'.repeat(PAYLOAD_BYTES_MAX)
  const events = [{ type: 'Happened', version: 1, at: 1, data }]
  const batch: Batch = { streams: [{ stream: 's', expected: 'any', events }] }
  for (let number = 1; number <= EVENTS; number++) {
    const writer = new FrameWriter()
    writer.batch(batch, checkBatch(batch))
    const bytes = Buffer.from(writer.cut())
    filing.lay({ number, at: 1, position: number - 1, count: 1, bytes })
  }
  for (const filed of [0, FITTING - 1, EVENTS]) {
    filing.file(filed, Infinity)
    const lengths: number[] = []
    for (let after = 0; after < EVENTS;) {
      const page = filing.reading.all(after, 1_000)
      lengths.push(page.length)
      assert.equal(page[0]?.position, after + 1)
      assert.equal(page.at(-1)?.position, (after += page.length))
    }
    assert.deepEqual(lengths, [FITTING, FITTING, 1])
  }
  database.close()
})

test('a value is read back as it was written, and what is none of its bytes is damage', () => {
  const database = new DatabaseSync(':memory:')
  database.exec(MIGRATIONS[0]!)
  writeFirstRows(database)
  const filing = new Filing(database, 1_000)
  const values = ['', '\uFEFFmark', 'a\0b', 'ü€😀', '\uFFFD', 'x'.repeat(70_000)]
  const records = values.map((value, n) => ({ collection: 'c', key: `k${n}`, value }))
  const writer = new FrameWriter()
  writer.batch({ records }, checkBatch({ records }))
  const bytes = Buffer.from(writer.cut())
  filing.lay({ number: 1, at: 1, position: 0, count: 1, bytes })
  filing.file(1, Infinity)
  const keys = records.map(({ key }) => key)
  const read = (): string[][] => [
    filing.reading.records('c', '', undefined, 100).map(({ value }) => value),
    filing.reading.getRecords('c', keys).map(({ value }) => value),
  ]
  assert.deepEqual(read(), [values, values])

  for (const damage of [Buffer.from([0xff]), Buffer.from('a\0c'), Buffer.from('a'), 7, '']) {
    database.prepare("update records set value = ? where key = 'k2'").run(damage)
    assert.throws(read, /the record k2 of c is damaged/)
    assert.throws(() => filing.reading.getRecords('c', ['k2']), /the record k2 of c is damaged/)
    assert.equal(filing.reading.getRecords('c', ['k1', 'k3']).length, 2)
  }
  database.close()
})
