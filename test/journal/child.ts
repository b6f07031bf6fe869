/**
 * The process under test: it does to a journal what it is told on standard input, a command a line,
 * and says what came of it on descriptor 3, written at once so that nothing said is lost with it.
 *
 * It ends when its standard input does, so none outlives the test that started it. Started with a
 * directory, it opens the journal there, closes it, and has then loaded all there is to load.
 */
import { writeSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createInterface } from 'node:readline'

import {
  sqliteJournal,
  type Journal,
  type JournalStats,
  type Subscription,
} from '../../src/journal/index.ts'
import { Accident, afterIo, systemClock } from '../../src/std/index.ts'
import { briefly, dumpOf, type Dump } from './dump.ts'
import type { Saying } from './history.ts'
import { commit, load, type LoadOptions } from './load.ts'

export type Command =
  /** For the shim, which keeps it to itself. */
  | Readonly<{ type: 'faults'; line: string }>
  /** `first` is the number of a batch that is committed as soon as it is open. */
  | Readonly<{ type: 'open'; directory: string; first?: number }>
  | Readonly<{ type: 'dump'; keys: readonly string[] }>
  | Readonly<{ type: 'load'; options: LoadOptions; watched?: boolean }>
  /** Batches of so many events each, to get to a size. */
  | Readonly<{ type: 'fill'; next: number; batches: number; events: number }>
  /** Commits as fast as it can, refused or not, and measures what the event loop suffers. */
  | Readonly<{ type: 'flood'; bytes: number; forMs: number }>
  /** Timers that are set at once, and how late each was. */
  | Readonly<{ type: 'timers'; delaysMs: readonly number[] }>
  | Readonly<{ type: 'time' }>
  | Readonly<{ type: 'close' }>

export type Report =
  | Saying
  | Readonly<{ type: 'started' }>
  | Readonly<{ type: 'opened'; openMs: number; readyMs: number }>
  | Readonly<{ type: 'not-opened'; code: string; message: string }>
  | Readonly<{ type: 'dumped'; dump: Dump; stats: JournalStats }>
  | Readonly<{ type: 'loaded' }>
  | Readonly<{ type: 'filled' }>
  | Readonly<{
      type: 'flooded'
      accepted: number
      /** Of those that were refused, in the order of their first. */
      codes: readonly string[]
      pendingMax: number
      pendingBytesMax: number
      lagP99Ms: number
      lagMaxMs: number
    }>
  | Readonly<{ type: 'drained'; committed: number; stats: JournalStats }>
  | Readonly<{ type: 'timed'; lateMs: readonly number[] }>
  | Readonly<{ type: 'time'; wallMs: number; monotonicMs: number }>
  | Readonly<{ type: 'closed' }>

const SAYING = 3
const FLOOD_SLICE = 200

let journal: Journal | undefined
let subscription: Subscription | undefined

const [warmUpIn] = process.argv.slice(2)
if (warmUpIn === undefined) listen()
else await (await sqliteJournal({ directory: warmUpIn })).close()

function listen(): void {
  const input = createInterface({ input: process.stdin })
  input.on('line', (line) => void obey(JSON.parse(line) as Command))
  input.on('close', () => process.exit())
  say({ type: 'started' })
}

function say(report: Report): void {
  sayText(briefly(report))
}

function sayText(text: string): void {
  const bytes = Buffer.from(`${text}\n`)
  for (let done = 0; done < bytes.length;) done += writeSync(SAYING, bytes, done)
}

async function obey(command: Command): Promise<void> {
  switch (command.type) {
    case 'faults':
      sayText(command.line)
      break
    case 'open':
      await open(command.directory, command.first)
      break
    case 'dump':
      say({ type: 'dumped', dump: await dumpOf(opened(), command.keys), stats: opened().stats() })
      break
    case 'load':
      if (command.watched === true) void watch(opened())
      await load(opened(), command.options, say)
      say({ type: 'loaded' })
      break
    case 'fill':
      await fill(opened(), command.next, command.batches, command.events)
      say({ type: 'filled' })
      break
    case 'flood':
      await flood(opened(), command.bytes, command.forMs)
      break
    case 'timers':
      say({ type: 'timed', lateMs: await Promise.all(command.delaysMs.map(lateness)) })
      break
    case 'time':
      say({ type: 'time', wallMs: systemClock.now(), monotonicMs: systemClock.monotonic() })
      break
    case 'close':
      await subscription?.close()
      await opened().close()
      say({ type: 'closed' })
      break
    default:
      command satisfies never
  }
}

