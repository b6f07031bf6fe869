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
