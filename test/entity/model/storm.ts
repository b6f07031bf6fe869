/**
 * A journal in bad weather: slow, refusing, and leaving open what has become of a batch; and which the
 * power can be cut from.
 *
 * Every runtime has a line of its own to the one journal. Batches of a line take effect in the order in
 * which they were sent. When a line is cut, whoever uses it is told nothing good any more; of the batches
 * on their way an arbitrary first part takes effect at that moment, and nothing later. Delays are virtual.
 */
import type { Batch, CommitResult, Journal } from '../../../src/journal/index.ts'
import { Accident, fault, type Clock, type Random } from '../../../src/std/index.ts'

export type Weather = {
  /** Everything takes up to so much. */
  delayMsMax: number
  /** One commit in so many is refused, or its outcome is left open; none if 0. */
  refusedOneIn: number
  openOneIn: number
  /** One read in so many fails; none if 0. */
  unreadOneIn: number
}

export const CALM: Readonly<Weather> = {
  delayMsMax: 0,
  refusedOneIn: 0,
  openOneIn: 0,
  unreadOneIn: 0,
}

export type Line = Readonly<{ journal: Journal; cut: () => Promise<void> }>

/** A line to the journal; the weather may change under way. */
export function line(journal: Journal, weather: Weather, clock: Clock, draw: Random): Line {
  let isCut = false
  let before: Promise<unknown> = Promise.resolve()
  const waiting = new Set<Batch>()
  const oneIn = (n: number): boolean => n > 0 && draw.below(n) === 0

  async function pause(): Promise<void> {
    const { delayMsMax } = weather
    if (delayMsMax === 0) return
    const ms = draw.below(delayMsMax + 1)
    await new Promise<void>((resolve) => clock.setTimer(clock.monotonic() + ms, resolve))
  }

  /** One after the other, as they came. */
  function commit(batch: Batch): Promise<CommitResult> {
    waiting.add(batch)
    const own = before.then(() => take(batch))
    before = own.catch(() => undefined)
    return own
  }

  async function take(batch: Batch): Promise<CommitResult> {
    await pause()
    if (isCut) throw closed()
    waiting.delete(batch)
    if (oneIn(weather.refusedOneIn))
      throw trouble(draw.pick(['journal-overloaded', 'read-only'] as const))
    const isOpen = oneIn(weather.openOneIn)
    if (isOpen && draw.below(2) === 0) throw trouble('unknown-outcome')
    const result = await journal.commit(batch)
    await pause()
    if (isCut) throw closed()
    if (isOpen) throw trouble('unknown-outcome')
    return result
  }

  async function read<T>(work: () => Promise<T>): Promise<T> {
    await pause()
    if (isCut) throw closed()
    if (oneIn(weather.unreadOneIn)) throw trouble('journal-overloaded')
    const found = await work()
    await pause()
    if (isCut) throw closed()
    return found
  }

  const over = new Proxy(journal, {
    get(target, name) {
      if (name === 'commit') return commit
      const own: unknown = Reflect.get(target, name)
      if (typeof own !== 'function') return own
      if (!READS.has(name)) return own.bind(target) as unknown
      return (...args: unknown[]) => read(async () => (await own.apply(target, args)) as unknown)
    },
  })
  return {
    journal: over,
    cut: async () => {
      isCut = true
      const landed = [...waiting].slice(0, draw.below(waiting.size + 1))
      await Promise.all(landed.map((batch) => journal.commit(batch)))
    },
  }
}

const READS: ReadonlySet<string | symbol> = new Set([
  'readStream',
  'readAll',
  'position',
  'version',
  'streams',
  'readRecords',
  'getRecords',
  'lookup',
  'snapshots',
  'takeFence',
])

function closed(): Accident {
  return new Accident(fault('journal-closed', 'the line was cut'))
}

function trouble(code: string): Accident {
  return new Accident({ ...fault('storm', `the weather says ${code}`), code })
}
