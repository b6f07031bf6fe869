/**
 * The workloads of queues. The limit of what is sent and acknowledged in batches is the journal's rate of records,
 * that of one at a time its rate of single commits: on the same journal, in the same process, taking turns with ours.
 */
import {
  type Broker,
  createBroker,
  type Delivery,
  HOME,
  type NewMessage,
  type QueueFault,
  type QueueName,
} from '../../src/broker/index.ts'
import type { Journal } from '../../src/journal/index.ts'
import { createSystem } from '../../src/kernel/index.ts'
import type { Effort, Samples } from './effort.ts'
import { payload } from './items.ts'
import { deleting, event, pipelined, putting } from './journal.ts'
import { drive, quiet, sized, untilAnswered, untilQuiet } from './load.ts'
import { committed, openJournal } from './ours.ts'

/** Messages of one send, and sends in flight: about as many messages as the limit has records in flight. */
const SEND = 100
const SENDS = 40
/** Messages that one receive asks for, and how many of those a consumer has that it has not acknowledged. */
const TAKE = 250
const UNSETTLED = 4
const RATE = 1_000
const LATENCY_WARM_UP = 1_000

export const QUEUE: QueueName = { ...HOME, name: 'bench' }

export type Office = Readonly<{ journal: Journal; broker: Broker }> & AsyncDisposable

/** A broker with everything on, and one queue that is as queues are unless somebody says otherwise. */
export async function openBroker(directory: string): Promise<Office> {
  const journal = await openJournal(directory)
  const system = createSystem({ name: 'bench' })
  const broker = await createBroker({ system, journal })
  granted(await broker.create(QUEUE))
  return {
    journal,
    broker,
    async [Symbol.asyncDispose]() {
      await broker.close()
      await system[Symbol.asyncDispose]()
      await journal[Symbol.asyncDispose]()
    },
  }
}

/** Sends in batches; then one consumer, or eight, take what was sent. */
export async function batches(directory: string, effort: Effort): Promise<Samples> {
  await using office = await openBroker(directory)
  const { journal, broker } = office
  let last = 0
  let first = 0
  const put = (count: number): Promise<number> =>
    untilQuiet(() => drive(pipelined(journal, count, () => putting(last++))))
  const remove = (count: number): Promise<number> =>
    untilQuiet(() => drive(pipelined(journal, count, () => deleting(first++))))
  const sending = (count: number): Promise<number> => untilQuiet(() => sendAll(broker, count))
  const streaming = (count: number, consumers: number): Promise<number> =>
    untilQuiet(() => stream(broker, count, consumers))
  const count = Math.ceil((await sized(effort.roundMs, sending)) / SEND) * SEND
  await stream(broker, await depth(broker), 1)
  await put(count)
  await remove(count)
  const all: Samples = { put: [], 'send-batched': [], 'stream-1': [], 'stream-8': [] }
  const add = (name: string, ms: number): void => void all[name]?.push((count * 1_000) / ms)
  for (let round = 0; isDue(round, effort); round++) {
    add('put', await put(count))
    add('send-batched', await sending(count))
    add('stream-1', await streaming(count, 1))
    await sending(count)
    add('stream-8', await streaming(count, 8))
    await remove(count)
  }
  await mustBeEmpty(broker)
  return all
}

/** One message, and then the next: sent; received and deleted by one; and by eight at the same time. */
export async function ones(directory: string, effort: Effort): Promise<Samples> {
  await using office = await openBroker(directory)
  const { journal, broker } = office
  let version = 0
  const commit = (count: number): Promise<number> =>
    untilAnswered({
      count,
      inFlight: 1,
      issue: () => journal.commit(event('one', version++)).then(committed),
      good: Boolean,
    })
  const sendOne = (count: number): Promise<number> =>
    untilAnswered({
      count,
      inFlight: 1,
      issue: (index) => sent(broker, [{ body: payload(index) }]),
      good: Boolean,
    })
  const serial = (count: number, inFlight: number): Promise<number> =>
    untilAnswered({ count, inFlight, issue: () => takeOne(broker), good: Boolean })
  const count = await sized(effort.roundMs, sendOne)
  await stream(broker, await depth(broker), 1)
  await commit(count)
  const all: Samples = { commit: [], 'send-one': [], 'serial-1': [], 'serial-8': [] }
  const add = (name: string, ms: number): void => void all[name]?.push((count * 1_000) / ms)
  for (let round = 0; isDue(round, effort); round++) {
    await quiet()
    add('commit', await commit(count))
    await quiet()
    add('send-one', await sendOne(count))
    await quiet()
    add('serial-1', await serial(count, 1))
    await sendAll(broker, Math.ceil(count / SEND) * SEND)
    await quiet()
    add('serial-8', await serial(count, 8))
    await stream(broker, await depth(broker), 1)
  }
  await mustBeEmpty(broker)
  return all
}

