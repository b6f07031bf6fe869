/**
 * Other brokers with messages of the same size, each a server of its own that is reached over loopback. Their harness is
 * an unchanged copy; it starts the server, measures and ends it. Those that are durable before they answer are asked for.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { scratch } from '../durable/disk.ts'

/** Messages a second, and milliseconds. */
export type BrokerRates = Partial<Record<(typeof FIELDS)[number][0], number>>

type Peer = Readonly<{ driver: string; server: string; package: string }>

const PEERS: Readonly<Record<string, Peer>> = {
  beanstalkd: { driver: 'beanf0', server: 'beanstalkd', package: 'beanstalkd' },
  bullmq: { driver: 'bulla', server: 'redis-server', package: 'redis-server' },
  rabbitmq: {
    driver: 'rabbit',
    server: '/usr/lib/rabbitmq/bin/rabbitmq-server',
    package: 'rabbitmq-server',
  },
  graphile: {
    driver: 'graphile',
    server: '/usr/lib/postgresql/15/bin/postgres',
    package: 'postgresql',
  },
}

export const BROKER_NAMES: readonly string[] = Object.keys(PEERS)

const HARNESS = join(import.meta.dirname, '..', 'peers', 'brokers', 'peers', 'run.mjs')
const MESSAGES = 20_000
const REPETITIONS = 3
const RUN_MS_MAX = 300_000

/** What the harness calls our figures. */
const FIELDS = [
  ['send-batched', 'enqBatch'],
  ['send-one', 'enqOne'],
  ['stream-1', 'consBatch1'],
  ['stream-8', 'consBatch8'],
  ['serial-1', 'cons1'],
  ['serial-8', 'cons8'],
  ['latency-p50-ms', 'p50'],
  ['latency-p99-ms', 'p99'],
] as const

/** Nothing where its server is not installed, or where it fails; the run says so. */
export async function brokerPeer(
  name: string,
  say: (line: string) => void,
): Promise<BrokerRates | undefined> {
  const peer = PEERS[name]
  if (peer === undefined) return undefined
  if (!isInstalled(peer.server)) {
    say(`${name} is left out: ${peer.server} is not installed (apt-get install ${peer.package})`)
    return undefined
  }
  using directory = scratch()
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [HARNESS, peer.driver, String(REPETITIONS)],
      {
        timeout: RUN_MS_MAX,
        killSignal: 'SIGINT',
        env: {
          ...process.env,
          N: String(MESSAGES),
          PEERS_DATA: directory.path,
          OUT: join(directory.path, 'rows.jsonl'),
        },
      },
    )
    return ratesOf(JSON.parse(stdout))
  } catch (error) {
    say(`${name} is left out: ${String(error).split('\n')[0]}`)
    return undefined
  }
}

export function ratesOf(row: Readonly<Record<string, unknown>>): BrokerRates {
  const rates: BrokerRates = {}
  for (const [figure, field] of FIELDS) {
    const rate = row[field]
    if (typeof rate === 'number') rates[figure] = rate
  }
  return rates
}

function isInstalled(server: string): boolean {
  if (server.startsWith('/')) return existsSync(server)
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.some((folder) => existsSync(join(folder, server)))
}
