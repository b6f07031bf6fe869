/**
 * The embedded journal beside a raw `write` + `fdatasync` log. Ours and the limit take turns in one
 * process, and a limit gets the group boundaries that ours made in the same round: `group` is the
 * mean number of commits per group. Flushes are counted from outside.
 */
import { flushesPer1000 } from '../durable/flushes.ts'
import { DURABLE, type DurablePasses, takePasses } from '../durable/rounds.ts'
import type { Measured } from '../figure.ts'
import type { Readings } from '../rounds.ts'
import type { Options } from './suite.ts'

const APPEND_RATIO_MIN = 0.3
const RECORDS_RATIO_MIN = 0.3
const ONE_RATIO_MIN = 0.7
const FLUSHES_MAX = 10
const FLUSHES_OF = 200_000

const QUICK: DurablePasses = { passes: 3, rounds: 5, roundMs: 500, budgetMs: 42_000 }
const FULL: DurablePasses = { passes: 5, rounds: 5, roundMs: 1_000, budgetMs: Infinity }

export async function journal(options: Options): Promise<readonly Measured[]> {
  const flushes = await flushesPer1000(FLUSHES_OF, options.say)
  const effort = options.quick ? QUICK : FULL
  const asked = options.rounds && { passes: options.rounds, budgetMs: Infinity }
  const workloads = ['append', 'records', 'one']
  const readings = await takePasses(workloads, { ...effort, ...asked }, options.say)
  return [
    beside(readings, 'append-ratio', 'append', 'append', APPEND_RATIO_MIN),
    beside(readings, 'records-put', 'records', 'put', RECORDS_RATIO_MIN),
    beside(readings, 'records-delete', 'records', 'delete', RECORDS_RATIO_MIN),
    {
      suite: 'journal',
      figure: 'flushes-per-1000',
      ours: flushes,
      unit: 'flushes',
      rounds: flushes === undefined ? 0 : 1,
      goal: [{ field: 'ours', is: '<=', value: FLUSHES_MAX }],
    },
    beside(readings, 'commit-one', 'one', 'one', ONE_RATIO_MIN),
  ]
}

function beside(
  readings: Readings,
  figure: string,
  workload: string,
  name: string,
  ratioMin: number,
): Measured {
  const group = readings.median(DURABLE, workload, `${name} group`)
  return {
    suite: 'journal',
    figure,
    ours: readings.median(DURABLE, workload, `${name} ours`),
    unit: 'commit/s',
    limit: readings.median(DURABLE, workload, `${name} limit`),
    ...(group !== undefined && { parts: { group } }),
    rounds: readings.all(DURABLE, workload, `${name} ours`).length,
    goal: [{ field: 'ratio', is: '>=', value: ratioMin }],
  }
}
