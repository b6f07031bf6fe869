import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { fault } from '../../std/index.ts'
import { explore, world, type World } from '../../testkit/index.ts'
import type { Broker, QueueStats } from '../broker.ts'
import { queue, type Queue } from '../client.ts'
import type { QueueConfig } from '../config.ts'
import { createBroker } from '../create-broker.ts'
import { CONSUMER_RETRY_MS, type Handling } from './consumer.ts'

type Office = Readonly<{
  town: World
  broker: Broker
  numbers: Queue<number>
  send(...bodies: number[]): Promise<void>
  stats(): Promise<QueueStats>
}> &
  AsyncDisposable

async function officeIn(town: World, config: Partial<QueueConfig> = {}): Promise<Office> {
  const { system, clock } = town
  const broker = await town.until(
    town.journal().then((journal) => createBroker({ system, journal })),
  )
  const numbers = queue<number>(broker, 'numbers', {
    config: { visibilityMs: 1_000, ...config },
    clock,
  })
  return {
    town,
    broker,
    numbers,
    async send(...bodies) {
      const sent = await town.until(numbers.sendBatch(bodies.map((body) => ({ body }))))
      assert.ok(sent.every(({ ok }) => ok))
    },
    async stats() {
      const stats = await town.until(broker.stats(numbers.name))
      assert.ok(!('ok' in stats))
      return stats
    },
    [Symbol.asyncDispose]: () => town[Symbol.asyncDispose](),
  }
}

const office = (config?: Partial<QueueConfig>): Promise<Office> => officeIn(world(), config)

/** Handlers that end when they are told to. */
class Desk {
  readonly began: number[] = []
  readonly handlings = new Map<number, Handling>()
  readonly #open = new Map<number, PromiseWithResolvers<void>>()
  most = 0

  readonly handle = (body: number, handling: Handling): Promise<void> => {
    this.began.push(body)
    this.handlings.set(body, handling)
    const end = Promise.withResolvers<void>()
    this.#open.set(body, end)
    this.most = Math.max(this.most, this.#open.size)
    return end.promise
  }

  finish(body: number): void {
    this.#take(body).resolve()
  }

  fail(body: number, error: unknown): void {
    this.#take(body).reject(error)
  }

  #take(body: number): PromiseWithResolvers<void> {
    const end = this.#open.get(body)
    assert.ok(end !== undefined, `${body} is being handled`)
    this.#open.delete(body)
    return end
  }
}

describe('a consumer', () => {
  test('deletes what its handler is through with', async () => {
    await using at = await office()
    const seen: number[] = []
    at.numbers.consume((body) => void seen.push(body))
    await at.send(1, 2, 3)
    await at.town.until(() => seen.length === 3)
    await at.town.advance(10)
    const { ready, leased, deleted } = await at.stats()
    assert.deepEqual([seen, ready, leased, deleted], [[1, 2, 3], 0, 0, 3])
  })

  test('gives back what its handler throws at, with the reason, until it is dead', async () => {
    await using at = await office({ maxReceives: 2 })
    const receives: number[] = []
    at.numbers.consume((_body, { message }) => {
      receives.push(message.receives)
      throw new Error('out of paper')
    })
    await at.send(1)
    await at.town.until(() => receives.length === 2)
    await at.town.advance(10)
    const dead = await at.town.until(at.numbers.dlq.browse())
    assert.ok(dead.ok)
    assert.deepEqual(
      dead.messages[0]?.failures.map(({ reason }) => reason),
      ['out of paper', 'out of paper'],
    )
    assert.deepEqual(receives, [1, 2])
  })

  test('says something also where what was thrown says nothing', async () => {
    await using at = await office({ maxReceives: 1 })
    const thrown: unknown[] = ['a text', { not: 'an error' }]
    at.numbers.consume((body) => {
      throw thrown[body]
    })
    await at.send(0, 1)
    await at.town.advance(100)
    const dead = await at.town.until(at.numbers.dlq.browse())
    assert.ok(dead.ok)
    assert.deepEqual(
      dead.messages.map(({ failures }) => failures[0]?.reason),
      ['a text', 'something was thrown: object'],
    )
  })

  test('lets wrong bodies die, and goes on', async () => {
    await using at = await office()
    const seen: number[] = []
    at.numbers.consume((body) => void seen.push(body))
    await at.send(1)
    await at.town.until(at.broker.send(at.numbers.name, [{ body: '{' }]))
    await at.send(2)
    await at.town.until(() => seen.length === 2)
    const dead = await at.town.until(at.numbers.dlq.browse())
    assert.ok(dead.ok)
    assert.deepEqual([seen, dead.messages.map(({ body }) => body)], [[1, 2], ['{']])
  })

  test('runs as many as it may and no more, and begins the next as soon as one is through', async () => {
    await using at = await office()
    const desk = new Desk()
    const consumer = at.numbers.consume(desk.handle, { concurrency: 2, prefetch: 3 })
    await at.send(1, 2, 3, 4, 5, 6, 7)
    await at.town.advance(10)
    assert.deepEqual(desk.began, [1, 2])
    assert.equal((await at.stats()).leased, 5)

    desk.finish(2) // the first is slow, and nobody waits for it
    await at.town.advance(10)
    desk.finish(3)
    await at.town.advance(10)
    assert.deepEqual(desk.began, [1, 2, 3, 4])
    for (const body of [1, 4]) desk.finish(body)
    await at.town.advance(10)
    for (const body of [5, 6]) desk.finish(body)
    await at.town.advance(10)
    desk.finish(7)
    await at.town.until(consumer.drain())
    assert.equal(desk.most, 2)
    assert.equal((await at.stats()).deleted, 7)
  })

  test('holds nothing beside what runs where it is told not to', async () => {
    await using at = await office()
    const desk = new Desk()
    at.numbers.consume(desk.handle, { concurrency: 2, prefetch: 0 })
    await at.send(1, 2, 3)
    await at.town.advance(10)
    assert.equal((await at.stats()).leased, 2)
  })

  test('refuses windows that are none', async () => {
    await using at = await office()
    for (const options of [{ concurrency: 0 }, { concurrency: 1.5 }, { prefetch: -1 }])
      assert.throws(() => at.numbers.consume(() => {}, options), { code: 'bad-option' })
  })

  test('waits for a message as long as it takes', async () => {
    await using at = await office()
    const seen: number[] = []
    at.numbers.consume((body) => void seen.push(body))
    await at.town.advance(600_000)
    await at.send(1)
    await at.town.until(() => seen.length === 1)
  })
})

