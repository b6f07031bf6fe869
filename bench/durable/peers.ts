/**
 * Other embedded stores with records of the same size: one transaction per group, as large as ours
 * was, flushed before the next. They run where they are called, keep no history and check nothing,
 * so their figures are for orientation.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Samples } from './effort.ts'
import { keyOf, payload } from './items.ts'

/** Puts or deletes the records from `first` up to before `end`, as one durable transaction. */
type Write = (first: number, end: number) => void | PromiseLike<void>

interface Store extends AsyncDisposable {
  put: Write
  remove: Write
}

/** How many commits there are in a group of each figure. */
export type PeerWork = Readonly<{ roundMs: number; append: number; put: number; delete: number }>

// In variables, since the compiler does not know what is installed for the benchmarks alone.
const LMDB: string = 'lmdb'
const CLASSIC_LEVEL: string = 'classic-level'

const STORES: Readonly<Record<string, (directory: string) => Promise<Store>>> = {
  'node-sqlite': nodeSqlite,
  lmdb,
  'classic-level': classicLevel,
}

export const STORE_NAMES: readonly string[] = Object.keys(STORES)

/** The rate of each figure that a store can have. */
export async function peer(name: string, directory: string, work: PeerWork): Promise<Samples> {
  const open = STORES[name]
  if (open === undefined) throw new Error(`no such store: ${name}`)
  await using store = await open(directory)
  let last = 0
  let first = 0
  const until = async (write: () => number | Promise<number>): Promise<number> => {
    const start = performance.now()
    let items = 0
    while (performance.now() - start < work.roundMs) items += await write()
    return (items * 1_000) / (performance.now() - start)
  }
  const putting = (group: number) => async (): Promise<number> => {
    await store.put(last, last + group)
    last += group
    return group
  }
  const deleting = async (): Promise<number> => {
    const end = Math.min(first + work.delete, last)
    await store.remove(first, end)
    const items = end - first
    first = end
    return items
  }
  await until(putting(work.put))
  const put = await until(putting(work.put))
  const append = await until(putting(work.append))
  const one = await until(putting(1))
  return { put: [put], append: [append], one: [one], delete: [await until(deleting)] }
}

/** Rows in a table, in the journal mode and with the flushes that ours has. */
async function nodeSqlite(directory: string): Promise<Store> {
  const db = new DatabaseSync(join(directory, 'peer.db'))
  db.exec('pragma journal_mode = wal; pragma synchronous = full')
  db.exec('create table records (key text primary key, value text not null) without rowid')
  const insert = db.prepare('insert into records values (?, ?)')
  const remove = db.prepare('delete from records where key = ?')
  const transaction = (each: (index: number) => void): Write => {
    return (first, end) => {
      db.exec('begin')
      for (let index = first; index < end; index++) each(index)
      db.exec('commit')
    }
  }
  return {
    put: transaction((index) => void insert.run(keyOf(index), payload(index))),
    remove: transaction((index) => void remove.run(keyOf(index))),
    [Symbol.asyncDispose]: async () => db.close(),
  }
}

async function lmdb(directory: string): Promise<Store> {
  const { open } = await import(LMDB)
  const db = open({ path: join(directory, 'lmdb'), overlappingSync: false, encoding: 'string' })
  const transaction = (each: (index: number) => void): Write => {
    return (first, end) =>
      db.transactionSync(() => {
        for (let index = first; index < end; index++) each(index)
      })
  }
  return {
    put: transaction((index) => void db.putSync(keyOf(index), payload(index))),
    remove: transaction((index) => void db.removeSync(keyOf(index))),
    [Symbol.asyncDispose]: () => db.close(),
  }
}

async function classicLevel(directory: string): Promise<Store> {
  const { ClassicLevel } = await import(CLASSIC_LEVEL)
  const db = new ClassicLevel(join(directory, 'level'))
  await db.open()
  return {
    put: (first, end) =>
      db.batch(
        range(first, end).map((index) => ({
          type: 'put',
          key: keyOf(index),
          value: payload(index),
        })),
        { sync: true },
      ),
    remove: (first, end) =>
      db.batch(
        range(first, end).map((index) => ({ type: 'del', key: keyOf(index) })),
        { sync: true },
      ),
    [Symbol.asyncDispose]: () => db.close(),
  }
}

function range(first: number, end: number): readonly number[] {
  return Array.from({ length: end - first }, (_, offset) => first + offset)
}