function opened(): Journal {
  if (journal === undefined) throw new Error('the journal is not open')
  return journal
}

async function open(directory: string, first: number | undefined): Promise<void> {
  const startMs = systemClock.monotonic()
  try {
    journal = await sqliteJournal({ directory })
  } catch (error) {
    if (!(error instanceof Accident)) throw error
    return say({ type: 'not-opened', code: error.code, message: error.message })
  }
  const openMs = systemClock.monotonic() - startMs
  if (first !== undefined) await fill(opened(), first, 1, 1)
  say({ type: 'opened', openMs, readyMs: systemClock.monotonic() - startMs })
}

async function fill(to: Journal, next: number, batches: number, events: number): Promise<void> {
  const all = Array.from({ length: batches }, (_, i) => {
    const n = next + i
    const event = { type: 'filled', version: 1, at: n, data: `#${n}# filling` }
    const batch = {
      streams: [
        {
          stream: `fill-${n % 97}`,
          expected: 'any',
          events: Array.from({ length: events }, () => event),
        },
      ],
    } as const
    say({ type: 'asked', n, batch })
    return commit(to, n, batch, say)
  })
  await Promise.all(all)
}

/** A subscriber and a reader, who may not see what a crash could take back. */
async function watch(from: Journal): Promise<void> {
  subscription = from.subscribe({
    after: await from.position(),
    handle: (events) => say({ type: 'seen', position: events.at(-1)!.position, by: 'subscriber' }),
  })
  for (let last = 0; from.state === 'open';) {
    const position = await from.position()
    if (position > last) say({ type: 'seen', position, by: 'reader' })
    last = position
    await new Promise<void>(afterIo)
  }
}

async function flood(to: Journal, bytes: number, forMs: number): Promise<void> {
  const event = { type: 'poured', version: 1, at: 1, data: 'p'.repeat(bytes) }
  const batch = { streams: [{ stream: 'flood', expected: 'any', events: [event] }] } as const
  const delay = monitorEventLoopDelay({ resolution: 5 })
  const codes = new Set<string>()
  const count = { asked: 0, refused: 0, committed: 0 }
  let [pendingMax, pendingBytesMax] = [0, 0]
  delay.enable()
  for (const endMs = systemClock.monotonic() + forMs; systemClock.monotonic() < endMs;) {
    for (let i = 0; i < FLOOD_SLICE; i++) void commitOne()
    await new Promise<void>(afterIo)
    const { pending, pendingBytes } = to.stats()
    pendingMax = Math.max(pendingMax, pending)
    pendingBytesMax = Math.max(pendingBytesMax, pendingBytes)
  }
  delay.disable()
  const lags = { lagP99Ms: delay.percentile(99) / 1e6, lagMaxMs: delay.max / 1e6 }
  const accepted = count.asked - count.refused
  say({ type: 'flooded', accepted, codes: [...codes], pendingMax, pendingBytesMax, ...lags })
  while (count.committed + count.refused < count.asked) await new Promise<void>(afterIo)
  say({ type: 'drained', committed: count.committed, stats: to.stats() })

  async function commitOne(): Promise<void> {
    count.asked++
    try {
      await to.commit(batch)
      count.committed++
    } catch (error) {
      if (!(error instanceof Accident)) throw error
      codes.add(error.code)
      count.refused++
    }
  }
}

function lateness(delayMs: number): Promise<number> {
  const dueMs = systemClock.monotonic() + delayMs
  return new Promise((resolve) => {
    systemClock.setTimer(dueMs, () => resolve(systemClock.monotonic() - dueMs))
  })
}