describe('the lease of a message', () => {
  test('lasts as long as its handler runs, and while it waits for one', async () => {
    await using at = await office()
    const desk = new Desk()
    at.numbers.consume(desk.handle, { concurrency: 1, prefetch: 1 })
    await at.send(1, 2)
    await at.town.advance(10_250)
    assert.deepEqual(desk.began, [1])
    desk.finish(1)
    await at.town.advance(5_000)
    desk.finish(2)
    await at.town.advance(10)
    assert.deepEqual([desk.began, (await at.stats()).deleted], [[1, 2], 2])
  })

  test('ends where it is not to be extended, and the handler hears of it', async () => {
    await using at = await office()
    const desk = new Desk()
    at.numbers.consume(desk.handle, { autoExtend: false, concurrency: 2, visibilityMs: 2_000 })
    await at.send(1)
    await at.town.advance(1_999)
    assert.equal(desk.handlings.get(1)?.signal.aborted, false)
    const first = desk.handlings.get(1)!
    await at.town.advance(10)
    assert.equal((first.signal.reason as { code: string }).code, 'not-in-flight')
    assert.deepEqual(desk.began, [1, 1]) // somebody else may have it, and here it is the same
    desk.finish(1)
    await at.town.advance(10)
    assert.equal((await at.stats()).deleted, 1)
  })

  test('that was lost all the same is told to the handler, whose end then has no effect', async () => {
    await using at = await office()
    const desk = new Desk()
    at.numbers.consume(desk.handle, { prefetch: 0 })
    await at.send(1)
    await at.town.advance(10)
    await at.town.until(at.broker.purge(at.numbers.name, { includeLeased: true }))
    await at.town.advance(1_000)
    assert.equal(desk.handlings.get(1)?.signal.aborted, true)
    desk.finish(1)
    await at.send(2)
    await at.town.until(() => desk.began.length === 2)
  })

  test('is asked for again where the broker has no time, until it is over', async (t) => {
    await using at = await office()
    const desk = new Desk()
    const asked: number[] = []
    at.numbers.consume(desk.handle, { prefetch: 0 })
    await at.send(1)
    await at.town.advance(1)
    const settle = at.broker.settle.bind(at.broker)
    t.mock.method(at.broker, 'settle', (...args: Parameters<Broker['settle']>) => {
      asked.push(at.town.clock.monotonic())
      if (asked.length === 2) return settle(...args)
      return Promise.resolve([fault('broker-overloaded', 'not now')])
    })
    await at.town.advance(700)
    assert.equal(asked.length, 2)
    assert.equal(desk.handlings.get(1)?.signal.aborted, false)
    await at.town.advance(1_000)
    assert.equal(desk.handlings.get(1)?.signal.aborted, true)
  })
})

