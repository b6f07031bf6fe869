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
  name: (stream: string): string => `name ${stream}`,
  collection: (name: string): string => `collection ${name}`,
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

/** All at once where that is not refused, one by one otherwise. */
export function contentsOf(
  { reading, tables }: Readonly<{ reading: Reading; tables: Tables }>,
  names: Names,
  positions: number,
): Contents {
  const contents = new Map<string, string | typeof REFUSED | undefined>()
  const events = read('events', () => reading.all(0, ALL))
  for (let position = 1; position <= positions; position++)
    if (events === REFUSED) read(keyOf.event(position), () => reading.all(position - 1, 1)[0])
    else put(keyOf.event(position), events[position - 1])
  for (const stream of names.streams) {
    read(keyOf.head(stream), () => reading.version(stream))
    read(keyOf.stream(stream), () => reading.stream(stream, 0, ALL).map((event) => event.position))
    for (const fold of names.folds) {
      const snapshots = read(keyOf.snapshots(stream, fold), () =>
        reading.snapshots(stream, fold, ALL),
      )
      for (const snapshot of snapshots === REFUSED ? [] : snapshots)
        put(keyOf.snapshot(stream, fold, snapshot.seq), snapshot)
    }
  }
  read('heads', () => reading.streams('', undefined, ALL))
  for (const collection of names.collections) {
    read(keyOf.records(collection), () => reading.records(collection, '', undefined, ALL))
    const found = refusable(() => reading.getRecords(collection, names.keys))
    const records = new Map(found === REFUSED ? [] : found.map(({ key, value }) => [key, value]))
    for (const key of names.keys)
      if (found !== REFUSED) put(keyOf.record(collection, key), records.get(key))
      else
        read(keyOf.record(collection, key), () => reading.getRecords(collection, [key])[0]?.value)
  }
  for (const key of names.answers) read(keyOf.answer(key), () => answerOf(reading, key))
  for (const fence of names.fences) read(keyOf.fence(fence), () => tables.token(fence))
  return contents

  function read<T>(key: string, what: () => T): T | typeof REFUSED {
    const value = refusable(what)
    put(key, value)
    return value
  }

  function put(key: string, value: unknown): void {
    contents.set(key, value === REFUSED ? REFUSED : json(value))
  }
}

/** Whatever its age, as long as it is there. */
export function answerOf(reading: Reading, key: string): string | undefined {
  return json(reading.lookup(key, 0, Infinity))
}

/** What the engine throws, or what its threads would turn into a refusal; anything else is a bug. */
export function refusable<T>(what: () => T): T | typeof REFUSED {
  try {
    return what()
  } catch (error) {
    if (error instanceof Accident || isReadError(error)) return REFUSED
    throw error
  }
}

/** SQLite finds the file damaged, or a number in it larger than any can be. */
function isReadError(error: unknown): boolean {
  if (!(error instanceof Error && 'code' in error)) return false
  return error.code === 'ERR_SQLITE_ERROR' || error.code === 'ERR_OUT_OF_RANGE'
}

function json(value: unknown): string | undefined {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
