/** What messages that nobody can handle cost the others: eight consumers, one message in a hundred, three receives. */
import type { Broker, QueueName } from '../../src/broker/index.ts'
import { granted, openBroker, QUEUE } from './broker.ts'
import type { Effort, Samples } from './effort.ts'
import { payload } from './items.ts'
import { quiet } from './load.ts'

const MESSAGES = 50_000
const SEND = 1_000
const POISON_EVERY = 100
const POISON = 'poison'
const MAX_RECEIVES = 3
const CONSUMERS = 8
const TAKE = 10

/** Messages a second that were handled, without any that cannot be and with them, in turns. */
export async function poison(directory: string, { rounds }: Effort): Promise<Samples> {
  await using office = await openBroker(directory)
  const { broker } = office
  const queue = { ...QUEUE, name: 'poisoned' }
  const config = { maxReceives: MAX_RECEIVES, deadLetterQueue: 'dead' }
  granted(await broker.create(queue, config))
  const all: Samples = { healthy: [], 'poison-others': [] }
  await rateOf(broker, queue, POISON_EVERY)
  for (let round = 0; round < rounds; round++) {
    all['healthy']!.push(await rateOf(broker, queue, Infinity))
    all['poison-others']!.push(await rateOf(broker, queue, POISON_EVERY))
  }
  return all
}

async function rateOf(broker: Broker, queue: QueueName, poisonEvery: number): Promise<number> {
  for (let first = 0; first < MESSAGES; first += SEND) {
    const some = Array.from({ length: SEND }, (_, n) => ({
      body: n % poisonEvery === 7 ? POISON : payload(n),
    }))
    if (!(await broker.send(queue, some)).every(({ ok }) => ok))
      throw new Error('a send is refused')
  }
  await quiet()
  let handled = 0
  const start = performance.now()
  await Promise.all(Array.from({ length: CONSUMERS }, consume))
  return (handled * 1_000) / (performance.now() - start)

  async function consume(): Promise<void> {
    for (;;) {
      const deliveries = granted(await broker.receive(queue, { max: TAKE }))
      if (deliveries.length === 0) return
      const ends = deliveries.map(({ body, receipt }) => {
        const type = body === POISON ? 'nack' : 'delete'
        if (type === 'delete') handled++
        return { type, receipt } as const
      })
      if (!(await broker.settle(queue, ends)).every(({ ok }) => ok))
        throw new Error('the end of a delivery is refused')
    }
  }
}