describe('the end of a consumer', () => {
  test('lets what runs finish, and gives back the rest uncounted', async () => {
    await using at = await office()
    const desk = new Desk()
    const consumer = at.numbers.consume(desk.handle, { concurrency: 1, prefetch: 2 })
    await at.send(1, 2, 3)
    await at.town.advance(10)
    const draining = consumer.drain()
    await at.town.advance(5_000)
    assert.equal(desk.handlings.get(1)?.signal.aborted, false)
    desk.finish(1)
    await at.town.until(draining)
    assert.equal(await consumer.ended, undefined)
    const { deleted, ready, leased } = await at.stats()
    assert.deepEqual([deleted, ready, leased, desk.began], [1, 2, 0, [1]])
    const received = await at.town.until(at.numbers.receive({ max: 2 }))
    assert.ok(!('ok' in received))
    assert.deepEqual(
      received.map(({ body, receives }) => [body, receives]),
      [
        [2, 1],
        [3, 1],
      ],
    )
  })

  test('need not be waited for', async () => {
    await using at = await office()
    const desk = new Desk()
    const consumer = at.numbers.consume(desk.handle)
    await at.send(1)
    await at.town.advance(10)
    const leaving = new AbortController()
    const draining = consumer.drain({ signal: leaving.signal })
    leaving.abort(new Error('no time'))
    await assert.rejects(at.town.until(draining), { message: 'no time' })
    desk.finish(1)
    await at.town.until(consumer.ended)
  })

  test('by its signal reaches the handlers, and who leaves then has not failed', async () => {
    await using at = await office()
    const desk = new Desk()
    const ending = new AbortController()
    const consumer = at.numbers.consume(desk.handle, { signal: ending.signal })
    await at.send(1)
    await at.town.advance(10)
    ending.abort(new Error('closing time'))
    const { signal } = desk.handlings.get(1)!
    assert.equal((signal.reason as Error).message, 'closing time')
    desk.fail(1, signal.reason)
    assert.equal(await at.town.until(consumer.ended), undefined)
    const received = await at.town.until(at.numbers.receive())
    assert.ok(!('ok' in received))
    assert.deepEqual([received[0]?.receives, received[0]?.failures], [1, []])
  })

  test('is at once where the signal had aborted before', async () => {
    await using at = await office()
    await at.send(1)
    const consumer = at.numbers.consume(() => assert.fail(), { signal: AbortSignal.abort() })
    assert.equal(await at.town.until(consumer.ended), undefined)
  })

  test('comes with that of the queue, and says so', async () => {
    await using at = await office()
    const consumer = at.numbers.consume(() => {})
    await at.town.advance(10)
    await at.town.until(at.broker.delete(at.numbers.name))
    const why = await at.town.until(consumer.ended)
    assert.ok(why?.code === 'queue-deleted' || why?.code === 'no-such-queue', why?.code)
  })

  test('does not come with a refusal that passes', async (t) => {
    await using at = await office()
    const seen: number[] = []
    let refusals = 2
    const receive = at.broker.receive.bind(at.broker)
    t.mock.method(at.broker, 'receive', (...args: Parameters<Broker['receive']>) =>
      refusals-- > 0 ? Promise.resolve(fault('too-many-parked', 'full')) : receive(...args),
    )
    at.numbers.consume((body) => void seen.push(body))
    await at.send(1)
    await at.town.advance(2 * CONSUMER_RETRY_MS - 1)
    assert.deepEqual(seen, [])
    await at.town.until(() => seen.length === 1, { withinMs: 10 })
  })

  test('ends also while it waits after a refusal', async (t) => {
    await using at = await office()
    t.mock.method(at.broker, 'receive', async () => fault('too-many-parked', 'full'))
    const consumer = at.numbers.consume(() => {})
    await at.town.advance(10)
    await at.town.until(consumer.drain(), { withinMs: 10 })
  })
})

test('consumers together handle everything once, in whichever order things happen', async () => {
  await explore(20, async (town) => {
    const at = await officeIn(town)
    const seen: number[] = []
    const handler = (body: number): void => void seen.push(body)
    const consumers = [1, 2, 3].map((concurrency) => at.numbers.consume(handler, { concurrency }))
    const bodies = Array.from({ length: 30 }, (_, body) => body)
    await at.send(...bodies)
    await town.until(() => seen.length >= bodies.length)
    await town.until(Promise.all(consumers.map((consumer) => consumer.drain())))
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      bodies,
    )
    assert.equal((await at.stats()).deleted, bodies.length)
  })
})
