/**
 * What a journal must hold after some batches, kept in the plainest way there is.
 *
 * It shares no code with the engines: where they agree on a mistake, this one does not.
 */
import assert from 'node:assert/strict'

import type {
  Batch,
  CommitResult,
  Snapshot,
  StoredEvent,
  StoredRecord,
  StreamHead,
} from '../../src/journal/index.ts'

type Answer = Readonly<{ fingerprint: string; response: string; position: number }>

export class Model {
  readonly events: StoredEvent[] = []
  readonly #streams = new Map<string, StoredEvent[]>()
  readonly #records = new Map<string, Map<string, string>>()
  readonly #snapshots = new Map<string, Map<number, Snapshot>>()
  readonly answers: Map<string, Answer> = new Map()
  readonly tokens: Map<string, number> = new Map()

  version(stream: string): number {
    return this.#streams.get(stream)?.length ?? 0
  }

  readStream(stream: string): readonly StoredEvent[] {
    return this.#streams.get(stream) ?? []
  }

  heads(): StreamHead[] {
    return [...this.#streams]
      .map(([stream, events]) => ({ stream, version: events.length }))
      .toSorted((a, b) => Buffer.compare(Buffer.from(a.stream), Buffer.from(b.stream)))
  }

  collections(): string[] {
    return [...this.#records.keys()]
  }

  records(collection: string): StoredRecord[] {
    return [...(this.#records.get(collection) ?? [])]
      .map(([key, value]) => ({ key, value }))
      .toSorted((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)))
  }

  snapshots(stream: string): Snapshot[] {
    return [...(this.#snapshots.get(stream)?.values() ?? [])].toSorted((a, b) => b.seq - a.seq)
  }

  /** What the batch is to be answered; `enter` then makes it so. */
  judge({ fence, ledger = [], streams = [], snapshots = [] }: Batch): CommitResult {
    if (fence !== undefined) {
      const current = this.tokens.get(fence.name) ?? 0
      if (fence.token !== current) return { type: 'fenced', ...fence, current }
    }
    for (const { key, fingerprint } of ledger) {
      const answer = this.answers.get(key)
      if (answer === undefined) continue
      const { response, position } = answer
      if (answer.fingerprint === fingerprint) return { type: 'duplicate', key, response, position }
      return { type: 'mismatch', key, fields: ['asked'] }
    }
    for (const { stream, expected } of streams) {
      const actual = this.version(stream)
      const wanted = expected === 'none' ? 0 : expected
      if (wanted !== 'any' && wanted !== actual)
        return { type: 'conflict', stream, expected, actual }
    }
    for (const { stream, seq } of snapshots) {
      const added = streams.find((append) => append.stream === stream)?.events.length ?? 0
      const actual = this.version(stream) + added
      if (seq > actual) return { type: 'conflict', stream, expected: seq, actual }
    }
    const position = streams.reduce((sum, { events }) => sum + events.length, this.events.length)
    const versions = streams.map(({ stream, events }) => this.version(stream) + events.length)
    return { type: 'committed', position, versions }
  }

  enter({ streams = [], records = [], ledger = [], snapshots = [] }: Batch): void {
    const batch = this.events.length + 1
    for (const { stream, events } of streams) {
      const history = at(this.#streams, stream, () => [])
      for (const event of events) {
        const place = { stream, seq: history.length + 1, position: this.events.length + 1, batch }
        history.push({ ...event, ...place })
        this.events.push(history.at(-1)!)
      }
    }
    for (const write of records) {
      const collection = at(this.#records, write.collection, () => new Map<string, string>())
      if ('value' in write) collection.set(write.key, write.value)
      else collection.delete(write.key)
    }
    for (const { key, fingerprint, response } of ledger)
      this.answers.set(key, { fingerprint, response, position: this.events.length })
    for (const snapshot of snapshots) {
      const kept = at(this.#snapshots, snapshot.stream, () => new Map<number, Snapshot>())
      assert.ok(!('dropped' in snapshot), 'the load drops no snapshot')
      kept.set(snapshot.seq, snapshot)
    }
  }
}

function at<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) map.set(key, (value = make()))
  return value
}
