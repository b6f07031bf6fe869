import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'

import fc from 'fast-check'

import { imageBytes, readPages, type LogState, type Pages } from './pages.ts'

const directory = mkdtempSync(join(tmpdir(), 'flytower-pages-'))
after(() => rmSync(directory, { recursive: true }))

const HEADER = 32
const FRAME = 24 + 4096

type Image = Readonly<{ file: Buffer; log: Buffer }>

/** A file whose log has one frame for each of these transactions, behind an earlier use of the log. */
function killed(transactions: number, { earlier = 0 } = {}): Image {
  const path = join(directory, 'made.db')
  const database = new DatabaseSync(path)
  database.exec(`pragma journal_mode = wal; pragma synchronous = off; pragma wal_autocheckpoint = 0;
    create table counter (id integer primary key, value integer); insert into counter values (1, 0)`)
  const count = database.prepare('update counter set value = value + 1')
  for (let n = 0; n < earlier; n++) count.run()
  database.exec('pragma wal_checkpoint(restart)')
  for (let n = 0; n < transactions; n++) count.run()
  const image = { file: readFileSync(path), log: readFileSync(`${path}-wal`) }
  database.close()
  rmSync(path)
  return image
}

/** A file whose log has one transaction of many frames. */
function large(): Image {
  const path = join(directory, 'large.db')
  const database = new DatabaseSync(path)
  database.exec(`pragma journal_mode = wal; pragma synchronous = off; pragma wal_autocheckpoint = 0;
    create table texts (text text); insert into texts values (hex(zeroblob(20000)))`)
  const image = { file: readFileSync(path), log: readFileSync(`${path}-wal`) }
  database.close()
  rmSync(path)
  return image
}

function pagesOf({ file, log }: Image): Pages {
  return readPages(imageBytes(file), imageBytes(log))
}

function flipped({ file, log }: Image, at: number): Image {
  const damaged = Buffer.from(log)
  damaged[at]! ^= 0x10
  return { file, log: damaged }
}

/** What SQLite makes of it: all its pages after it took over the log. */
function sqlitePages({ file, log }: Image): Buffer {
  const path = join(directory, 'opened.db')
  writeFileSync(path, file)
  writeFileSync(`${path}-wal`, log)
  const database = new DatabaseSync(path)
  database.exec('pragma wal_checkpoint(truncate)')
  database.close()
  const bytes = readFileSync(path)
  rmSync(path)
  return bytes
}

function allPages(pages: Pages): Buffer {
  return Buffer.concat(Array.from({ length: pages.count }, (_, n) => pages.page(n + 1)!))
}

test('a log that was not touched is whole, also where an earlier use of it was longer', () => {
  for (const earlier of [0, 20]) {
    const image = killed(5, { earlier })
    const pages = pagesOf(image)

    assert.deepEqual(pages.log, { type: 'whole' } satisfies LogState)
    assert.deepEqual(allPages(pages), sqlitePages(image))
  }
})

test('a log without a transaction has nothing in it', () => {
  const { file, log } = killed(1)

  for (const bytes of [0, HEADER, HEADER + FRAME - 1])
    assert.deepEqual(pagesOf({ file, log: log.subarray(0, bytes) }).log, { type: 'none' })
})

test('a log cut anywhere is never damaged, and is read as SQLite reads it', () => {
  const image = killed(6)
  fc.assert(
    fc.property(fc.integer({ min: 0, max: image.log.length }), (length) => {
      const cut = { file: image.file, log: image.log.subarray(0, length) }
      const pages = pagesOf(cut)

      assert.notEqual(pages.log.type, 'damaged')
      assert.deepEqual(allPages(pages), sqlitePages(cut))
    }),
    { numRuns: 60 },
  )
})

test('a frame that does not check out is damage where transactions follow it, and torn at the end', () => {
  const image = killed(6, { earlier: 10 })
  for (const [frame, type] of [
    [0, 'damaged'],
    [4, 'damaged'],
    [5, 'torn'],
  ] as const)
    for (const at of [2, 18, 24, 2000, FRAME - 1])
      assert.deepEqual(pagesOf(flipped(image, HEADER + frame * FRAME + at)).log, { type, frame })
})

