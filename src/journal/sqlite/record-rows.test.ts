import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { recordCrc } from './checks.ts'
import { contentOf } from './figures.ts'
import { RecordRows, type Digest } from './record-rows.ts'
import { MIGRATIONS } from './schema.ts'

function simple(): Readonly<{ database: DatabaseSync; rows: RecordRows; digest: Digest }> {
  const database = new DatabaseSync(':memory:')
  database.exec(MIGRATIONS[0]!)
  const digest = { id: 3, name: 'c', count: 0, sum: 0, isChanged: false }
  return { database, rows: new RecordRows(database), digest }
}

function keysOf(count: number, first = 0): readonly string[] {
  return Array.from({ length: count }, (_, n) => String(first + n).padStart(6, '0'))
}

function blobs(keys: readonly string[], value: string): readonly Buffer[] {
  return keys.map((key) => Buffer.from(key + value))
}

/** What is in the table, by key. */
function found(database: DatabaseSync): Record<string, string> {
  const all: Record<string, string> = {}
  for (const { key, value, crc } of database.prepare('select * from records').all()) {
    assert.ok(typeof key === 'string' && value instanceof Uint8Array)
    assert.equal(crc, recordCrc({ collection: 3, key, value }))
    all[key] = Buffer.from(value).toString()
  }
  return all
}

/** The digest says what the rows add up to. */
function assertDigest(database: DatabaseSync, { count, sum }: Digest): void {
  assert.deepEqual(contentOf(database, 'records'), { count, sum })
}

describe('records of one collection', () => {
  for (const count of [1, 31, 32, 33, 64, 100])
    test(`are put, put again and deleted, ${count} of them at once`, () => {
      const { database, rows, digest } = simple()
      const keys = keysOf(count)
      for (const value of ['a', 'b']) {
        rows.put(digest, keys, blobs(keys, value))
        assert.deepEqual(found(database), Object.fromEntries(keys.map((key) => [key, key + value])))
        assertDigest(database, digest)
      }
      rows.delete(digest, keys)
      assert.deepEqual(found(database), {})
      assertDigest(database, digest)
    })

  test('leave those between them that nobody named', () => {
    const { database, rows, digest } = simple()
    const keys = keysOf(10)
    rows.put(digest, keys, blobs(keys, ''))

    rows.delete(digest, ['000001', '000002', '000004', 'none'])

    assert.equal(
      Object.keys(found(database)).join(),
      keys.filter((key) => !/[124]$/.test(key)).join(),
    )
    assertDigest(database, digest)
  })

  for (const every of [2, 4, 5, 6, 50, 100])
    test(`are deleted around those that stay, one in ${every}`, () => {
      const { database, rows, digest } = simple()
      const keys = keysOf(100)
      rows.put(digest, keys, blobs(keys, ''))
      const staying = keys.filter((_, n) => n % every === 1)

      rows.delete(
        digest,
        keys.filter((key) => !staying.includes(key)),
      )

      assert.deepEqual(Object.keys(found(database)), staying)
      assertDigest(database, digest)
    })

  test('are those of a model, however their keys stand', () => {
    // Texts outside the first plane stand elsewhere by their bytes than by their code units.
    const key = fc.oneof(
      fc.nat(60).map((n) => String(n).padStart(3, '0')),
      fc.constantFrom('\u{ffff}', '\u{e000}', '\u{10000}', '\u{1f600}', 'ä', 'a'),
    )
    const keys = fc.uniqueArray(key, { minLength: 1, maxLength: 50 })
    const step = fc.record({ isPut: fc.boolean(), keys, value: fc.string({ maxLength: 3 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
        const { database, rows, digest } = simple()
        const model: Record<string, string> = {}
        for (const { isPut, keys: some, value } of steps) {
          if (isPut) rows.put(digest, some, blobs(some, value))
          else rows.delete(digest, some)
          for (const each of some)
            if (isPut) model[each] = each + value
            else delete model[each]
        }
        assert.deepEqual(found(database), model)
        assertDigest(database, digest)
        database.close()
      }),
      { numRuns: 200 },
    )
  })
})
