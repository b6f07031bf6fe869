/**
 * Batches at random, of the kind that finds mistakes.
 *
 * Few names, so that batches meet each other; odd ones, so that order and prefixes are tried where
 * they go wrong. Most batches are right and some are not, in every way a batch can be refused. Each
 * puts a record under a key of its own, its mark: whether it took effect can always be read.
 */
import {
  fingerprintOf,
  type Batch,
  type Expected,
  type LedgerEntry,
  type NewEvent,
  type RecordWrite,
  type SnapshotWrite,
} from '../journal/index.ts'
import type { Random } from '../std/index.ts'
import type { JournalModel } from './journal-model.ts'

/** The order of UTF-16 differs from that of UTF-8 for the last two. */
export const ODD_NAMES: readonly string[] = [
  'a',
  'a/1',
  'a/10',
  'A',
  '%',
  '_',
  'a.*',
  'a b',
  "it's",
  '\u{1}',
  '\u{e9}',
  '\u{10400}',
  '\u{ff5e}',
]
export const COLLECTIONS: readonly string[] = ['things', 'th', '%']
export const FOLDS: readonly string[] = ['f1', 'f2']
export const FENCE = 'writer'
export const MARKS = 'marks'

export type Marked = Readonly<{ batch: Batch; mark: string }>

export class JournalWriter {
  readonly #random: Random
  readonly #model: JournalModel
  readonly #asked: { key: string; fingerprint: string }[] = []
  #marks = 0

  constructor(random: Random, model: JournalModel) {
    this.#random = random
    this.#model = model
  }

  /** Every request id that was ever used. */
  get keys(): string[] {
    return [...new Set(this.#asked.map(({ key }) => key))]
  }

  batch(): Marked {
    const mark = `m${++this.#marks}`
    const streams = this.#some(ODD_NAMES, 3).map((stream) => ({
      stream,
      expected: this.#expected(stream),
      events: Array.from({ length: this.#random.below(4) }, () => this.#event()),
    }))
    const records = this.#some(ODD_NAMES, 3).map((key) => this.#record(key))
    const batch = {
      ...(this.#chance(0.7) && { streams }),
      records: [...records, { collection: MARKS, key: mark, value: '' }],
      ...(this.#chance(0.5) && { ledger: this.#ledger() }),
      ...(this.#chance(0.3) && { snapshots: [this.#snapshot()] }),
      ...(this.#chance(0.1) && { fence: { name: FENCE, token: this.#token() } }),
    }
    return { batch, mark }
  }

  #event(): NewEvent {
    const at = 1_000 + this.#random.below(1_000)
    return {
      type: this.#random.pick(['opened', 'changed']),
      version: 1 + this.#random.below(3),
      at,
      data: this.#text(),
      ...(this.#chance(0.2) && { effectiveAt: at - this.#random.below(5_000) }),
      ...(this.#chance(0.3) && { requestId: `r${this.#random.below(100)}` }),
      ...(this.#chance(0.1) && { actor: 'somebody' }),
      ...(this.#chance(0.1) && { trace: 't-1' }),
    }
  }

  #expected(stream: string): Expected {
    const version = this.#model.version(stream)
    const draw = this.#random.below(10)
    if (draw < 5) return version
    if (draw < 8) return 'any'
    return draw === 8 ? 'none' : version + this.#random.pick([1, 2])
  }

  #record(key: string): RecordWrite {
    const collection = this.#random.pick(COLLECTIONS)
    return this.#chance(0.3)
      ? { collection, key, deleted: true }
      : { collection, key, value: this.#text() }
  }

  #ledger(): LedgerEntry[] {
    const entries = new Map<string, LedgerEntry>()
    for (let n = 0; n <= this.#random.below(3); n++) {
      const again = this.#asked.length > 0 && this.#chance(0.2) && this.#random.pick(this.#asked)
      const key = again === false ? `k${this.#asked.length}` : again.key
      const fields = { of: this.#random.below(1_000), what: this.#text() }
      const isSame = again !== false && this.#chance(0.6)
      const fingerprint = isSame ? again.fingerprint : fingerprintOf(fields)
      entries.set(key, { key, fingerprint, response: this.#text() })
      if (again === false) this.#asked.push({ key, fingerprint })
    }
    return [...entries.values()]
  }

  #snapshot(): SnapshotWrite {
    const known = this.#model.streams('').map(({ stream }) => stream)
    const stream = this.#random.pick(known.length > 0 ? known : ODD_NAMES)
    const fold = this.#random.pick(FOLDS)
    const version = this.#model.version(stream)
    if (this.#chance(0.2))
      return { stream, seq: 1 + this.#random.below(version + 1), fold, dropped: true }
    const seq = 1 + this.#random.below(version + (this.#chance(0.1) ? 5 : 1))
    return {
      stream,
      seq,
      topAt: this.#random.below(1_000),
      topSeq: 1 + this.#random.below(seq),
      fold,
      state: this.#text(),
    }
  }

  #token(): number {
    return Math.max(1, (this.#model.tokens.get(FENCE) ?? 0) - (this.#chance(0.3) ? 1 : 0))
  }

  #text(): string {
    const texts = ['', '{"a":1}', '\u{1f984} "\n\\', '\0', 'x'.repeat(this.#random.below(200))]
    return this.#random.pick(texts)
  }

  #some<T>(from: readonly T[], most: number): T[] {
    const count = this.#random.below(most + 1)
    return [...new Set(Array.from({ length: count }, () => this.#random.pick(from)))]
  }

  #chance(share: number): boolean {
    return this.#random.next() < share
  }
}
