/**
 * The kernel beside hand-written limits and other actor runtimes.
 *
 * A limit does the bare minimum of a workload by hand. The full run takes three of them and all
 * peers, and judges against the best limit and the best peer that queues. The quick run has 50 s:
 * per figure it takes the one limit and the one queueing peer that are the best of the full run.
 */
import { actor, installPeers, LIMITS, OURS, PEERS, QUEUEING } from '../contenders.ts'
import type { Condition, Measured } from '../figure.ts'
import { REFERENCES, takeReferences } from '../references.ts'
import { type Effort, type Job, type Readings, takeRounds, withPasses } from '../rounds.ts'
import type { Options } from './suite.ts'

type Throughput = Readonly<{
  figure: string
  workload: string
  unit: 'msg/s' | 'ask/s' | 'actors/s'
  ratioMin: number
  quickLimit: string
  /** None queues a million actors in reasonable time. */
  quickPeer?: string
}>

const THROUGHPUT: readonly Throughput[] = [
  row('tell-burst', 'tellFlood', 'limit-global', 'effect-fork'),
  row('tell-window', 'tellWindow', 'limit-global', 'effect-fork'),
  row('ping-pong', 'pingPong', 'limit-global', 'comedy'),
  row('ring', 'ring', 'limit-global', 'comedy'),
  { ...row('ask-1', 'askSeq', 'limit-global', 'effect-queue'), unit: 'ask/s' },
  { ...row('ask-100', 'ask100', 'limit-global', 'effect-queue'), unit: 'ask/s', ratioMin: 0.65 },
  row('many-actors', 'spawnMany', 'limit-real', 'effect-queue'),
  { ...row('skynet-1e5', 'skynet5', 'limit-global', 'nact'), unit: 'actors/s' },
  { ...row('skynet-1e6', 'skynet6', 'limit-lifo'), unit: 'actors/s' },
]

function row(figure: string, workload: string, quickLimit: string, quickPeer?: string): Throughput {
  const common = { figure, workload, unit: 'msg/s', ratioMin: 0.7, quickLimit } as const
  return quickPeer === undefined ? common : { ...common, quickPeer }
}

const PEER_RATIO_MIN = 5
const TIMER_MS_MAX = 1
const BYTES_MAX = 200
const SPAWN_NS_MAX = 150
const ASYNC_RATIO_MIN = 0.15

const QUICK: Effort = { passes: 5, reps: 5, budgetMs: 45_000, peerSlowMs: 500 }
const FULL: Effort = { passes: 5, reps: 5, budgetMs: Infinity, peerSlowMs: 1_500 }

export async function kernel(options: Options): Promise<readonly Measured[]> {
  const jobs = plan(options)
  const peers = [...new Set(jobs.flatMap((job) => job.peers.map(({ id }) => id)))]
  await installPeers(peers, options.say)
  const effort = options.quick ? QUICK : FULL
  const readings = await takeRounds(jobs, withPasses(effort, options.rounds), options.say)
  const asked = options.peers ?? (options.quick ? [] : REFERENCES)
  const references = REFERENCES.filter((id) => asked.includes(id))
  await takeReferences(references, readings, options.say)
  for (const failure of readings.failures) options.say(`failed: ${failure}`)

  const shown = [...peers, ...references]
  return [
    ...THROUGHPUT.map((each) => throughput(each, readings, shown, jobs)),
    timer(readings),
    bytes(readings, shown),
    spawn(readings, shown),
    asyncHandlers(readings),
  ]
}

function plan({ quick, peers }: Options): readonly Job[] {
  const chosen = (quickPeer: string | undefined): readonly string[] =>
    peers?.filter((id) => PEERS.includes(id)) ??
    (quick ? (quickPeer === undefined ? [] : [quickPeer]) : PEERS)
  return [
    ...THROUGHPUT.map(({ workload, quickLimit, quickPeer }) => ({
      workload,
      judged: [OURS, ...(quick ? [quickLimit] : LIMITS).map(actor)],
      peers: chosen(quickPeer).map(actor),
    })),
    { workload: 'tellAsync', judged: [OURS], peers: [] },
    { workload: 'fair', judged: [OURS], peers: [] },
  ]
}

