/** What readers of a journal are given, item by item, so that one refusal hides no other item. */
import { Accident } from '../../../src/std/index.ts'
import type { Reading } from '../../../src/journal/sqlite/reading.ts'
import type { Tables } from '../../../src/journal/sqlite/tables.ts'

export type Names = Readonly<{
  streams: readonly string[]
  collections: readonly string[]
  fences: readonly string[]
  folds: readonly string[]
  keys: readonly string[]
  answers: string[]
}>

/** By the key of an item: what it is, `undefined` where there is none, or that it was refused. */
export type Contents = ReadonlyMap<string, string | typeof REFUSED | undefined>

export const REFUSED: unique symbol = Symbol('refused')

export const keyOf = {
  event: (position: number): string => `event ${position}`,
  stream: (name: string): string => `stream ${name}`,
  head: (name: string): string => `head ${name}`,
  record: (collection: string, key: string): string => `record ${collection}/${key}`,
  records: (collection: string): string => `records ${collection}`,
  answer: (key: string): string => `answer ${key}`,
  snapshot: (stream: string, fold: string, seq: number): string =>
    `snapshot ${stream}/${fold}/${seq}`,
  snapshots: (stream: string, fold: string): string => `snapshots ${stream}/${fold}`,
  fence: (name: string): string => `fence ${name}`,
}

const ALL = 10_000
const RETENTION_MS = 1_000_000_000

export function contentsOf(
  { reading, tables }: Readonly<{ reading: Reading; tables: Tables }>,
  names: Names,
  positions: number,
): Contents {
  const contents = new Map<string, string | typeof REFUSED | undefined>()
  for (let position = 1; position <= positions; position++)
    read(keyOf.event(position), () => json(reading.all(position - 1, 1)[0]))
  read('events', () => json(reading.all(0, ALL).map((event) => event.position)))
  for (const stream of names.streams) {
    read(keyOf.head(stream), () => String(reading.version(stream)))
    read(keyOf.stream(stream), () => json(reading.stream(stream, 0, ALL).map((e) => e.position)))
    for (const fold of names.folds) {
      read(keyOf.snapshots(stream, fold), () =>
        json(
          reading.snapshots(stream, fold, ALL).map((snapshot) => {
            contents.set(keyOf.snapshot(stream, fold, snapshot.seq), json(snapshot))
            return snapshot.seq
          }),
        ),
      )
    }
  }
  read('heads', () => json(reading.streams('', undefined, ALL)))
  for (const collection of names.collections) {
    for (const key of names.keys)
      read(keyOf.record(collection, key), () => reading.getRecords(collection, [key])[0]?.value)
    read(keyOf.records(collection), () => json(reading.records(collection, '', undefined, ALL)))
  }
  for (const key of names.answers)
    read(keyOf.answer(key), () => json(reading.lookup(key, 0, RETENTION_MS)))
  for (const fence of names.fences) read(keyOf.fence(fence), () => String(tables.token(fence)))
  return contents

  function read(key: string, what: () => string | undefined): void {
    contents.set(key, refusable(what))
  }
}

/** Only `damaged` is a refusal; anything else that is thrown is a bug. */
export function refusable<T>(what: () => T): T | typeof REFUSED {
  try {
    return what()
  } catch (error) {
    if (error instanceof Accident && error.code === 'damaged') return REFUSED
    throw error
  }
}

function json(value: unknown): string {
  return JSON.stringify(value)
}