test('a transaction without its end is torn, and what is there of it can be read', () => {
  const { file, log } = large()

  const pages = pagesOf({ file, log: log.subarray(0, -1) })

  assert.deepEqual(pages.log, { type: 'torn' } satisfies LogState)
  const end = log.length - FRAME
  const number = log.readUInt32BE(end - FRAME)
  const last = log.subarray(end - FRAME + 24, end)
  assert.equal(pages.page(number)?.equals(last) ?? false, false)
  assert.deepEqual(pages.withTorn().page(number), last)
})

test('the end of a torn transaction is read though the frame before it is gone', () => {
  const { file, log } = large()
  const end = log.length - FRAME
  const number = log.readUInt32BE(end)
  log.fill(0, end - FRAME, end)

  const pages = pagesOf({ file, log }).withTorn()

  assert.deepEqual(pages.page(number), log.subarray(end + 24))
  assert.equal(pages.count, number)
})

test('the latest pages are read across the damage, and what the damage hides is read too', () => {
  const image = killed(6)
  const { log } = pagesOf(image)
  assert.equal(log.type, 'whole')

  const middle = pagesOf(flipped(image, HEADER + 3 * FRAME + 3000))

  assert.equal(middle.log.type, 'damaged')
  assert.deepEqual(allPages(middle), allPages(pagesOf(image)))
  const before = HEADER + 2 * FRAME + 24
  const hidden = [...middle.hidden()]
  assert.ok(hidden.some((page) => page.equals(image.log.subarray(before, before + 4096))))
  assert.ok(hidden.some((page) => page.equals(image.file.subarray(4096, 8192))))
})

test('without their log, pages are those of the file, and those of the log are hidden', () => {
  const image = killed(2)

  const pages = pagesOf(image).withoutLog()

  assert.deepEqual(allPages(pages), image.file)
  const last = HEADER + FRAME + 24
  assert.deepEqual([...pages.hidden()], [image.log.subarray(last, last + 4096)])
})

test('a page whose frame does not say which it is can still be read', () => {
  const image = killed(6)
  const log = Buffer.from(image.log).fill(0, HEADER + 3 * FRAME, HEADER + 3 * FRAME + 16)

  const pages = pagesOf({ file: image.file, log })

  assert.equal(pages.log.type, 'damaged')
  const content = HEADER + 3 * FRAME + 24
  const page = image.log.subarray(content, content + 4096)
  assert.ok([...pages.hidden()].some((hidden) => hidden.equals(page)))
})

test('a damaged header of the log is damage as soon as there is a transaction', () => {
  const image = killed(3)
  for (let at = 0; at < HEADER; at++)
    assert.equal(pagesOf(flipped(image, at)).log.type, 'damaged', `byte ${at}`)
})

test('a log is read without its header, also where the first frame has lost its own', () => {
  const image = killed(4)
  const log = Buffer.from(image.log).fill(0, 0, HEADER + 24)

  const pages = pagesOf({ file: image.file, log })

  assert.equal(pages.log.type, 'damaged')
  assert.deepEqual(allPages(pages), allPages(pagesOf(image)))
})

test('a page size that is not possible is taken from the log', () => {
  const image = killed(3)
  const file = Buffer.from(image.file)
  file.writeUInt16BE(0, 16)

  assert.equal(pagesOf({ file, log: image.log }).pageBytes, 4096)
})

test('without a first page and a log, the other pages tell how large they are', () => {
  for (let bytes = 512; bytes <= 65_536; bytes *= 2) {
    const path = join(directory, `${bytes}.db`)
    const database = new DatabaseSync(path)
    database.exec(`pragma page_size = ${bytes}; pragma synchronous = off; begin;
      create table texts (id integer primary key, text text, other text); create index by_text on texts (text)`)
    const insert = database.prepare('insert into texts (text, other) values (?, ?)')
    for (let n = 0; n < 500; n++) insert.run('x'.repeat(n % 300), 'y'.repeat((n * 7) % 400))
    database.exec('commit')
    database.close()
    const file = readFileSync(path).fill(0, 0, bytes)

    assert.equal(pagesOf({ file, log: Buffer.alloc(0) }).pageBytes, bytes)
  }
})
