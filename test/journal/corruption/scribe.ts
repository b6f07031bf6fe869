/**
 * A journal written on a seed by the engine's own parts, all in this thread: the intake, the desk and
 * the tables. So its files can be taken at any moment, as a kill would leave them, and what every row
 * was at any time is known.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

import type { Batch, Expected, NewEvent, RecordWrite } from '../../../src/journal/index.ts'
import { FrameWriter, GROUP_HEADER_BYTES, setToken } from '../../../src/journal/sqlite/frame.ts'
import { Intake, removeIntake, sealGroup, type Group } from '../../../src/journal/sqlite/intake.ts'
import { openDirectory, type Opened } from '../../../src/journal/sqlite/opening.ts'
import { TABLES_FILE } from '../../../src/journal/sqlite/schema.ts'
import type { Random } from '../../../src/std/index.ts'
import { answerOf, keyOf, type Names } from './contents.ts'

export type Files = ReadonlyMap<string, Buffer>

/** So little that both files are written to, at times more than once. */
const INTAKE_BYTES = 16_384
/** So short that the first answers are forgotten. */
export const RETENTION_MS = 500
/** On small pages a few rows make trees of some depth, and rows that go on elsewhere; 0 is as the engine has it. */
const PAGE_BYTES = [512, 512, 1_024, 0]
const STREAMS = Array.from({ length: 8 }, (_, n) => `stream ${'x'.repeat(n * 3)}${n}`)
const COLLECTIONS = ['queue', 'leases', 'größe']
const FENCES = ['one', 'two']
const FOLDS = ['fold 1', 'fold 2']

export class Scribe {
  readonly directory: string
  readonly names: Names = {
    streams: STREAMS,
    collections: COLLECTIONS,
    fences: FENCES,
    folds: FOLDS,
    keys: Array.from({ length: 24 }, (_, n) => `key-${n}`),
    answers: [],
  }
  /** Every value that anything which may be overwritten has ever had. */
  readonly ever: Map<string, Set<string>> = new Map()
  readonly #chance: Random
  #opened: Opened
  #intake: Intake
  #number: number
  #position: number
  #at = 1_000
  #answered = 0
  readonly #versions = new Map<string, number>()
  readonly #tokens = new Map<string, number>()

  constructor(directory: string, chance: Random) {
    this.directory = directory
    this.#chance = chance
    const pageBytes = chance.pick(PAGE_BYTES)
    if (pageBytes > 0) beginWith(directory, pageBytes)
    this.#opened = openDirectory(directory, RETENTION_MS)
    this.#intake = this.#newIntake()
    this.#number = this.#opened.filing.last
    this.#position = this.#opened.filing.position
  }

  get opened(): Opened {
    return this.#opened
  }

