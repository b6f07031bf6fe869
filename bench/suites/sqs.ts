/**
 * The SQS wire beside servers that do nothing: Amazon's own client, which is slower than either, and wrk. What ours answers
 * is durable.
 */
import { installPeers } from '../contenders.ts'
import type { Measured } from '../figure.ts'
import type { Readings } from '../rounds.ts'
import { SDK, SQS, takeSqsRounds, WIRE, type SqsEffort } from '../sqs/rounds.ts'
import type { Options } from './suite.ts'

const SDK_RATIO_MIN = 0.9
const OPEN_RATIO_MIN = 0.6
const SIGNED_RATIO_MIN = 0.4

const QUICK: SqsEffort = { rounds: 5, roundMs: 1_000, budgetMs: 44_000 }
const FULL: SqsEffort = { rounds: 15, roundMs: 2_000, budgetMs: Infinity }

export async function sqs(options: Options): Promise<readonly Measured[]> {
  await installPeers(['aws-sdk'], options.say)
  const asked = options.rounds && { rounds: options.rounds, budgetMs: Infinity }
  const effort = options.quick ? QUICK : FULL
  const readings = await takeSqsRounds({ ...effort, ...asked }, options.say)
  for (const failure of readings.failures) options.say(`failed: ${failure}`)
  return [
    ...['send', 'batch', 'receive'].map((kind) =>
      beside(`sdk-${kind}`, 'message/s', SDK_RATIO_MIN, readings, [
        SDK,
        `${kind} ours`,
        `${kind} limit`,
      ]),
    ),
    beside('server', 'request/s', OPEN_RATIO_MIN, readings, [WIRE, 'open', 'limit']),
    beside('server-signed', 'request/s', SIGNED_RATIO_MIN, readings, [WIRE, 'keyed', 'limit']),
  ]
}

function beside(
  figure: string,
  unit: string,
  ratioMin: number,
  readings: Readings,
  [workload, ours, limit]: readonly [workload: string, ours: string, limit: string],
): Measured {
  return {
    suite: 'sqs',
    figure,
    ours: readings.median(SQS, workload, ours),
    unit,
    limit: readings.median(SQS, workload, limit),
    rounds: readings.all(SQS, workload, ours).length,
    goal: [{ field: 'ratio', is: '>=', value: ratioMin }],
  }
}
