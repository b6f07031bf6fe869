/**
 * Queues in process beside the journal they stand on: what it costs that a record is a message. Ours and the limit take
 * turns in one process. Then what a backlog costs the process that finds it on disk.
 */
import { type Backlog, measureBacklog } from '../broker/backlog.ts'
import { BROKER_NAMES, brokerPeer, type BrokerRates } from '../broker/peers.ts'
import { installPeers } from '../contenders.ts'
import { DURABLE, type DurablePasses, takePasses } from '../durable/rounds.ts'
import type { Measured } from '../figure.ts'
import type { Readings } from '../rounds.ts'
import type { Options } from './suite.ts'

const BATCHED_RATIO_MIN = 0.6
const P50_MS_MAX = 0.4
const P99_MS_MAX = 2
const BACKLOG_P99_RATIO_MAX = 2
const BACKLOG_RSS_MB_MAX = 400
const BACKLOG_RESTART_S_MAX = 5

const QUICK: DurablePasses = {
  passes: 1,
  rounds: 5,
  roundMs: 500,
  msMax: 8_000,
  budgetMs: Infinity,
}
const FULL: DurablePasses = { passes: 5, rounds: 5, roundMs: 1_000, budgetMs: Infinity }
/** Latencies are taken at a fixed rate, so only time makes many of them. */
const LATENCY_QUICK: DurablePasses = { passes: 1, rounds: 1, roundMs: 3_000, budgetMs: Infinity }
const LATENCY_FULL: DurablePasses = { passes: 5, rounds: 1, roundMs: 4_000, budgetMs: Infinity }
const MESSAGES_QUICK = 200_000
const MESSAGES_FULL = 1_000_000
const CYCLES_QUICK = 1_000
const CYCLES_FULL = 5_000

type Row = Readonly<{
  figure: keyof BrokerRates | 'poison-others'
  workload: string
  limit: string
  ratioMin: number
}>

const ROWS: readonly Row[] = [
  ...(['send-batched', 'stream-1', 'stream-8'] as const).map((figure) => ({
    figure,
    workload: 'broker-batches',
    limit: 'put',
    ratioMin: BATCHED_RATIO_MIN,
  })),
  { figure: 'send-one', workload: 'broker-ones', limit: 'commit', ratioMin: 0.8 },
  { figure: 'serial-1', workload: 'broker-ones', limit: 'commit', ratioMin: 0.4 },
  { figure: 'serial-8', workload: 'broker-ones', limit: 'commit', ratioMin: 1.5 },
  { figure: 'poison-others', workload: 'broker-poison', limit: 'healthy', ratioMin: 0.95 },
]

export async function broker(options: Options): Promise<readonly Measured[]> {
  const { quick, say } = options
  const asked = options.rounds && { passes: options.rounds }
  const names = options.peers ?? (quick ? [] : BROKER_NAMES)
  await installPeers(names, say)
  const workloads = [...new Set(ROWS.map(({ workload }) => workload))]
  const readings = await takePasses(workloads, { ...(quick ? QUICK : FULL), ...asked }, say)
  const latency = { ...(quick ? LATENCY_QUICK : LATENCY_FULL), ...asked }
  const latencies = await takePasses([LATENCY], latency, say)
  for (const failure of [...readings.failures, ...latencies.failures]) say(`failed: ${failure}`)
  const messages = quick ? MESSAGES_QUICK : MESSAGES_FULL
  const backlog = await measureBacklog(messages, quick ? CYCLES_QUICK : CYCLES_FULL).catch(
    (error: unknown) => {
      say(`failed: backlog: ${String(error)}`)
      return undefined
    },
  )
  if (backlog !== undefined)
    say(`a backlog of ${messages} messages was sent in ${backlog.loadS.toFixed(1)} s`)
  const peers = new Map<string, BrokerRates>()
  for (const name of names) {
    const rates = await brokerPeer(name, say)
    if (rates !== undefined) peers.set(name, rates)
  }
  return [
    ...ROWS.map((row) => beside(row, readings, peers)),
    timed('p50', P50_MS_MAX, latencies, peers),
    timed('p99', P99_MS_MAX, latencies, peers),
    ...ofBacklog(backlog),
  ]
}

const LATENCY = 'broker-latency'

function beside(
  { figure, workload, limit, ratioMin }: Row,
  readings: Readings,
  peers: ReadonlyMap<string, BrokerRates>,
): Measured {
  return {
    suite: 'broker',
    figure,
    ours: readings.median(DURABLE, workload, figure),
    unit: 'message/s',
    limit: readings.median(DURABLE, workload, limit),
    peers: figure === 'poison-others' ? {} : ratesOf(peers, figure),
    rounds: readings.all(DURABLE, workload, figure).length,
    goal: [{ field: 'ratio', is: '>=', value: ratioMin }],
  }
}

function timed(
  which: 'p50' | 'p99',
  max: number,
  latencies: Readings,
  peers: ReadonlyMap<string, BrokerRates>,
): Measured {
  const figure = `latency-${which}-ms` as const
  return {
    suite: 'broker',
    figure,
    ours: latencies.median(DURABLE, LATENCY, which),
    unit: 'ms',
    peers: ratesOf(peers, figure),
    rounds: latencies.all(DURABLE, LATENCY, which).length,
    goal: [{ field: 'ours', is: '<=', value: max }],
  }
}

function ofBacklog(backlog: Backlog | undefined): readonly Measured[] {
  const p99 = unmeasured('backlog-p99-ratio', '', BACKLOG_P99_RATIO_MAX)
  const rss = unmeasured('backlog-rss-mb', 'MB', BACKLOG_RSS_MB_MAX)
  const restart = unmeasured('backlog-restart-s', 's', BACKLOG_RESTART_S_MAX)
  if (backlog === undefined) return [p99, rss, restart]
  const { messages, restartS, backlogP99, emptyP99, rssMb, peakMb } = backlog
  return [
    {
      ...p99,
      ours: backlogP99 / emptyP99,
      parts: { messages, backlog: backlogP99, empty: emptyP99 },
      rounds: 1,
    },
    { ...rss, ours: rssMb, parts: { messages, peak: peakMb }, rounds: 1 },
    { ...restart, ours: restartS, parts: { messages }, rounds: 1 },
  ]
}

function unmeasured(figure: string, unit: string, max: number): Measured {
  const goal = [{ field: 'ours', is: '<=', value: max }] as const
  return { suite: 'broker', figure, ours: undefined, unit, rounds: 0, goal }
}

function ratesOf(
  peers: ReadonlyMap<string, BrokerRates>,
  figure: keyof BrokerRates,
): Readonly<Record<string, number>> {
  const rates: Record<string, number> = {}
  for (const [name, { [figure]: rate }] of peers) if (rate !== undefined) rates[name] = rate
  return rates
}
