/** Levels, histories and whatever else is read. */
import assert from 'node:assert/strict'

import { Then, When } from '@cucumber/cucumber'

import { until } from '../../until.ts'
import { at, type Answer } from '../../client.ts'
import type { StockWorld } from './world.ts'

export type Entry = Readonly<{
  requestId: string
  quantity: number
  moveId?: string
  batch: number
}>

const UNTIL_MS = 60_000

When(
  /^the level of "([^"]+)" at "([^"]+)"( alone)? is read(?: (\d+) times)?$/,
  async function (
    this: StockWorld,
    product: string,
    place: string,
    alone: string | null,
    times: string | null,
  ) {
    const path = this.potPath(place, product) + (alone === null ? '' : '?includeChildren=false')
    for (let n = 0; n < Number(times ?? 1); n += 1) await this.send({ method: 'GET', path })
  },
)

When(
  'the level of {string} at {string} is read until the answer is {int}',
  async function (this: StockWorld, product: string, place: string, status: number) {
    await readUntil(this, this.potPath(place, product), status)
  },
)

When('{string} is read', async function (this: StockWorld, path: string) {
  await this.send({ method: 'GET', path })
})

When(
  '{string} is read until the answer is {int}',
  async function (this: StockWorld, path: string, status: number) {
    await readUntil(this, path, status)
  },
)

When('the fate of request {string} is read', async function (this: StockWorld, name: string) {
  await this.send({ method: 'GET', path: `/requests/${encodeURIComponent(this.request(name))}` })
})

Then(
  /^the level of "([^"]+)" at "([^"]+)" is ([\d.]+)(?: with (-?[\d.]+) pending)?$/,
  async function (
    this: StockWorld,
    product: string,
    place: string,
    amount: string,
    pending: string | null,
  ) {
    const level = await this.level(place, product, '?includeChildren=false')
    assert.equal(level.quantity, Number(amount))
    if (pending !== null) assert.equal(level.pending, Number(pending), 'pending')
  },
)

Then(
  'the level of {string} at {string} as of {word} is {float}',
  async function (this: StockWorld, product: string, place: string, clock: string, amount: number) {
    const level = await this.level(place, product, `?asOf=${this.time(clock)}`)
    assert.equal(level.quantity, amount)
  },
)

Then(
  'the total of {string} at {string} is {float}',
  async function (this: StockWorld, product: string, place: string, amount: number) {
    const level = await this.level(place, product)
    assert.equal(level.total, amount)
  },
)

Then(
  /^the levels of "([^"]+)" at (.+) add up to (\d+)$/,
  async function (this: StockWorld, product: string, places: string, amount: string) {
    let sum = 0
    for (const [, place] of places.matchAll(/"([^"]+)"/g))
      sum += (await this.level(place!, product)).quantity ?? 0
    assert.equal(sum, Number(amount))
  },
)

Then(
  /^the history of "([^"]+)" at "([^"]+)" has (\d+) entr(?:y|ies)$/,
  async function (this: StockWorld, product: string, place: string, count: string) {
    assert.equal((await historyOf(this, place, product)).length, Number(count))
  },
)

Then(
  'after fact {int} the history of {string} at {string} has {float}',
  async function (this: StockWorld, n: number, product: string, place: string, amount: number) {
    const entry = (await historyOf(this, place, product))[n - 1]
    assert.equal(entry?.quantity, amount)
  },
)

Then(
  'the history of {string} at {string} rises from {int} to {int} without a gap',
  async function (this: StockWorld, product: string, place: string, from: number, to: number) {
    const rising = Array.from({ length: to - from + 1 }, (_, n) => from + n)
    const entries = await historyOf(this, place, product)
    assert.deepEqual(
      entries.map(({ quantity }) => quantity),
      rising,
    )
  },
)

Then(
  'the histories of {string} at {string} and at {string} share the request {string}',
  async function (this: StockWorld, product: string, from: string, to: string, name: string) {
    const sides = [await historyOf(this, from, product), await historyOf(this, to, product)]
    const [out, into] = sides.map((entries) =>
      entries.find(({ requestId }) => requestId === this.request(name)),
    )
    assert.ok(out !== undefined && into !== undefined)
    assert.ok(out.moveId !== undefined && out.moveId === into.moveId)
    assert.equal(out.batch, into.batch)
  },
)

/** All of it, as it was recorded. */
export async function historyOf(
  world: StockWorld,
  place: string,
  product: string,
): Promise<Entry[]> {
  const entries: Entry[] = []
  let cursor: string | undefined
  do {
    const query = new URLSearchParams({
      order: 'recorded',
      ...(cursor !== undefined && { cursor }),
    })
    const path = `${world.potPath(place, product)}/history?${query.toString()}`
    const answer = await world.ask({ method: 'GET', path })
    assert.equal(answer.status, 200, answer.text)
    entries.push(...(at(answer.json, 'events') as Entry[]))
    cursor = at(answer.json, 'nextCursor') as string | undefined
  } while (cursor !== undefined)
  return entries
}

async function readUntil(world: StockWorld, path: string, status: number): Promise<void> {
  await until<Answer>(`${path} is answered with ${status}`, UNTIL_MS, async () => {
    const answer = await world.send({ method: 'GET', path })
    return answer.status === status ? answer : undefined
  })
}
