import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { random, type Random } from '../../std/index.ts'
import { virtualClock, type VirtualClock } from '../../testkit/index.ts'
import { batchBytes, checkBatch } from '../checking.ts'
import type { Batch, Journal, RecordWrite, SnapshotWrite } from '../journal.ts'
import { memoryJournal } from '../memory.ts'
import { isFull } from './errors.ts'
import { Filing } from './filing.ts'
import { FrameWriter, GROUP_HEADER_BYTES, setToken } from './frame.ts'
import type { Group } from './intake.ts'
import { READ_BYTES_MAX } from './reading.ts'
import { MIGRATIONS } from './schema.ts'
import { writeFirstRows } from './tables.ts'
import { verifyDatabase } from './verify.ts'

const RETENTION_MS = 1_000
const START = 1_700_000_000_000
const NAMES = ['a', 'b', 'bä', 'b\u{e000}', 'b\u{1f600}', 'c/1', 'c/2']
const SEEDS = 15
const FOLDS = ['fold', 'other']

function freshTables(): DatabaseSync {
  const database = new DatabaseSync(':memory:')
  database.exec(MIGRATIONS[0]!)
  writeFirstRows(database)
  database.exec('pragma user_version = 1')
  return database
}

/** The memory engine, and the desk over the tables, given the same batches. */
class Pair {
  readonly chance: Random
  readonly clock: VirtualClock
  readonly database: DatabaseSync = freshTables()
  readonly filing: Filing = new Filing(this.database, RETENTION_MS)
  readonly model: Journal
  #number = 0
  #keys = 0

  constructor(seed: number, clock: VirtualClock, model: Journal) {
    this.chance = random(seed)
    this.clock = clock
    this.model = model
  }

  /** A group of a few entries. All of them are granted, so both must end up with the same. */
  async group(): Promise<void> {
    const writer = new FrameWriter()
    const patches: (readonly [start: number, token: number])[] = []
    const now = this.clock.now()
    for (let n = 1 + this.chance.below(3); n > 0; n--) {
      const start = GROUP_HEADER_BYTES + writer.bytes
      if (this.chance.below(8) === 0) {
        const name = this.chance.pick(NAMES)
        writer.take(name)
        patches.push([start, await this.model.takeFence(name)])
        continue
      }
      const batch = await this.#batch()
      const result = await this.model.commit(batch)
      assert.equal(result.type, 'committed')
      writer.batch(batch, checkBatch(batch))
    }
    const bytes = Buffer.from(writer.cut())
    for (const [start, token] of patches) setToken(bytes, start, token)
    const { position } = this.filing
    this.filing.lay({ number: ++this.#number, at: now, position, count: 1, bytes })
  }

  async compare(): Promise<void> {
    const { filing, model, chance } = this
    const { reading } = filing
    const limit = 1 + chance.below(12)
    assert.equal(filing.position, await model.position())
    const after = chance.below(filing.position + 2)
    assert.deepEqual(reading.all(after, limit), await model.readAll({ after, limit }))
    for (const name of NAMES) {
      const place = chance.below(4)
      assert.deepEqual(
        reading.stream(name, place, limit),
        await model.readStream(name, { after: place, limit }),
      )
      assert.equal(reading.version(name), await model.version(name))
      for (const fold of FOLDS)
        assert.deepEqual(reading.snapshots(name, fold, 100), await model.snapshots(name, fold))
      assert.deepEqual(
        reading.getRecords('c', [name, 'none']),
        await model.getRecords('c', [name, 'none']),
      )
    }
    for (const prefix of ['', 'b', 'c/', 'x']) {
      const key = chance.pick([undefined, '', ...NAMES])
      const page = { limit, ...(key !== undefined && { after: key }) }
      assert.deepEqual(reading.streams(prefix, key, limit), await model.streams(prefix, page))
      for (const collection of ['c', 'd'])
        assert.deepEqual(
          reading.records(collection, prefix, key, limit),
          await model.readRecords(collection, prefix, page),
        )
    }
    for (let n = 0; n < this.#keys; n++) {
      const key = `request ${n}`
      const answer = reading.lookup(key, this.clock.now(), RETENTION_MS)
      assert.deepEqual(answer, await model.lookup(key))
    }
  }

  async #batch(): Promise<Batch> {
    const { chance } = this
    const some = <T>(make: (name: string) => T): T[] =>
      NAMES.filter(() => chance.below(4) === 0).map(make)
    const at = this.clock.now()
    const streams = some((stream) => ({
      stream,
      expected: 'any' as const,
      events: Array.from({ length: chance.below(3) }, () => ({
        type: 'Happened',
        version: 1,
        at,
        data: `${chance.below(1_000)}`,
        ...(chance.below(3) === 0 && { effectiveAt: at - 5, actor: 'somebody' }),
      })),
    }))
    const records = some((key): RecordWrite => {
      const collection = chance.pick(['c', 'd'])
      return chance.below(3) === 0
        ? { collection, key, deleted: true }
        : { collection, key, value: `${chance.below(1_000)}` }
    })
    const snapshots: SnapshotWrite[] = []
    for (const stream of NAMES) {
      const version = await this.model.version(stream)
      if (version === 0 || chance.below(4) > 0) continue
      const seq = 1 + chance.below(version)
      const fold = chance.pick(FOLDS)
      if (chance.below(3) === 0) snapshots.push({ stream, seq, fold, dropped: true })
      else snapshots.push({ stream, seq, fold, topAt: at, topSeq: seq, state: `${at}` })
    }
    // A key comes back when it was forgotten, and not before.
    const key = `request ${chance.below(this.#keys + 1)}`
    const isFree = (await this.model.lookup(key)) === undefined
    if (key === `request ${this.#keys}`) this.#keys += 1
    const ledger = isFree ? [{ key, fingerprint: '{}', response: `${at}` }] : []
    return { streams, records, snapshots, ledger }
  }
}

async function pair(seed: number): Promise<Pair> {
  const clock = virtualClock({ now: START })
  const model = await memoryJournal({ clock, ledgerRetentionMs: RETENTION_MS })
  return new Pair(seed, clock, model)
}

describe('the desk over the tables', () => {
  test('reads like a journal in memory, whenever something is filed, durable or undone', async () => {
    for (let seed = 0; seed < SEEDS; seed++) {
      try {
        await play(await pair(seed))
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error })
      }
    }
  })
})

