/**
 * The embedded journal beside a raw `write` + `fdatasync` log. Ours and the limit take turns in one
 * process, and a limit gets the group boundaries that ours made in the same round: `group` is the
 * mean number of commits per group. Flushes are counted from outside.
 */
import { installPeers } from '../contenders.ts'
import { flushesPer1000 } from '../durable/flushes.ts'
import { STORE_NAMES } from '../durable/peers.ts'
import { DURABLE, type DurablePasses, take, takePasses } from '../durable/rounds.ts'
import type { Measured } from '../figure.ts'
import type { Readings } from '../rounds.ts'
import type { Options } from './suite.ts'

const APPEND_RATIO_MIN = 0.3
const RECORDS_RATIO_MIN = 0.3
const ONE_RATIO_MIN = 0.7
const FLUSHES_MAX = 10
const FLUSHES_OF = 200_000

/** Needs no installing. */
const QUICK_PEER = 'node-sqlite'
const PEER_MS = 500

/** Rounds are long: what is filed after the last answer belongs to a round, and is little of a long one. */
const QUICK: DurablePasses = { passes: 2, rounds: 3, roundMs: 1_500, budgetMs: 40_000 }
const FULL: DurablePasses = { passes: 5, rounds: 5, roundMs: 1_000, budgetMs: Infinity }

type Row = Readonly<{
  figure: string
  workload: string
  name: 'append' | 'put' | 'delete' | 'one'
  ratioMin: number
}>

const ROWS: readonly Row[] = [
  { figure: 'append-ratio', workload: 'append', name: 'append', ratioMin: APPEND_RATIO_MIN },
  { figure: 'records-put', workload: 'records', name: 'put', ratioMin: RECORDS_RATIO_MIN },
  { figure: 'records-delete', workload: 'records', name: 'delete', ratioMin: RECORDS_RATIO_MIN },
  { figure: 'commit-one', workload: 'one', name: 'one', ratioMin: ONE_RATIO_MIN },
]

export async function journal(options: Options): Promise<readonly Measured[]> {
  const peers = options.peers ?? (options.quick ? [QUICK_PEER] : STORE_NAMES)
  await installPeers(peers, options.say)
  const flushes = await flushesPer1000(FLUSHES_OF, options.say)
  const effort = options.quick ? QUICK : FULL
  const asked = options.rounds && { passes: options.rounds, budgetMs: Infinity }
  const workloads = [...new Set(ROWS.map(({ workload }) => workload))]
  const readings = await takePasses(workloads, { ...effort, ...asked }, options.say)
  for (const peer of peers)
    await take(readings, peer, peer, { roundMs: PEER_MS, ...groups(readings) })
  for (const failure of readings.failures) options.say(`failed: ${failure}`)
  return [
    ...ROWS.map((row) => beside(row, readings, peers)),
    {
      suite: 'journal',
      figure: 'flushes-per-1000',
      ours: flushes,
      unit: 'flushes',
      rounds: flushes === undefined ? 0 : 1,
      goal: [{ field: 'ours', is: '<=', value: FLUSHES_MAX }],
    },
  ]
}

/** Commits per group, as a peer is to have them. */
function groups(readings: Readings): Record<'append' | 'put' | 'delete', number> {
  const of = (workload: string, name: string): number =>
    Math.round(readings.median(DURABLE, workload, `${name} group`) ?? 1)
  return {
    append: of('append', 'append'),
    put: of('records', 'put'),
    delete: of('records', 'delete'),
  }
}

function beside(
  { figure, workload, name, ratioMin }: Row,
  readings: Readings,
  peers: readonly string[],
): Measured {
  const group = readings.median(DURABLE, workload, `${name} group`)
  const rates: Record<string, number> = {}
  for (const peer of peers) {
    const rate = readings.median(peer, peer, name)
    if (rate !== undefined) rates[peer] = rate
  }
  return {
    suite: 'journal',
    figure,
    ours: readings.median(DURABLE, workload, `${name} ours`),
    unit: 'commit/s',
    limit: readings.median(DURABLE, workload, `${name} limit`),
    peers: rates,
    ...(group !== undefined && { parts: { group } }),
    rounds: readings.all(DURABLE, workload, `${name} ours`).length,
    goal: [{ field: 'ratio', is: '>=', value: ratioMin }],
  }
}
