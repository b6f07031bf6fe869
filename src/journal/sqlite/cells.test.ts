import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'

import fc from 'fast-check'

import { random } from '../../std/index.ts'
import { contentOf, type Value } from './cells.ts'
import { imageBytes, readPages, type Pages } from './pages.ts'

const directory = mkdtempSync(join(tmpdir(), 'flytower-cells-'))
let files = 0
after(() => rmSync(directory, { recursive: true }))

type Row = readonly [key: string, value: Uint8Array | string | number | null]
type Made = Readonly<{ file: Buffer; log: Buffer }>

/** The bytes of a database, and of its log as a killed process would leave it. */
function made(work: (database: DatabaseSync) => void, { log = false } = {}): Made {
  const path = join(directory, `${files++}.db`)
  const database = new DatabaseSync(path)
  database.exec('pragma journal_mode = wal; pragma synchronous = off')
  work(database)
  if (!log) database.close()
  const bytes = {
    file: readFileSync(path),
    log: log ? readFileSync(`${path}-wal`) : Buffer.alloc(0),
  }
  if (log) database.close()
  return bytes
}

function pagesOf({ file, log }: Made): Pages {
  return readPages(imageBytes(file), imageBytes(log))
}

/** Every row of every page, whatever tree it belongs to: its number, or -1, and its values. */
function rowsOf(pages: Pages): (readonly Value[])[] {
  const rows = []
  for (let number = 1; number <= pages.count; number++) {
    const page = pages.page(number)
    const content = page && contentOf(pages, page, number)
    if (content === undefined || content.kind === 'table-inner') continue
    assert.equal(content.skipped, 0)
    for (const { rowid, values, outside } of content.cells) {
      assert.equal(outside, false)
      rows.push([rowid ?? -1, ...values])
    }
  }
  return rows
}

const value = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.integer({ min: 0, max: 60_000 }).map((length) => new Uint8Array(length).fill(length & 0xff)),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.maxSafeInteger(),
  fc.integer({ min: -200, max: 200 }),
  fc.constant(null),
)
const rows: fc.Arbitrary<Row[]> = fc.uniqueArray(
  fc.tuple(fc.string({ unit: 'grapheme', maxLength: 40 }), value),
  { selector: ([key]) => Buffer.from(key).toString('hex'), maxLength: 60 },
)

function comparable(row: readonly Value[]): string {
  return JSON.stringify(row.map((each) => (each instanceof Buffer ? each.toString('hex') : each)))
}

function stored(each: Row[1]): Value {
  return each instanceof Uint8Array ? Buffer.from(each) : each
}

test('every row that SQLite wrote is found, with its overflow pages, in the file and in the log', () => {
  fc.assert(
    fc.property(rows, fc.boolean(), fc.constantFrom(512, 1024, 4096), (some, log, pageBytes) => {
      const bytes = made(
        (database) => {
          database.exec(`pragma page_size = ${pageBytes}; vacuum; pragma journal_mode = wal;
            create table plain (id integer primary key, key text, value);
            create table keyed (key text primary key, value) without rowid;`)
          const plain = database.prepare('insert into plain values (?, ?, ?)')
          const keyed = database.prepare('insert into keyed values (?, ?)')
          for (const [n, [key, each]] of some.entries()) {
            plain.run(n * 1000, key, each)
            keyed.run(key, each)
          }
        },
        { log },
      )

      const found = rowsOf(pagesOf(bytes)).map((row) => comparable(row))

      for (const [n, [key, each]] of some.entries()) {
        assert.ok(found.includes(comparable([n * 1000, null, key, stored(each)])))
        assert.ok(found.includes(comparable([-1, key, stored(each)])))
      }
      assert.equal(found.length, 2 * some.length + 2) // the schema has a row for each table
    }),
    { numRuns: 60 },
  )
})

test('rows are found on inner pages of a table without row numbers', () => {
  const bytes = made((database) => {
    database.exec('create table keyed (key text primary key, value) without rowid')
    const insert = database.prepare('insert into keyed values (?, ?)')
    for (let n = 0; n < 5_000; n++) insert.run(`key ${n}`, n)
  })

  const found = rowsOf(pagesOf(bytes)).filter(([rowid]) => rowid === -1)

  assert.deepEqual(
    found.map(([, , n]) => Number(n)).toSorted((a, b) => a - b),
    Array.from({ length: 5_000 }, (_, n) => n),
  )
})

test('what lies in the free space of a page is marked', () => {
  const { file } = made((database) => {
    database.exec(`create table plain (id integer primary key, value text);
      insert into plain values (1, 'one'), (2, 'two'), (3, 'three'); delete from plain where id = 3`)
  })
  const at = 4096
  const second = file.readUInt16BE(at + 10)
  file.writeUInt16BE(3, at + 3)
  file.writeUInt16BE(second - 10, at + 12) // where the third cell was, of ten bytes
  const pages = pagesOf({ file, log: Buffer.alloc(0) })

  const content = contentOf(pages, pages.page(2)!, 2)!

  assert.equal(content.cells.length, 3)
  assert.deepEqual(
    content.cells.map(({ outside }) => outside),
    [false, false, true],
  )
})

test('no bytes make the reader throw or run on', () => {
  const whole = made(
    (database) => {
      database.exec(`create table plain (id integer primary key, key text, value);
        create table keyed (key text primary key, value) without rowid`)
      for (let n = 0; n < 40; n++) {
        database
          .prepare('insert into plain values (?, ?, ?)')
          .run(n, `k${n}`, Buffer.alloc(n * 250))
        database.prepare('insert into keyed values (?, ?)').run(`k${n}`, Buffer.alloc(n * 250))
      }
    },
    { log: true },
  )
  fc.assert(
    fc.property(fc.integer({ min: 0 }), fc.integer({ min: 1, max: 400 }), (seed, hits) => {
      const chance = random(seed)
      const [file, log] = [Buffer.from(whole.file), Buffer.from(whole.log)]
      for (let n = 0; n < hits; n++) {
        const target = chance.pick([file, log, log])
        if (target.length > 0) target[chance.below(target.length)] = chance.below(256)
      }
      const pages = pagesOf({ file: file.subarray(0, chance.below(file.length + 1)), log })

      let cells = 0
      for (let number = 1; number <= Math.min(pages.count, 1_000); number++) {
        const page = pages.page(number)
        cells += (page && contentOf(pages, page, number)?.cells.length) ?? 0
      }
      for (const page of pages.hidden()) contentOf(pages, page, 2)

      assert.ok(cells <= pages.count * 2048)
    }),
    { numRuns: 100 },
  )
})
