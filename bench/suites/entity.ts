/**
 * Entities beside the journal they stand on: what a command costs more than a commit of the same
 * event, and how long an entity takes to wake. Ours and the limit take turns in one process.
 */
import { DURABLE, type DurablePasses, takePasses } from '../durable/rounds.ts'
import type { Measured } from '../figure.ts'
import type { Readings } from '../rounds.ts'
import type { Options } from './suite.ts'

const COMMANDS_RATIO_MIN = 0.6
const ACTIVATION_MS_MAX = 1

const QUICK: DurablePasses = { passes: 5, rounds: 5, roundMs: 500, budgetMs: 42_000 }
const FULL: DurablePasses = { passes: 5, rounds: 5, roundMs: 1_000, budgetMs: Infinity }

export async function entity(options: Options): Promise<readonly Measured[]> {
  const effort = options.quick ? QUICK : FULL
  const asked = options.rounds && { passes: options.rounds, budgetMs: Infinity }
  const readings = await takePasses(
    ['commands', 'activation'],
    { ...effort, ...asked },
    options.say,
  )
  for (const failure of readings.failures) options.say(`failed: ${failure}`)
  return [
    {
      suite: 'entity',
      figure: 'commands-ratio',
      ours: readings.median(DURABLE, 'commands', 'ours'),
      unit: 'command/s',
      limit: readings.median(DURABLE, 'commands', 'limit'),
      ...parts(readings, 'commands', 'bytes'),
      rounds: readings.all(DURABLE, 'commands', 'ours').length,
      goal: [{ field: 'ratio', is: '>=', value: COMMANDS_RATIO_MIN }],
    },
    {
      suite: 'entity',
      figure: 'activation-ms',
      ours: readings.median(DURABLE, 'activation', 'p50'),
      unit: 'ms',
      ...parts(readings, 'activation', 'max'),
      rounds: readings.all(DURABLE, 'activation', 'p50').length,
      goal: [{ field: 'ours', is: '<=', value: ACTIVATION_MS_MAX }],
    },
  ]
}

function parts(
  readings: Readings,
  workload: string,
  key: string,
): Readonly<{ parts?: Readonly<Record<string, number>> }> {
  const value = readings.median(DURABLE, workload, key)
  return value === undefined ? {} : { parts: { [key]: value } }
}