function throughput(
  { figure, workload, unit, ratioMin }: Throughput,
  readings: Readings,
  shown: readonly string[],
  jobs: readonly Job[],
): Measured {
  const limits = readings.medians(LIMITS, workload)
  const queueing = readings.medians(QUEUEING, workload)
  const goal: Condition[] = [{ field: 'ratio', is: '>=', value: ratioMin }]
  const asked = jobs.find((job) => job.workload === workload)?.peers ?? []
  if (asked.some(({ id }) => QUEUEING.includes(id)) && workload !== 'skynet6') {
    goal.push({ field: 'peerRatio', is: '>=', value: PEER_RATIO_MIN })
  }
  return {
    suite: 'kernel',
    figure,
    ours: readings.median(OURS.id, workload),
    unit,
    limit: best(limits),
    limits,
    peers: readings.medians(shown, workload),
    peerBest: best(queueing),
    rounds: readings.all(OURS.id, workload).length,
    goal,
  }
}

function best(rates: Readonly<Record<string, number>>): number | undefined {
  const values = Object.values(rates)
  return values.length === 0 ? undefined : Math.max(...values)
}

/** The idle loop of the same processes is the limit: nobody can be more punctual than it. */
function timer(readings: Readings): Measured {
  const parts = partsOf(readings, 'fair', { 'ping-pong': 'pingPong', flood: 'flood' })
  const idle = readings.median(OURS.id, 'fair', 'idle')
  return {
    suite: 'kernel',
    figure: 'timer-p99-ms',
    ours: best(parts),
    unit: 'ms',
    limit: idle,
    parts,
    rounds: readings.all(OURS.id, 'fair', 'idle').length,
    goal: [{ field: 'ours', is: '<=', value: Math.max(TIMER_MS_MAX, idle ?? 0) }],
  }
}

function bytes(readings: Readings, shown: readonly string[]): Measured {
  const parts = partsOf(readings, 'spawnMany', { idle: 'bytesIdle', after: 'bytesAfter' })
  return {
    suite: 'kernel',
    figure: 'bytes-per-actor',
    ours: best(parts),
    unit: 'B',
    limit: least(readings.medians(LIMITS, 'spawnMany', 'bytesAfter')),
    peers: readings.medians(shown, 'spawnMany', 'bytesAfter'),
    parts,
    rounds: readings.all(OURS.id, 'spawnMany').length,
    goal: [{ field: 'ours', is: '<=', value: BYTES_MAX }],
  }
}

function spawn(readings: Readings, shown: readonly string[]): Measured {
  return {
    suite: 'kernel',
    figure: 'spawn-ns',
    ours: readings.median(OURS.id, 'spawnMany', 'spawnNs'),
    unit: 'ns',
    limit: least(readings.medians(LIMITS, 'spawnMany', 'spawnNs')),
    peers: readings.medians(shown, 'spawnMany', 'spawnNs'),
    rounds: readings.all(OURS.id, 'spawnMany').length,
    goal: [{ field: 'ours', is: '<=', value: SPAWN_NS_MAX }],
  }
}

/** Our own synchronous rate of the same workload is the limit. */
function asyncHandlers(readings: Readings): Measured {
  return {
    suite: 'kernel',
    figure: 'async',
    ours: readings.median(OURS.id, 'tellAsync'),
    unit: 'msg/s',
    limit: readings.median(OURS.id, 'tellWindow'),
    rounds: readings.all(OURS.id, 'tellAsync').length,
    goal: [{ field: 'ratio', is: '>=', value: ASYNC_RATIO_MIN }],
  }
}

function least(values: Readonly<Record<string, number>>): number | undefined {
  const all = Object.values(values)
  return all.length === 0 ? undefined : Math.min(...all)
}

function partsOf(
  readings: Readings,
  workload: string,
  keys: Readonly<Record<string, string>>,
): Record<string, number> {
  const parts: Record<string, number> = {}
  for (const [name, key] of Object.entries(keys)) {
    const value = readings.median(OURS.id, workload, key)
    if (value !== undefined) parts[name] = value
  }
  return parts
}
