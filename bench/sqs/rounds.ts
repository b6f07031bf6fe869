/**
 * The rounds of the SQS suite. All servers live at the same time, each in its own process, and are loaded in turn: by the
 * same process of Amazon's client, and by wrk. A round ends when the server has become idle.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { scratch } from '../durable/disk.ts'
import { Readings } from '../rounds.ts'
import { stopped, type Server } from '../stock/server-process.ts'
import type { SdkDone, SdkKind, SdkTask } from './sdk-process.ts'
import { queueUrlOf, startFront, startKeyed, startOpen, startStub } from './servers.ts'
import { sendingTo, signed } from './signed.ts'
import { wrkRate } from './wrk.ts'

export type SqsEffort = Readonly<{
  rounds: number
  roundMs: number
  /** No round is begun that would end later than this, apart from the first. */
  budgetMs: number
}>

export const SQS = 'sqs'
export const SDK = 'sdk'
export const WIRE = 'wire'

const PROGRAM = join(import.meta.dirname, 'sdk-process.ts')
const KINDS: readonly SdkKind[] = ['send', 'batch', 'receive']
/** Messages with which the client and the servers warm up, and of which a round has a multiple. */
const WARM_UP: Readonly<Record<SdkKind, number>> = { send: 1_000, batch: 10_000, receive: 5_000 }
const WARM_UPS = 2
/** Nothing is warmed up once more later than this. */
const WARM_UP_MS_MAX = 10_000

export async function takeSqsRounds(
  effort: SqsEffort,
  say: (line: string) => void,
): Promise<Readings> {
  const readings = new Readings()
  const start = performance.now()
  using directory = scratch()
  const servers: Server[] = []
  const keep = async (starting: Promise<Server>): Promise<Server> => {
    const server = await starting
    servers.push(server)
    return server
  }
  const client = new SdkClient()
  try {
    const open = await keep(startOpen(directory.path))
    const keyed = await keep(startKeyed(directory.path))
    const stub = await keep(startStub())
    const front = await keep(startFront())
    const load = new WireLoad(directory.path, effort.roundMs)
    await client.makeQueue(open)
    await client.makeQueue(keyed)
    const counts = await warmedUp(client, [stub, open], effort.roundMs)
    await load.warmUp([front, open, keyed], keyed)
    for (let round = 0; round < effort.rounds; round++) {
      const begin = performance.now()
      const perRound = (begin - start) / (round + 1)
      if (round > 0 && begin - start + perRound > effort.budgetMs) break
      for (const kind of KINDS) {
        const count = counts[kind]
        readings.add(SQS, SDK, { [`${kind} limit`]: [await client.rate(stub, kind, count)] })
        readings.add(SQS, SDK, { [`${kind} ours`]: [await client.rate(open, kind, count)] })
      }
      readings.add(SQS, WIRE, { limit: [await load.plain(front)] })
      readings.add(SQS, WIRE, { open: [await load.plain(open)] })
      readings.add(SQS, WIRE, { keyed: [await load.signed(keyed)] })
      say(`round ${round + 1} ${((performance.now() - begin) / 1_000).toFixed(2)} s`)
    }
  } catch (error) {
    for (const workload of [SDK, WIRE]) readings.fail(SQS, workload, String(error))
  } finally {
    await client.stop()
    for (const server of servers) await server.stop()
  }
  return readings
}

/** How many messages of each kind fill a round at the rate of the limit; the queue always has more than are taken. */
async function warmedUp(
  client: SdkClient,
  servers: readonly Server[],
  roundMs: number,
): Promise<Readonly<Record<SdkKind, number>>> {
  const counts = { send: 0, batch: 0, receive: 0 }
  const start = performance.now()
  for (let time = 0; time < WARM_UPS && performance.now() - start < WARM_UP_MS_MAX; time++)
    for (const server of servers.toReversed())
      for (const kind of KINDS)
        counts[kind] = ((await client.rate(server, kind, WARM_UP[kind])) * roundMs) / 1_000
  return {
    send: tens(counts.send),
    batch: tens(counts.batch),
    receive: tens(Math.min(counts.receive, counts.batch)),
  }
}

function tens(count: number): number {
  return Math.ceil(count / 10) * 10
}

class SdkClient {
  readonly #child: ChildProcess = fork(PROGRAM)

  /** Messages a second, until the server has nothing left to do. */
  async rate(server: Server, kind: SdkKind, count: number): Promise<number> {
    const origin = `http://${server.host}:${server.port}`
    const { startedAt } = await this.#ask({ origin, kind, count })
    return (count * 1_000) / ((await server.quietSince()) - startedAt)
  }

  makeQueue({ host, port }: Server): Promise<unknown> {
    return this.#ask({ origin: `http://${host}:${port}`, kind: 'create', count: 1 })
  }

  async #ask(task: SdkTask): Promise<Readonly<{ startedAt: number }>> {
    const heard = once(this.#child, 'message')
    this.#child.send(task)
    const [answer]: SdkDone[] = await heard
    if (answer === undefined || 'error' in answer) throw new Error(answer?.error ?? 'no answer')
    return answer
  }

  stop(): Promise<void> {
    return stopped(this.#child)
  }
}

class WireLoad {
  readonly #directory: string
  readonly #roundMs: number

  constructor(directory: string, roundMs: number) {
    this.#directory = directory
    this.#roundMs = roundMs
  }

  async warmUp(servers: readonly Server[], keyed: Server): Promise<void> {
    const start = performance.now()
    for (let time = 0; time < WARM_UPS && performance.now() - start < WARM_UP_MS_MAX; time++)
      for (const server of servers)
        await (server === keyed ? this.signed(server) : this.plain(server))
  }

  plain(server: Server): Promise<number> {
    return wrkRate(server, sendingTo(queueUrlOf(server)), this.#directory, this.#roundMs)
  }

  signed(server: Server): Promise<number> {
    const { host, port } = server
    const sending = signed(sendingTo(queueUrlOf(server)), `${host}:${port}`, new Date())
    return wrkRate(server, sending, this.#directory, this.#roundMs)
  }
}
