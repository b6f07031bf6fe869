/**
 * Workers at a queue: orders are sent, three are packed at a time, and what cannot be packed is put aside.
 *
 * The handler does nothing about queues: when it returns the order is done, and when it throws the order comes again
 * until it has come too often. Then it waits among the dead letters, with the reasons, to be looked at and taken
 * back.
 */
import { createBroker, queue, type Handler } from '../src/broker/index.ts'
import { Accident, assert, isFault } from '../src/std/index.ts'
import { world } from '../src/testkit/index.ts'

export const title = 'Workers at a queue: what fails comes again, and is put aside in the end'

export type Order = Readonly<{ id: number; item: string }>

const PACKING_MS = 1_000

/** On virtual time: packing takes a second each, and the tour does not wait for it. */
export async function show(print: (line: string) => void): Promise<void> {
  await using town = world()
  const { system, clock } = town
  const journal = await town.until(town.journal())
  const broker = await town.until(createBroker({ system, journal }))
  const config = { maxReceives: 2, backoff: { baseMs: 500, factor: 2, maxMs: 60_000, jitter: 0 } }
  const orders = queue<Order>(broker, 'orders', { config, clock })

  const stock = new Set(['lamp', 'chair', 'table'])
  const packed: number[] = []
  const pack: Handler<Order> = async ({ id, item }) => {
    if (!stock.has(item)) throw new Error(`there is no ${item}`)
    await new Promise<void>((resolve) => clock.setTimer(clock.monotonic() + PACKING_MS, resolve))
    packed.push(id)
  }

  const items = ['lamp', 'chair', 'table', 'lamp', 'sofa', 'chair']
  await town.until(orders.sendBatch(items.map((item, n) => ({ body: { id: n + 1, item } }))))
  const workers = orders.consume(pack, { concurrency: 3 })
  await town.until(() => packed.length === 5)
  print(`after ${clock.monotonic() / 1_000} s, three at a time: packed ${inOrder(packed)}`)

  const dead = await town.until(orders.dlq.browse())
  if (!dead.ok) throw new Accident(dead)
  for (const { body, failures } of dead.messages)
    print(`put aside: ${body}, ${failures.map(({ reason }) => reason).join(' and ')}`)

  stock.add('sofa')
  const redrive = await town.until(orders.dlq.redrive())
  if (isFault(redrive)) throw new Accident(redrive)
  await town.until(() => packed.length === 6)
  print('the sofa has come, the order is taken back and packed')
  await town.until(workers.drain())

  const stats = await town.until(broker.stats(orders.name))
  if ('ok' in stats) throw new Accident(stats)
  print(`${stats.deleted} orders done, ${stats.nacked} failures on the way`)
  assert(inOrder(packed) === '1, 2, 3, 4, 5, 6', 'every order is packed once')
}

function inOrder(ids: readonly number[]): string {
  return ids.toSorted((a, b) => a - b).join(', ')
}
