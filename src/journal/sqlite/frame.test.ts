import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Batch, NewEvent, RecordWrite, SnapshotWrite, StreamAppend } from '../journal.ts'
import { checkBatch } from '../checking.ts'
import { FrameReader, type Sink } from './frame-reader.ts'
import { FrameWriter, GROUP_CRC_BYTES, GROUP_HEADER_BYTES, setToken } from './frame.ts'

const text = fc.string({ unit: 'binary', maxLength: 40 })
const name = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 40 })
  .filter((value) => !value.includes('\0'))
const whole = fc.maxSafeInteger()
const ordinal = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })

const event: fc.Arbitrary<NewEvent> = fc.record(
  {
    type: name,
    version: ordinal,
    at: whole,
    data: text,
    effectiveAt: whole,
    requestId: name,
    actor: name,
    trace: name,
  },
  { requiredKeys: ['type', 'version', 'at', 'data'], noNullPrototype: true },
)
const expected = fc.oneof(
  fc.constantFrom('any' as const, 'none' as const),
  fc.nat(Number.MAX_SAFE_INTEGER),
)
const append: fc.Arbitrary<StreamAppend> = fc.record(
  { stream: name, expected, events: fc.array(event, { maxLength: 4 }) },
  { noNullPrototype: true },
)
const record: fc.Arbitrary<RecordWrite> = fc.oneof(
  fc.record({ collection: name, key: name, value: text }, { noNullPrototype: true }),
  fc.record(
    { collection: name, key: name, deleted: fc.constant(true as const) },
    { noNullPrototype: true },
  ),
)
const snapshot: fc.Arbitrary<SnapshotWrite> = fc.oneof(
  fc
    .record({ stream: name, seq: ordinal, topAt: whole, fold: name, state: text })
    .map((write) => ({ ...write, topSeq: 1 })),
  fc.record(
    { stream: name, seq: ordinal, fold: name, dropped: fc.constant(true as const) },
    { noNullPrototype: true },
  ),
)
const batch: fc.Arbitrary<Batch> = fc.record(
  {
    streams: fc.uniqueArray(append, { maxLength: 4, selector: ({ stream }) => stream }),
    records: fc.uniqueArray(record, {
      maxLength: 4,
      selector: ({ collection, key }) => `${collection}\0${key}`,
    }),
    ledger: fc.uniqueArray(
      fc.record({ key: name, fingerprint: name, response: text }, { noNullPrototype: true }),
      { maxLength: 4, selector: ({ key }) => key },
    ),
    snapshots: fc.uniqueArray(snapshot, {
      maxLength: 4,
      selector: ({ stream, seq, fold }) => `${stream}\0${seq}\0${fold}`,
    }),
    fence: fc.record({ name, token: ordinal }, { noNullPrototype: true }),
  },
  { requiredKeys: [], noNullPrototype: true },
)

/** What came of a batch, part by part. */
class Notes implements Sink {
  readonly parts: unknown[] = []

  event(...[stream, { data, ...rest }]: Parameters<Sink['event']>): void {
    this.parts.push(['event', stream, { ...rest, data: data.toString() }])
  }

  record(collection: string, key: string, value: Buffer | null): void {
    this.parts.push(['record', collection, key, value?.toString()])
  }

  answer(key: string, fingerprint: string, response: Buffer): void {
    this.parts.push(['answer', key, fingerprint, response.toString()])
  }

  snapshot(...[stream, seq, fold, kept]: Parameters<Sink['snapshot']>): void {
    const state = kept && { ...kept, state: kept.state.toString() }
    this.parts.push(['snapshot', stream, seq, fold, state])
  }

  fence(fence: string, token: number): void {
    this.parts.push(['fence', fence, token])
  }
}

function partsOf({ streams = [], records = [], ledger = [], snapshots = [] }: Batch): unknown[] {
  return [
    ...streams.flatMap(({ stream, events }) =>
      events.map(({ requestId, actor, trace, effectiveAt, ...rest }) => {
        const about = JSON.stringify({ requestId, actor, trace })
        return [
          'event',
          stream,
          { ...rest, effective: effectiveAt ?? null, about: about === '{}' ? null : about },
        ]
      }),
    ),
    ...snapshots.map((write) => [
      'snapshot',
      write.stream,
      write.seq,
      write.fold,
      'dropped' in write ? null : { topAt: write.topAt, topSeq: write.topSeq, state: write.state },
    ]),
    ...records.map((write) => [
      'record',
      write.collection,
      write.key,
      'value' in write ? write.value : undefined,
    ]),
    ...ledger.map(({ key, fingerprint, response }) => ['answer', key, fingerprint, response]),
  ]
}