async function play(both: Pair): Promise<void> {
  const { filing, chance, clock, database } = both
  for (let n = 0; n < 40; n++) {
    if (chance.below(10) === 0) clock.advance(chance.below(2_000))
    await both.group()
    switch (chance.below(5)) {
      case 0:
        filing.file(filing.last, chance.below(6))
        break
      case 1:
        if (filing.file(filing.last - chance.below(3), 1 + chance.below(20))) filing.commit()
        break
      case 2:
        filing.undo()
        break
      case 3:
        filing.settle()
        break
      default:
    }
    if (chance.below(2) === 0) await both.compare() // reading writes where streams end
  }
  filing.settle()
  await both.compare()
  const { findings } = verifyDatabase(database)
  assert.deepEqual(findings, [])
  await both.model.close()
}

describe('filing', () => {
  test('that finds no room is undone, and succeeds when there is some', () => {
    const database = freshTables()
    const filing = new Filing(database, RETENTION_MS)
    const pages = Number(database.prepare('pragma page_count').get()?.['page_count'])
    filing.lay(groupOf(1, putting(['before'], 'x')))
    filing.settle()
    filing.lay(groupOf(2, putting(keysOf(50), 'x'.repeat(1_000))))
    filing.lay(groupOf(3, putting(['after'], 'x')))
    database.exec(`pragma max_page_count = ${pages + 2}`)

    assert.throws(() => filing.settle(), isFull)
    filing.undo()

    assert.equal(filing.filed, 1)
    assert.equal(filing.reading.records('c', '', undefined, 100).length, 52)
    assert.throws(() => filing.settle(), isFull)
    filing.undo()
    database.exec('pragma max_page_count = 1000')
    filing.settle()
    assert.equal(filing.filed, 3)
    assert.equal(filing.reading.records('c', '', undefined, 100).length, 52)
    assert.deepEqual(verifyDatabase(database).findings, [])
  })

  test('does not file what was put and deleted meanwhile', () => {
    const database = freshTables()
    const filing = new Filing(database, RETENTION_MS)
    const deleted = { records: [{ collection: 'c', key: 'k', deleted: true as const }] }
    filing.lay(groupOf(1, putting(['k', 'l'], 'x')))
    filing.lay(groupOf(2, deleted))
    filing.file(1, Infinity)
    filing.commit()
    const keys = database.prepare('select key from records').all()
    assert.deepEqual(
      keys.map(({ key }) => key),
      ['l'],
    )
    assert.deepEqual(filing.reading.getRecords('c', ['k', 'l']), [{ key: 'l', value: 'x' }])
  })

  test('forgets the answers of old, some at a time', () => {
    const database = freshTables()
    const filing = new Filing(database, RETENTION_MS)
    for (let n = 1; n <= 1_500; n++) filing.lay(groupOf(n, answered(`${n}`), START + n))
    filing.settle()
    const count = (): unknown => database.prepare('select count(*) as n from ledger').get()?.['n']
    assert.equal(count(), 1_001) // those that are no older than the last by more than a second
    for (let n = 1_501; n <= 1_503; n++) {
      filing.lay(groupOf(n, answered(`${n}`), START + 10_000 + n))
      filing.settle()
    }
    assert.equal(count(), 3)
    assert.deepEqual(verifyDatabase(database).findings, [])
  })
})

describe('a read', () => {
  test('of as many bytes as fit is whole, of one more ends early or is refused', () => {
    const filing = new Filing(freshTables(), RETENTION_MS)
    const { reading } = filing
    const part = 4_194_304
    const largest = putting(keysOf(READ_BYTES_MAX / part), 'x'.repeat(part))
    filing.lay(groupOf(1, largest))
    assert.equal(reading.records('c', '', undefined, 100).length, READ_BYTES_MAX / part)

    filing.lay(groupOf(2, putting(['more'], 'x')))

    assert.equal(reading.records('c', '', undefined, 100).length, READ_BYTES_MAX / part)
    assert.throws(() => reading.getRecords('c', [...keysOf(16), 'more']), { code: 'bad-read' })
    assert.equal(reading.records('c', '', undefined, 16).length, 16)
  })
})

function keysOf(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${n}`.padStart(3, '0'))
}

function answered(key: string): Batch {
  return { ledger: [{ key, fingerprint: '{}', response: '' }] }
}

function putting(keys: readonly string[], value: string): Batch {
  return { records: keys.map((key) => ({ collection: 'c', key, value })) }
}

function groupOf(number: number, batch: Batch, at = START): Group {
  const writer = new FrameWriter()
  writer.batch(batch, batchBytes(batch))
  return { number, at, position: 0, count: 1, bytes: Buffer.from(writer.cut()) }
}
