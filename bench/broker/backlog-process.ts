/**
 * A backlog from inside, in two processes after each other.
 *
 *     node bench/broker/backlog-process.ts load DIRECTORY COUNT
 *     node bench/broker/backlog-process.ts open DIRECTORY COUNT CYCLES
 *
 * The first sends so many messages and ends. The second opens the same directory, says `answered` as soon as it has
 * received a message, and then how long it takes to send, receive and delete one: beside the backlog and in a queue
 * that is empty, in turns. It stays until it is ended, so that somebody can read how much memory it has.
 */
import { HOME, type Broker, type QueueName } from '../../src/broker/index.ts'
import {
  granted,
  openBroker,
  percentile,
  QUEUE,
  sendAll,
  sent,
  takeOne,
} from '../durable/broker.ts'
import { payload } from '../durable/items.ts'
import { quiet } from '../durable/load.ts'

export type Heard = 'loaded' | 'answered' | Readonly<{ backlog: number; empty: number }>

const EMPTY: QueueName = { ...HOME, name: 'empty' }
const WARM_UP = 500
const PACE_MS = 1

const [, , what, directory = '', count = '0', cycles = '0'] = process.argv
if (what === 'load') await load(Number(count))
else await open(Number(count), Number(cycles))

async function load(messages: number): Promise<void> {
  await using office = await openBroker(directory)
  await sendAll(office.broker, messages)
  await quiet()
  say('loaded')
}

async function open(messages: number, times: number): Promise<void> {
  const { broker } = await openBroker(directory)
  if (!(await takeOne(broker))) throw new Error('nothing came back')
  say('answered')
  const { ready } = granted(await broker.stats(QUEUE))
  if (ready !== messages - 1) throw new Error(`${ready} of ${messages - 1} messages came back`)
  await quiet()
  granted(await broker.create(EMPTY))
  await inTurns(broker, WARM_UP)
  const { backlog, empty } = await inTurns(broker, times)
  process.on('message', () => undefined) // whoever listens stays, as long as there is a parent
  say({ backlog: percentile(backlog, 0.99), empty: percentile(empty, 0.99) })
}

async function inTurns(
  broker: Broker,
  times: number,
): Promise<Readonly<{ backlog: readonly number[]; empty: readonly number[] }>> {
  const tookMs = { backlog: [] as number[], empty: [] as number[] }
  for (let time = 0; time < times; time++) {
    tookMs.backlog.push(await cycle(broker, QUEUE))
    tookMs.empty.push(await cycle(broker, EMPTY))
    await new Promise((wake) => setTimeout(wake, PACE_MS))
  }
  return tookMs
}

async function cycle(broker: Broker, queue: QueueName): Promise<number> {
  const start = performance.now()
  if (!(await sent(broker, [{ body: payload(0) }], queue))) throw new Error('a send was refused')
  if (!(await takeOne(broker, queue))) throw new Error('there was nothing to take')
  return performance.now() - start
}

function say(heard: Heard): void {
  if (process.send === undefined)
    process.stdout.write(`${JSON.stringify(heard)} ${performance.now()}\n`)
  else process.send(heard)
}
