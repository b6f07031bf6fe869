/**
 * Clients that never stop, while every pot is put away every 100 ms: none of them notices, and in the
 * end there is as much as they have brought, less what they have taken.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { freshSeed, type Clock } from '../../src/std/index.ts'
import { LOCATIONS } from './model/subject.ts'
import { NOON, scene, type Said } from './scene.ts'

const CLIENTS = 12
const PRODUCTS = ['p', 'q', 'r', 's'] as const
const PASSIVATIONS_MIN = 1_500
const EVERY_MS = 100
/** How long the journal takes for a batch, at most. */
const COMMIT_MS = 4

test('at least 1 000 passivations under constant traffic: no error, no wrong sum', async (t) => {
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  await using here = await scene(
    { snapshots: { every: 10 } },
    { seed, stepsMax: 10_000_000, msMax: 86_400_000 },
  )
  const { earth, script, entities, stock, journal } = here
  const { clock, random: draw } = earth
  script.commit = async (go) => {
    await pause(clock, draw.below(COMMIT_MS + 1))
    return go()
  }

  const isOver = (): boolean => entities.metrics().passivations >= PASSIVATIONS_MIN
  const there = new Map<string, number>()
  const change = (place: string, product: string, by: number): unknown =>
    there.set(`${product}|${place}`, (there.get(`${product}|${place}`) ?? 0) + by)
  let answered = 0

  async function client(name: string): Promise<void> {
    for (let n = 0; !isOver(); n++) {
      const [id, at] = [`${name}-${n}`, clock.now()]
      const product = draw.pick(PRODUCTS)
      const [from, to] = [draw.pick(LOCATIONS), draw.pick(LOCATIONS)]
      const more = { id, at, product }
      const quantity = 1 + draw.below(5)
      const what = draw.below(4)
      const said: Said = await (what < 2
        ? here.deliver(from, quantity, more)
        : what === 2
          ? here.sell(from, quantity, more)
          : here.move(from, to, quantity, more))
      assert.ok(said.ok || isRefusedByRule(said.code), JSON.stringify(said))
      if (said.ok && what !== 3) change(from, product, what < 2 ? quantity : -quantity)
      if (said.ok && what === 3) {
        change(from, product, -quantity)
        change(to, product, quantity)
      }
      answered++
      await pause(clock, draw.below(20))
    }
  }

  async function operator(): Promise<void> {
    while (!isOver()) {
      await pause(clock, EVERY_MS)
      for (const { key } of stock.pots().items) void stock.passivate(key)
    }
  }

  const clients = Array.from({ length: CLIENTS }, (_, n) => client(`c-${n}`))
  await earth.until(Promise.all([...clients, operator()]))

  const { passivations, activations } = entities.metrics()
  const minutes = ((clock.now() - NOON) / 60_000).toFixed(1)
  t.diagnostic(`${answered} requests in ${minutes} virtual minutes, ${passivations} passivations`)
  assert.ok(passivations >= 1_000 && activations >= 1_000)
  const seen = await journal.position()
  for (const [key, due] of there) {
    const [productId, locationId] = key.split('|') as [string, string]
    const question = { productId, locationId, includeChildren: false, seen }
    const level = await earth.until(stock.level(question))
    assert.ok(level.ok)
    const { quantity = 0, pendingAdjustment = 0 } = level.body
    assert.equal(quantity + pendingAdjustment, due, key)
  }
})

/** What depends on the stock and not on who is awake. */
function isRefusedByRule(code: string): boolean {
  return code === 'insufficient-stock' || code === 'same-location'
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => clock.setTimer(clock.monotonic() + ms, resolve))
}