/** What a judge is shown of it. */
function briefOf({ streams, ledger, snapshots, fence }: Batch): Batch {
  return {
    ...(fence && { fence }),
    ...(ledger?.length && { ledger }),
    ...(streams?.length && {
      streams: streams.map((one) => ({
        ...one,
        events: new Array<NewEvent>(one.events.length),
      })),
    }),
    ...(snapshots?.length && {
      snapshots: snapshots.map((write) => ('dropped' in write ? write : { ...write, state: '' })),
    }),
  }
}

function readerOf(buffer: ArrayBuffer): FrameReader {
  const end = buffer.byteLength - GROUP_CRC_BYTES
  return new FrameReader(Buffer.from(buffer), GROUP_HEADER_BYTES, end)
}

describe('batches as bytes', () => {
  test('come back as they were, whatever is in them', () => {
    fc.assert(
      fc.property(fc.array(batch, { maxLength: 5 }), (batches) => {
        const writer = new FrameWriter()
        for (const one of batches) writer.batch(one, checkBatch(one))
        assert.equal(writer.count, batches.length)
        const bytes = writer.cut()

        const notes = new Notes()
        const reader = readerOf(bytes)
        while (!reader.isDone) reader.entry(notes)
        assert.deepEqual(notes.parts, batches.flatMap(partsOf))

        const briefly = readerOf(bytes)
        for (const one of batches) {
          const brief = briefly.brief()
          assert.ok(brief.type === 'batch')
          assert.deepEqual(brief.batch, briefOf(one))
          const events = (one.streams ?? []).flatMap((appended) => appended.events).length
          assert.equal(brief.events, events)
          assert.equal(brief.end, briefly.at)
        }
        assert.ok(briefly.isDone)
      }),
      { numRuns: 300 },
    )
  })

  test('of more than one can hold are given room', () => {
    const writer = new FrameWriter()
    const value = '€'.repeat(100_000)
    const records = [{ collection: 'c', key: 'k', value }]
    writer.batch({ records }, checkBatch({ records }))
    writer.batch({ records }, checkBatch({ records }))
    assert.ok(writer.bytes > 600_000)

    const notes = new Notes()
    const reader = readerOf(writer.cut())
    while (!reader.isDone) reader.entry(notes)

    assert.deepEqual(notes.parts, partsOf({ records: [...records, ...records] }))
    assert.deepEqual([writer.count, writer.bytes], [0, 0])
  })

  test('give back what a large one has needed', () => {
    const { gc } = globalThis
    assert.ok(gc, 'tests run with --expose-gc')
    const writer = new FrameWriter()
    const records = [{ collection: 'c', key: 'k', value: 'x'.repeat(4_000_000) }]
    for (let n = 0; n < 3; n++) gc()
    const before = process.memoryUsage().arrayBuffers

    writer.batch({ records }, checkBatch({ records }))
    assert.ok(writer.cut().byteLength > 4_000_000)

    for (let n = 0; n < 3; n++) gc()
    assert.ok(process.memoryUsage().arrayBuffers - before < 1_000_000)
    assert.ok(writer.batch({}, 0) > 0) // and goes on
  })

  test('have no zero with a sign, which the tables would not give back', () => {
    const writer = new FrameWriter()
    const happened = { type: 'Happened', version: 1, at: -0, effectiveAt: -0, data: '' }
    const one: Batch = {
      streams: [{ stream: 's', expected: 'any', events: [happened] }],
      snapshots: [{ stream: 's', seq: 1, fold: 'f', topAt: -0, topSeq: 1, state: '' }],
    }
    writer.batch(one, checkBatch(one))

    const notes = new Notes()
    readerOf(writer.cut()).entry(notes)

    assert.deepEqual(notes.parts, [
      ['event', 's', { type: 'Happened', version: 1, at: 0, effective: 0, about: null, data: '' }],
      ['snapshot', 's', 1, 'f', { topAt: 0, topSeq: 1, state: '' }],
    ])
  })

  test('have the token of a fence filled in by the judge', () => {
    const writer = new FrameWriter()
    writer.batch({}, 0)
    writer.take('schlüssel')
    const bytes = Buffer.from(writer.cut())
    const reader = readerOf(bytes.buffer)
    reader.brief()
    const start = reader.at
    const brief = reader.brief()
    assert.ok(brief.type === 'take')
    assert.equal(brief.name, 'schlüssel')

    setToken(bytes, start, 7)

    const notes = new Notes()
    const again = readerOf(bytes.buffer)
    while (!again.isDone) again.entry(notes)
    assert.deepEqual(notes.parts, [['fence', 'schlüssel', 7]])
  })
})
