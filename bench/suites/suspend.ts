/**
 * Suspend and resume, alone and with 100 000 other actors suspended, each with mail waiting. No
 * peer has it; the limits are the 1 ms and 10 ms that seed 004 asks for.
 */
import { OURS } from '../contenders.ts'
import type { Measured } from '../figure.ts'
import { type Effort, type Readings, takeRounds, withPasses } from '../rounds.ts'
import type { Options } from './suite.ts'

const CYCLE_US_MAX = 1
const FIRST_US_MAX = 10
const ADR_CYCLE_US = 1_000
const ADR_FIRST_US = 10_000

const QUICK: Effort = { passes: 3, reps: 5, budgetMs: 45_000, peerSlowMs: 0 }
const FULL: Effort = { passes: 5, reps: 5, budgetMs: Infinity, peerSlowMs: 0 }

export async function suspend(options: Options): Promise<readonly Measured[]> {
  const effort = options.quick ? QUICK : FULL
  const readings = await takeRounds(
    [{ workload: 'suspend', judged: [OURS], peers: [] }],
    withPasses(effort, options.rounds),
    options.say,
  )
  for (const failure of readings.failures) options.say(`failed: ${failure}`)
  return [
    worse(readings, {
      figure: 'cycle-us',
      keys: ['cycleUs', 'cycleAmongUs'],
      limit: ADR_CYCLE_US,
      max: CYCLE_US_MAX,
    }),
    worse(readings, {
      figure: 'resume-first-us',
      keys: ['firstUs', 'firstAmongUs'],
      limit: ADR_FIRST_US,
      max: FIRST_US_MAX,
    }),
  ]
}

function worse(
  readings: Readings,
  of: Readonly<{ figure: string; keys: readonly [string, string]; limit: number; max: number }>,
): Measured {
  const [alone, among] = of.keys.map((key) => readings.median(OURS.id, 'suspend', key))
  const measured = alone !== undefined && among !== undefined
  return {
    suite: 'suspend',
    figure: of.figure,
    ours: measured ? Math.max(alone, among) : undefined,
    unit: 'us',
    limit: of.limit,
    ...(measured && { parts: { alone, 'among-100k': among } }),
    rounds: readings.all(OURS.id, 'suspend', of.keys[0]).length,
    goal: [{ field: 'ours', is: '<=', value: of.max }],
  }
}
