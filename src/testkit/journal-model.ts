/**
 * What a journal must answer, said as plainly as it can be: lists, and a look through all of them.
 *
 * It shares nothing with the engines, not even the order of texts, so that what it agrees with them on
 * is not the same mistake twice.
 */
import type {
  Batch,
  CommitResult,
  Fence,
  LedgerEntry,
  Snapshot,
  StoredEvent,
  StreamAppend,
} from '../journal/index.ts'

export type ModelAnswer = LedgerEntry & Readonly<{ position: number }>

export class JournalModel {
  events: StoredEvent[] = []
  /** By collection, then by key. */
  readonly records: Map<string, Map<string, string>> = new Map()
  answers: Map<string, ModelAnswer> = new Map()
  snapshots: Snapshot[] = []
  readonly tokens: Map<string, number> = new Map()

  commit(batch: Batch): CommitResult {
    const refusal =
      this.#fenced(batch.fence) ?? this.#answered(batch.ledger) ?? this.#conflict(batch)
    if (refusal !== undefined) return refusal
    const first = this.events.length + 1
    for (const append of batch.streams ?? []) this.#append(append, first)
    for (const write of batch.records ?? []) {
      const records = this.records.get(write.collection) ?? new Map<string, string>()
      if ('deleted' in write) records.delete(write.key)
      else records.set(write.key, write.value)
      this.records.set(write.collection, records)
    }
    for (const entry of batch.ledger ?? [])
      this.answers.set(entry.key, { ...entry, position: this.events.length })
    for (const write of batch.snapshots ?? []) {
      this.snapshots = this.snapshots.filter(
        ({ stream, seq, fold }) =>
          stream !== write.stream || seq !== write.seq || fold !== write.fold,
      )
      if (!('dropped' in write)) this.snapshots.push(write)
    }
    return {
      type: 'committed',
      position: this.events.length,
      versions: (batch.streams ?? []).map(({ stream }) => this.version(stream)),
    }
  }

  stream(name: string): StoredEvent[] {
    return this.events.filter(({ stream }) => stream === name)
  }

  version(stream: string): number {
    return this.stream(stream).length
  }

  streams(prefix: string): { stream: string; version: number }[] {
    const names = new Set(this.events.map(({ stream }) => stream))
    return [...names]
      .filter((name) => name.startsWith(prefix))
      .toSorted(byBytes)
      .map((stream) => ({ stream, version: this.version(stream) }))
  }

  recordsOf(collection: string, prefix: string): { key: string; value: string }[] {
    return [...(this.records.get(collection) ?? [])]
      .filter(([key]) => key.startsWith(prefix))
      .toSorted(([a], [b]) => byBytes(a, b))
      .map(([key, value]) => ({ key, value }))
  }

  snapshotsOf(stream: string, fold: string): Snapshot[] {
    return this.snapshots
      .filter((snapshot) => snapshot.stream === stream && snapshot.fold === fold)
      .toSorted((a, b) => b.seq - a.seq)
  }

  #fenced(fence: Fence | undefined): CommitResult | undefined {
    if (fence === undefined) return undefined
    const current = this.tokens.get(fence.name) ?? 0
    return fence.token === current ? undefined : { type: 'fenced', ...fence, current }
  }

  #answered(ledger: readonly LedgerEntry[] = []): CommitResult | undefined {
    const known = ledger.find(({ key }) => this.answers.has(key))
    if (known === undefined) return undefined
    const { key, fingerprint, response, position } = this.answers.get(known.key)!
    if (fingerprint === known.fingerprint) return { type: 'duplicate', key, response, position }
    return { type: 'mismatch', key, fields: differing(fingerprint, known.fingerprint) }
  }

  #conflict({ streams = [], snapshots = [] }: Batch): CommitResult | undefined {
    for (const { stream, expected } of streams) {
      const actual = this.version(stream)
      const isRight = expected === 'any' || (expected === 'none' ? 0 : expected) === actual
      if (!isRight) return { type: 'conflict', stream, expected, actual }
    }
    for (const { stream, seq, ...rest } of snapshots) {
      const appended = streams.find((append) => append.stream === stream)?.events.length ?? 0
      const actual = this.version(stream) + appended
      if (!('dropped' in rest) && seq > actual)
        return { type: 'conflict', stream, expected: seq, actual }
    }
    return undefined
  }

  #append({ stream, events }: StreamAppend, batch: number): void {
    for (const event of events) {
      const seq = this.version(stream) + 1
      this.events.push({ ...event, stream, seq, position: this.events.length + 1, batch })
    }
  }
}

export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function differing(before: string, after: string): string[] {
  const [a, b]: Record<string, unknown>[] = [JSON.parse(before), JSON.parse(after)]
  return Object.keys({ ...a, ...b })
    .filter((name) => a![name] !== b![name])
    .toSorted()
}
