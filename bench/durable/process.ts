/**
 * One durable workload in one fresh process, on a directory of its own.
 *
 *     node bench/durable/process.ts WORKLOAD '{"rounds":5,"roundMs":500}'
 *     node bench/durable/process.ts flood '{"count":200000}'
 *
 * Started by the harness it sends its samples; started by hand it prints them.
 */
import { batches, latency, ones } from './broker.ts'
import { scratch } from './disk.ts'
import type { Effort, Samples } from './effort.ts'
import { activation, commands } from './entity.ts'
import { append, flood, one, records } from './journal.ts'
import { poison } from './poison.ts'
import { peer, type PeerWork, STORE_NAMES } from './peers.ts'

type Task = Effort & PeerWork & Readonly<{ count: number }>
type Workload = (directory: string, task: Task) => Promise<Samples>

const WORKLOADS: Readonly<Record<string, Workload>> = {
  append,
  records,
  one,
  commands,
  activation,
  'broker-batches': batches,
  'broker-ones': ones,
  'broker-latency': latency,
  'broker-poison': poison,
  async flood(directory, { count }) {
    await flood(directory, count)
    return {}
  },
  ...Object.fromEntries(
    STORE_NAMES.map((name): [string, Workload] => [
      name,
      (directory, task) => peer(name, directory, task),
    ]),
  ),
}

const [, , name = '', json = '{}'] = process.argv
const workload = WORKLOADS[name]
if (workload === undefined) throw new Error(`no such workload: ${name}`)

const samples = await inScratch(workload)
if (process.send === undefined) process.stdout.write(`${JSON.stringify({ samples })}\n`)
else process.send({ samples }, () => process.exit(0))

async function inScratch(run: Workload): Promise<Samples> {
  using directory = scratch()
  return await run(directory.path, JSON.parse(json))
}
