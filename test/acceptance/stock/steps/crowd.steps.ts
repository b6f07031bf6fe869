/** Many clients at once, and the books they keep of what they were told. */
import assert from 'node:assert/strict'

import { Then, When } from '@cucumber/cucumber'

import { passing } from '../../until.ts'
import { at, type Answer, type Sent } from '../../client.ts'
import { untilAway } from './life.steps.ts'
import { historyOf } from './reading.steps.ts'
import { deliveriesAt, delivery, move, movesOutOf, named } from './writing.steps.ts'
import type { StockWorld } from './world.ts'

/** What clients sent until the service was gone. */
type Book = { confirmed: Sent[]; unanswered: Sent[]; refused: Answer[] }

const books = new WeakMap<StockWorld, Book>()

When(
  /^(\d+) deliveries of 1 "([^"]+)" are sent at once, spread over (.+)$/,
  async function (this: StockWorld, count: string, product: string, list: string) {
    const places = [...list.matchAll(/"([^"]+)"/g)].map(([, place]) => place!)
    await atOnce(
      this,
      times(Number(count), (n) => one(this, places[n % places.length]!, product)),
    )
  },
)

When(
  '{int} moves of 1 {string} from {string} to {string} are sent at once',
  async function (this: StockWorld, count: number, product: string, from: string, to: string) {
    await atOnce(
      this,
      times(count, () => moving(this, product, from, to)),
    )
  },
)

When(
  '{int} moves of 1 {string} from {string} to {string} and {int} back are sent at once',
  async function (
    this: StockWorld,
    count: number,
    product: string,
    from: string,
    to: string,
    back: number,
  ) {
    const there = times(count, () => moving(this, product, from, to))
    const again = times(back, () => moving(this, product, to, from))
    await atOnce(
      this,
      there.flatMap((sent, n) => [sent, ...again.slice(n, n + 1)]),
    )
  },
)

When(
  '{int} copies of one delivery of {int} {string} to {string} are sent at once',
  async function (
    this: StockWorld,
    count: number,
    quantity: number,
    product: string,
    place: string,
  ) {
    const body = delivery(this, [{ productId: this.product(product), quantity }])
    const sent = { method: 'POST', path: deliveriesAt(this, place), body }
    await atOnce(
      this,
      times(count, () => sent),
    )
  },
)

When(
  'two sales of 1 {string} at {string} are sent at once on the same version',
  async function (this: StockWorld, product: string, place: string) {
    const path = this.potPath(place, product)
    const { headers } = await this.ask({ method: 'GET', path })
    const version = headers.get('etag')
    assert.match(version ?? '', /^"\d+"$/)
    await atOnce(
      this,
      times(2, () => ({
        method: 'POST',
        path: `${path}/sales`,
        body: { ...named(this), quantity: 1, soldAt: this.time() },
        headers: { 'if-match': version! },
      })),
    )
  },
)

When(
  '{int} clients each move 1 {string} {int} times from {string} to {string}, {int} times over, each time when the pots are away',
  async function (
    this: StockWorld,
    clients: number,
    product: string,
    count: number,
    from: string,
    to: string,
    rounds: number,
  ) {
    const client = async (): Promise<void> => {
      for (let each = 0; each < count; each += 1) await this.send(moving(this, product, from, to))
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const place of [from, to]) await untilAway(this, place, product)
      await Promise.all(Array.from({ length: clients }, client))
    }
    for (const place of [from, to]) await untilAway(this, place, product)
  },
)

Then('pots were put away at least {int} times', async function (this: StockWorld, least: number) {
  const metrics = await this.metrics()
  const key = Object.keys(metrics).find((name) => /passivat/.test(name))
  assert.ok(key !== undefined, `no passivations among ${Object.keys(metrics).join(', ')}`)
  assert.ok(metrics[key]! >= least, `${key} ${metrics[key]}`)
})

When(
  /^deliveries of 1 "([^"]+)" to "([^"]+)" are sent by (\d+) clients until the service is (killed|stopped)$/,
  async function (this: StockWorld, product: string, place: string, clients: string, how: string) {
    const book: Book = { confirmed: [], unanswered: [], refused: [] }
    books.set(this, book)
    await this.ask({ method: 'GET', path: '/health/live' })
    const running = Array.from({ length: Number(clients) }, () =>
      deliverOn(this, place, product, book),
    )
    while (book.confirmed.length < 50) await passing(2)
    ;(await this.service()).server.signal(how === 'killed' ? 'SIGKILL' : 'SIGTERM')
    await Promise.all(running)
  },
)

Then(
  'every confirmed delivery of {string} to {string} is there, and none twice',
  async function (this: StockWorld, product: string, place: string) {
    const there = await requestsIn(this, place, product)
    for (const { body } of books.get(this)!.confirmed)
      assert.ok(there.has(at(body, 'requestId') as string), 'a confirmed delivery is lost')
  },
)

When('every delivery without an answer is sent again', async function (this: StockWorld) {
  const book = books.get(this)!
  for (const sent of book.unanswered) {
    const answer = await this.ask(sent)
    assert.equal(answer.status, 201, answer.text)
    book.confirmed.push(sent)
  }
})

Then(
  'every delivery of {string} to {string} is there, and none twice',
  async function (this: StockWorld, product: string, place: string) {
    const there = await requestsIn(this, place, product)
    const { confirmed } = books.get(this)!
    assert.deepEqual(there, new Set(confirmed.map(({ body }) => at(body, 'requestId'))))
    assert.equal((await this.level(place, product)).quantity, confirmed.length)
  },
)

Then('no answer is a failure but 503 {string}', function (this: StockWorld, word: string) {
  for (const answer of books.get(this)!.refused) {
    assert.equal(answer.status, 503, answer.text)
    assert.equal(at(answer.json, 'status'), word, answer.text)
    assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/)
  }
})

/** Sends one after the other until the service is gone or refuses. */
async function deliverOn(
  world: StockWorld,
  place: string,
  product: string,
  book: Book,
): Promise<void> {
  for (;;) {
    const sent = one(world, place, product)
    const answer = await world.ask(sent).catch(() => undefined)
    if (answer?.status === 201) book.confirmed.push(sent)
    else {
      if (answer === undefined) book.unanswered.push(sent)
      else book.refused.push(answer)
      return
    }
  }
}

/** The ids of what a pot has seen; each of them once. */
async function requestsIn(world: StockWorld, place: string, product: string): Promise<Set<string>> {
  const ids = (await historyOf(world, place, product)).map(({ requestId }) => requestId)
  assert.equal(new Set(ids).size, ids.length, 'a delivery is there twice')
  return new Set(ids)
}

function one(world: StockWorld, place: string, product: string): Sent {
  const body = delivery(world, [{ productId: world.product(product), quantity: 1 }], '09:00')
  return { method: 'POST', path: deliveriesAt(world, place), body }
}

function moving(world: StockWorld, product: string, from: string, to: string): Sent {
  return {
    method: 'POST',
    path: movesOutOf(world, from, product),
    body: move(world, 1, to, '15:00'),
  }
}

async function atOnce(world: StockWorld, all: readonly Sent[]): Promise<void> {
  await world.ask({ method: 'GET', path: '/health/live' })
  world.answers = []
  await Promise.all(all.map((sent) => world.send(sent)))
}

function times<T>(count: number, make: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => make(n))
}
