/**
 * The workloads of the journal, each beside the raw log in the same process, taking turns. The limit
 * of a round gets the boundaries of that very round: as many bytes of payload in as many groups as
 * the journal said it made.
 */
import type { Batch, Journal } from '../../src/journal/index.ts'
import type { Effort, Samples } from './effort.ts'
import { COLLECTION, ITEM_BYTES, keyOf, payload } from './items.ts'
import { drive, type Load, quiet, sized, untilAnswered, untilQuiet } from './load.ts'
import { committed, openJournal } from './ours.ts'
import { RawLog, RawLogThread } from './raw-log.ts'

const WRITERS = 64
/** Commits in flight where they are pipelined. */
const PIPELINED = 4_096
/** Records that are there before the first is deleted: what is deleted was filed long ago. */
const STANDING = 100_000

/** 64 writers, each with a stream of its own; a commit has one event, and each waits for its own. */
export async function append(directory: string, effort: Effort): Promise<Samples> {
  await using journal = await openJournal(directory)
  using raw = new RawLog(directory)
  const versions = new Array<number>(WRITERS).fill(0)
  const load = (count: number): Load<Awaited<ReturnType<Journal['commit']>>> => ({
    count,
    inFlight: WRITERS,
    issue: (_index, lane) => journal.commit(event(`writer-${lane}`, versions[lane]!++)),
    good: committed,
  })
  const run = (count: number): Promise<number> => untilQuiet(() => drive(load(count)))
  const count = await sized(effort.roundMs, run)
  const samples = besideRaw(journal, raw)
  for (let round = 0; round < effort.rounds; round++) await samples.take('append', count, run)
  return samples.all
}

/**
 * Thousands of commits in flight, each puts one record, in order of their keys; then each deletes
 * one, the oldest first. So all that is put stays for a while and is filed, and all that is deleted
 * had been filed.
 */
export async function records(directory: string, effort: Effort): Promise<Samples> {
  await using journal = await openJournal(directory)
  using raw = new RawLog(directory)
  let last = 0
  let first = 0
  const put = (count: number): Promise<number> =>
    untilQuiet(() => drive(pipelined(journal, count, () => putting(last++))))
  const remove = (count: number): Promise<number> =>
    untilQuiet(() => drive(pipelined(journal, count, () => deleting(first++))))
  await put(STANDING)
  const count = await sized(effort.roundMs, put)
  await remove(count)
  const samples = besideRaw(journal, raw)
  for (let round = 0; round < effort.rounds; round++) {
    await samples.take('put', count, put)
    await samples.take('delete', count, remove)
    await mustHave(journal, first, last)
  }
  return samples.all
}

/** One commit of one event, and then the next; the limit does the same on its own thread. */
export async function one(directory: string, effort: Effort): Promise<Samples> {
  await using journal = await openJournal(directory)
  await using raw = new RawLogThread(directory)
  const text = payload(0)
  let version = 0
  const ours = (count: number): Promise<number> =>
    untilAnswered({
      count,
      inFlight: 1,
      issue: () => journal.commit(event('one', version++)).then(committed),
      good: Boolean,
    })
  const limit = (count: number): Promise<number> =>
    untilAnswered({
      count,
      inFlight: 1,
      issue: () => raw.append(text).then(() => true),
      good: Boolean,
    })
  const count = await sized(effort.roundMs, ours)
  await limit(count)
  const all: Samples = { 'one ours': [], 'one limit': [] }
  for (let round = 0; round < effort.rounds; round++) {
    all['one ours']?.push(perSecond(count, await ours(count)))
    await quiet()
    all['one limit']?.push(perSecond(count, await limit(count)))
  }
  return all
}

/** So many pipelined puts and nothing else, for somebody outside who counts flushes. */
export async function flood(directory: string, count: number): Promise<void> {
  await using journal = await openJournal(directory)
  await drive(pipelined(journal, count, putting))
}

export function pipelined(
  journal: Journal,
  count: number,
  batch: (index: number) => Batch,
): Load<Awaited<ReturnType<Journal['commit']>>> {
  return {
    count,
    inFlight: PIPELINED,
    issue: (index) => journal.commit(batch(index)),
    good: committed,
  }
}

function besideRaw(
  journal: Journal,
  raw: RawLog,
): Readonly<{
  all: Samples
  take: (name: string, count: number, run: (count: number) => Promise<number>) => Promise<void>
}> {
  const all: Samples = {}
  const add = (name: string, value: number): void => void (all[name] ??= []).push(value)
  return {
    all,
    async take(name, count, run) {
      const before = journal.stats().groups
      const tookMs = await run(count)
      const groups = journal.stats().groups - before
      add(`${name} ours`, perSecond(count, tookMs))
      add(`${name} group`, count / groups)
      add(`${name} limit`, perSecond(count, raw.replay(count, groups, ITEM_BYTES)))
    },
  }
}

async function mustHave(journal: Journal, first: number, last: number): Promise<void> {
  const keys = [keyOf(first - 1), keyOf(first), keyOf(last - 1)]
  const found = await journal.getRecords(COLLECTION, keys)
  if (found.map((record) => record.key).join() !== keys.slice(1).join()) {
    throw new Error('the records that are there are not those that were put and not deleted')
  }
}

export function event(stream: string, expected: number): Batch {
  const data = payload(expected)
  const events = [{ type: 'written', version: 1, at: Date.now(), data }]
  return { streams: [{ stream, expected: expected === 0 ? 'none' : expected, events }] }
}

export function putting(index: number): Batch {
  return { records: [{ collection: COLLECTION, key: keyOf(index), value: payload(index) }] }
}

export function deleting(index: number): Batch {
  return { records: [{ collection: COLLECTION, key: keyOf(index), deleted: true }] }
}

function perSecond(count: number, ms: number): number {
  return (count * 1_000) / ms
}