  /** One group of some batches, durable and on the desk. */
  group(): void {
    const writer = new FrameWriter()
    const takes: [start: number, token: number][] = []
    const position = this.#position
    for (let n = 1 + this.#chance.below(3); n > 0; n--) {
      if (this.#chance.below(12) === 0) {
        const name = this.#chance.pick(FENCES)
        const token = (this.#tokens.get(name) ?? 0) + 1
        this.#tokens.set(name, token)
        takes.push([GROUP_HEADER_BYTES + writer.bytes, token])
        writer.take(name)
        this.#note(keyOf.fence(name), token)
      } else writer.batch(this.#batch(), 100_000)
    }
    const bytes = Buffer.from(writer.cut())
    for (const [start, token] of takes) setToken(bytes, start, token)
    this.#number += 1
    this.#at += 1 + this.#chance.below(100)
    const head = { number: this.#number, at: this.#at, position, count: 1 }
    sealGroup(bytes, this.#intake.salt, head)
    this.#keep({ ...head, bytes })
  }

  settle(): void {
    this.#opened.filing.settle()
  }

  checkpoint(): void {
    this.#opened.database.exec('pragma wal_checkpoint(passive)')
  }

  /** Ends the journal in order, as an opening after it would find it. */
  close(): void {
    this.settle()
    this.#end()
  }

  /** Opens the directory again, with an intake of its own. */
  reopen(): void {
    this.#end()
    this.#opened = openDirectory(this.directory, RETENTION_MS)
    this.#intake = this.#newIntake()
  }

  /** The files as they are at this moment. */
  files(): Files {
    const files = new Map<string, Buffer>()
    for (const name of readdirSync(this.directory).toSorted())
      if (name.startsWith('journal.db') && !name.endsWith('-shm'))
        files.set(name, readFileSync(join(this.directory, name)))
      else if (name.startsWith('intake')) files.set(name, readFileSync(join(this.directory, name)))
    return files
  }

  #end(): void {
    this.#opened.database.close()
    this.#opened.lock.release()
    this.#intake.close()
  }

  #newIntake(): Intake {
    const salt = Buffer.from(Array.from({ length: 8 }, () => this.#chance.below(256)))
    const { token } = this.#opened
    const intake = new Intake(this.directory, token, salt.toString('hex'), INTAKE_BYTES)
    removeIntake(this.directory, token)
    return intake
  }

  #keep(group: Group): void {
    const { bytes, number } = group
    if (!this.#intake.hasRoom(bytes.length)) {
      if (this.#opened.filing.filed < this.#intake.lastOfOther) this.settle()
      this.#intake.turn()
    }
    this.#intake.write(bytes)
    this.#intake.flush(number, bytes.length)
    this.#opened.filing.lay(group)
    const { reading } = this.#opened.filing
    for (const key of this.names.answers.slice(this.#answered))
      this.#note(keyOf.answer(key), String(answerOf(reading, key)))
    this.#answered = this.names.answers.length
  }

  #batch(): Batch {
    const chance = this.#chance
    const streams = some(chance, STREAMS, 2).map((stream) => {
      const version = this.#versions.get(stream) ?? 0
      const events = Array.from({ length: 1 + chance.below(3) }, () => this.#event())
      this.#versions.set(stream, version + events.length)
      this.#position += events.length
      const known = version === 0 ? 'none' : version
      const expected: Expected = chance.below(3) === 0 ? 'any' : known
      return { stream, expected, events }
    })
    const records = some(chance, COLLECTIONS, 2).flatMap((collection) =>
      some(chance, this.names.keys, 6).map((key) => this.#record(collection, key)),
    )
    const ledger = Array.from({ length: chance.below(3) }, () => {
      const entry = {
        key: `request ${this.names.answers.length}`,
        fingerprint: `{"n":${this.names.answers.length}}`,
        response: this.#text(),
      }
      this.names.answers.push(entry.key)
      return entry
    })
    const snapshots = streams.slice(0, chance.below(2)).map(({ stream }) => {
      const seq = this.#versions.get(stream)!
      const fold = chance.pick(FOLDS)
      const snapshot = { stream, seq, fold, topAt: 7, topSeq: seq, state: this.#text() }
      this.#note(keyOf.snapshot(stream, fold, seq), JSON.stringify(snapshot))
      return snapshot
    })
    return { streams, records, ledger, snapshots }
  }

  #event(): NewEvent {
    const chance = this.#chance
    return {
      type: chance.pick(['opened', 'moved', 'closed']),
      version: 1 + chance.below(3),
      at: 1_700_000_000_000 + chance.below(1_000_000),
      data: this.#text(),
      ...(chance.below(3) === 0 && { effectiveAt: chance.below(1_000) }),
      ...(chance.below(3) === 0 && { requestId: 'r', actor: 'é', trace: 't' }),
    }
  }

  #record(collection: string, key: string): RecordWrite {
    if (this.#chance.below(4) === 0) return { collection, key, deleted: true }
    const value = this.#text()
    this.#note(keyOf.record(collection, key), value)
    return { collection, key, value }
  }

  /** Mostly short, at times longer than a page. */
  #text(): string {
    const length = this.#chance.below(30) === 0 ? 3_000 + this.#chance.below(7_000) : 400
    return `${this.#chance.below(1_000_000)} ${'ä-'.repeat(this.#chance.below(length) / 3)}`
  }

  #note(key: string, value: string | number): void {
    const values = this.ever.get(key) ?? new Set()
    this.ever.set(key, values.add(String(value)))
  }
}

function beginWith(directory: string, pageBytes: number): void {
  const database = new DatabaseSync(join(directory, TABLES_FILE))
  database.exec(`pragma page_size = ${pageBytes}; vacuum`)
  database.close()
}

function some<T>(chance: Random, from: readonly T[], most: number): T[] {
  const picked = Array.from({ length: chance.below(most + 1) }, () => chance.pick(from))
  return [...new Set(picked)]
}
