/**
 * Passes over the durable workloads: each in a fresh process and on a fresh directory, in which ours
 * and its limit take turns. The first pass runs every workload; further ones follow until there are
 * enough or the time is used up.
 */
/* oxlint-disable no-await-in-loop -- One process at a time is the point. */
import { join } from 'node:path'
import { Readings } from '../rounds.ts'
import { Worker } from '../worker-process.ts'
import type { Effort } from './effort.ts'
import type { PeerWork } from './peers.ts'

export type DurablePasses = Effort &
  Readonly<{
    passes: number
    /** No process is started that would end later than this, apart from those of the first pass. */
    budgetMs: number
  }>

export const PROCESS: string = join(import.meta.dirname, 'process.ts')

/** The contender under whose name the samples of ours and of its limits stand. */
export const DURABLE = 'durable'

export async function takePasses(
  workloads: readonly string[],
  { passes, budgetMs, ...effort }: DurablePasses,
  say: (line: string) => void,
): Promise<Readings> {
  const readings = new Readings()
  const start = performance.now()
  const tookMs = new Map<string, number>()
  for (let pass = 0; pass < passes; pass++) {
    for (const workload of workloads) {
      const begin = performance.now()
      if (pass > 0 && begin - start + (tookMs.get(workload) ?? 0) > budgetMs) continue
      await take(readings, DURABLE, workload, effort)
      tookMs.set(workload, performance.now() - begin)
      say(`pass ${pass + 1} ${workload} ${((performance.now() - begin) / 1_000).toFixed(2)} s`)
    }
  }
  return readings
}

/** Runs one process and files its samples, or why there are none, under the name of a contender. */
export async function take(
  readings: Readings,
  contender: string,
  workload: string,
  task: Effort | PeerWork,
): Promise<void> {
  try {
    const answer = await new Worker([workload, JSON.stringify(task)], PROCESS).answer()
    if (answer !== 'ready' && answer.samples) readings.add(contender, workload, answer.samples)
  } catch (error) {
    readings.fail(contender, workload, error instanceof Error ? error.message : String(error))
  }
}