/** From before a message is sent until somebody who waits has it, at a thousand a second. */
export async function latency(directory: string, { roundMs }: Effort): Promise<Samples> {
  await using office = await openBroker(directory)
  const { broker } = office
  await takeLatencies(broker, LATENCY_WARM_UP)
  await quiet()
  const tookMs = await takeLatencies(broker, Math.ceil((RATE * roundMs) / 1_000))
  return { p50: [percentile(tookMs, 0.5)], p99: [percentile(tookMs, 0.99)] }
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
}

/** `count` is a multiple of SEND. */
export function sendAll(broker: Broker, count: number): Promise<void> {
  return drive({
    count: count / SEND,
    inFlight: SENDS,
    issue: (index) =>
      sent(
        broker,
        Array.from({ length: SEND }, (_, offset) => ({ body: payload(index * SEND + offset) })),
      ),
    good: Boolean,
  })
}

export async function sent(
  broker: Broker,
  messages: readonly NewMessage[],
  to: QueueName = QUEUE,
): Promise<boolean> {
  return (await broker.send(to, messages)).every(({ ok }) => ok)
}

/** Receives one message and deletes it; false if there was none, or if it is not gone. */
export async function takeOne(broker: Broker, from: QueueName = QUEUE): Promise<boolean> {
  const [delivery] = granted(await broker.receive(from, { max: 1 }))
  if (delivery === undefined) return false
  const [answer] = await broker.settle(from, [{ type: 'delete', receipt: delivery.receipt }])
  return answer?.ok === true && answer.effective
}

/** Each consumer receives the next while it waits for a few acknowledgements to be durable. */
async function stream(broker: Broker, count: number, consumers: number): Promise<void> {
  let left = count
  await Promise.all(
    Array.from({ length: consumers }, async () => {
      const unsettled: Promise<void>[] = []
      while (left > 0) {
        const max = Math.min(TAKE, left)
        left -= max
        for (let missing = max; missing > 0;) {
          const deliveries = granted(await broker.receive(QUEUE, { max: missing }))
          if (deliveries.length === 0) throw new Error(`${missing} messages are missing`)
          missing -= deliveries.length
          if (unsettled.length === UNSETTLED) await unsettled.shift()
          unsettled.push(acknowledge(broker, deliveries))
        }
      }
      await Promise.all(unsettled)
    }),
  )
}

async function acknowledge(broker: Broker, deliveries: readonly Delivery[]): Promise<void> {
  const ends = deliveries.map(({ receipt }) => ({ type: 'delete', receipt }) as const)
  const answers = await broker.settle(QUEUE, ends)
  if (!answers.every((answer) => answer.ok && answer.effective))
    throw new Error('what was received is not gone')
}

/** Somebody always waits; what comes is acknowledged without waiting for that. */
async function takeLatencies(broker: Broker, count: number): Promise<number[]> {
  const tookMs: number[] = []
  const settled: Promise<unknown>[] = []
  const consumer = async (): Promise<void> => {
    while (tookMs.length < count)
      for (const { body, receipt } of granted(
        await broker.receive(QUEUE, { max: 100, waitMs: 5_000 }),
      )) {
        tookMs.push(performance.now() - Number.parseFloat(body))
        settled.push(broker.settle(QUEUE, [{ type: 'delete', receipt }]))
      }
  }
  const consuming = consumer()
  const start = performance.now()
  const sends: Promise<boolean>[] = []
  while (sends.length < count) {
    const due = Math.min(count, Math.floor(((performance.now() - start) * RATE) / 1_000))
    while (sends.length < due)
      sends.push(sent(broker, [{ body: `${performance.now()} ${payload(0)}`.slice(0, 256) }]))
    await new Promise((wake) => setTimeout(wake, 1))
  }
  if (!(await Promise.all(sends)).every(Boolean)) throw new Error('a send was refused')
  await consuming
  await Promise.all(settled)
  return tookMs
}

/** The process began with the workload. */
function isDue(round: number, { rounds, msMax = Infinity }: Effort): boolean {
  return round < rounds && (round === 0 || performance.now() < msMax)
}

async function depth(broker: Broker): Promise<number> {
  const stats = granted(await broker.stats(QUEUE))
  return stats.ready
}

async function mustBeEmpty(broker: Broker): Promise<void> {
  const { ready, leased, sent: all, deleted } = granted(await broker.stats(QUEUE))
  if (ready + leased > 0 || all !== deleted)
    throw new Error(`of ${all} messages ${deleted} are deleted, and ${ready + leased} are left`)
}

export function granted<T>(answer: T | QueueFault): T {
  if (isRefusal(answer)) throw new Error(`${answer.code}: ${answer.message}`)
  return answer
}

function isRefusal(answer: unknown): answer is QueueFault {
  return typeof answer === 'object' && answer !== null && 'ok' in answer && !answer.ok
}
