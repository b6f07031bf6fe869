/**
 * Taking rounds. A pass runs every job once. A job starts its contenders, each in a fresh process,
 * lets one after the other warm up, and then has them repeat the workload in turn: ours, limit,
 * ours, limit. Only one of them works at a time. So a neighbour's load on the machine falls on both
 * sides of a ratio alike; passes spread it over the figures, and start each contender anew, since a
 * process may be lucky in how it was compiled. The first pass also takes the peers, alone. Further
 * passes follow until there are enough or the time is used up; each figure says from how many
 * rounds it comes.
 */
/* oxlint-disable no-await-in-loop -- One process at a time is the point. */
import type { Contender } from './contenders.ts'
import { median } from './figure.ts'
import { type Samples, Worker } from './worker-process.ts'

export type Job = Readonly<{
  workload: string
  /** Judged against each other, so taken in every pass. */
  judged: readonly Contender[]
  peers: readonly Contender[]
}>

export type Effort = Readonly<{
  passes: number
  reps: number
  /** No further process of ours or a limit is started that would end later than this. */
  budgetMs: number
  /** A peer slower than this gets no further repetition. */
  peerSlowMs: number
}>

/** The effort with exactly as many passes as were asked for, if any were. */
export function withPasses(effort: Effort, passes: number | undefined): Effort {
  return passes === undefined ? effort : { ...effort, passes, budgetMs: Infinity }
}

type Work = Readonly<{ reps: number; slowMs: number }>

const JUDGED_SLOW_MS = 5_000

export class Readings {
  readonly #samples = new Map<string, number[]>()
  readonly #failures = new Map<string, string>()

  add(contender: string, workload: string, samples: Samples): void {
    for (const [key, values] of Object.entries(samples)) {
      const at = `${contender} ${workload} ${key}`
      this.#samples.set(at, [...(this.#samples.get(at) ?? []), ...values])
    }
  }

  fail(contender: string, workload: string, why: string): void {
    this.#failures.set(`${contender} ${workload}`, why)
  }

  /** Empty for a contender that failed even once: what it did before is not worth much. */
  all(contender: string, workload: string, key = 'rate'): readonly number[] {
    if (this.#failures.has(`${contender} ${workload}`)) return []
    return this.#samples.get(`${contender} ${workload} ${key}`) ?? []
  }

  median(contender: string, workload: string, key = 'rate'): number | undefined {
    return median(this.all(contender, workload, key))
  }

  /** The medians of those contenders that have one. */
  medians(ids: readonly string[], workload: string, key = 'rate'): Record<string, number> {
    const found: Record<string, number> = {}
    for (const id of ids) {
      const value = this.median(id, workload, key)
      if (value !== undefined) found[id] = value
    }
    return found
  }

  get failures(): readonly string[] {
    return [...this.#failures].map(([at, why]) => `${at}: ${why}`)
  }
}

export async function takeRounds(
  jobs: readonly Job[],
  effort: Effort,
  say: (line: string) => void,
): Promise<Readings> {
  const readings = new Readings()
  const start = performance.now()
  const tookMs = new Map<Job, number>()
  for (let pass = 0; pass < effort.passes; pass++) {
    for (const job of jobs) {
      const begin = performance.now()
      if (pass > 0 && begin - start + (tookMs.get(job) ?? 0) > effort.budgetMs) continue
      const { workload, judged, peers } = job
      const order = pass % 2 === 0 ? judged : judged.toReversed()
      await inTurn(readings, order, workload, { reps: effort.reps, slowMs: JUDGED_SLOW_MS })
      tookMs.set(job, performance.now() - begin)
      const peerWork = { reps: effort.reps, slowMs: effort.peerSlowMs }
      if (pass === 0) for (const peer of peers) await inTurn(readings, [peer], workload, peerWork)
      const seconds = ((performance.now() - begin) / 1_000).toFixed(2)
      say(`pass ${pass + 1} ${workload} ${seconds} s`)
    }
  }
  return readings
}

/** Starts the contenders one after the other, then gives each its turn until all have answered. */
async function inTurn(
  readings: Readings,
  contenders: readonly Contender[],
  workload: string,
  work: Work,
): Promise<void> {
  const waiting = new Map<Contender, Worker>()
  const hear = async (contender: Contender, worker: Worker): Promise<void> => {
    try {
      const answer = await worker.answer()
      if (answer === 'ready') {
        waiting.set(contender, worker)
        return
      }
      if (answer.samples) readings.add(contender.id, workload, answer.samples)
    } catch (error) {
      readings.fail(contender.id, workload, error instanceof Error ? error.message : String(error))
    }
    waiting.delete(contender)
  }
  for (const contender of contenders) {
    await hear(contender, new Worker([contender.file, workload, JSON.stringify(work)]))
  }
  while (waiting.size > 0) {
    for (const [contender, worker] of waiting) {
      worker.go()
      await hear(contender, worker)
    }
  }
}
