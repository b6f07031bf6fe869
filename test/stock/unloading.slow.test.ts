/**
 * The two settings of the pots, in a config file of a running server, each with its own effect.
 *
 * `stockPot.unloadAfterInactivity` decides how long a pot may be idle, `stockPot.unloadCheckInterval`
 * how often that is looked at. With the other one held fast, each decides when the pot is gone.
 *
 * A pot is never gone too early. That it is gone soon is what a machine that has much else to do may
 * hide: it is tried again.
 */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { systemClock } from '../../src/std/index.ts'
import { at } from '../acceptance/client.ts'
import { passing, until } from '../acceptance/until.ts'
import { serve, type Served } from './served.ts'
import { PLACE, PRODUCT, WRITES } from './writes.ts'

/** A loaded machine may be late by so much. */
const LATE_MS_MAX = 1_500
const TRIES = 5
const USES = 10
const KEY = encodeURIComponent(`${PRODUCT}|${PLACE}`)

test('a pot is gone 100 ms after its last use, looked at every 50 ms', async (t) => {
  await using served = await servedWith('100ms', '50ms')
  await isGoneAfter(t, served, 100, 150)
})

test('a pot that may be idle for longer stays for longer, however often one looks', async (t) => {
  await using served = await servedWith('1500ms', '50ms')
  await isGoneAfter(t, served, 1_500, 1_550)
})

test('a pot is not gone before one looks, however long it has been idle', async () => {
  await using served = await servedWith('100ms', '1h')
  await use(served)
  await passing(1_000)
  assert.notEqual(await phaseOf(served), 'resting')
})

test('a pot that is used again and again stays, and one that is back knows everything', async () => {
  const idleMs = 1_000
  await using served = await servedWith(`${idleMs}ms`, '50ms')
  let [used, seen] = [0, 0]
  for (; used < TRIES * USES && seen < USES; used += 1) {
    const begunMs = systemClock.monotonic()
    await use(served)
    await passing(idleMs / 5)
    const phase = await phaseOf(served)
    if (systemClock.monotonic() - begunMs >= idleMs) continue // it was not used again in time
    assert.notEqual(phase, 'resting')
    seen += 1
  }
  assert.equal(seen, USES)
  await gone(served)
  await use(served)
  const level = await served.ask('GET', `/locations/${PLACE}/products/${PRODUCT}`)
  assert.equal(at(level.json, 'quantity'), used + 1)
})

let requests = 0

async function servedWith(after: string, every: string): Promise<Served> {
  const served = await serve({
    'stockPot.unloadAfterInactivity': after,
    'stockPot.unloadCheckInterval': every,
  })
  try {
    await served.place(PLACE)
  } catch (error) {
    await served[Symbol.asyncDispose]()
    throw error
  }
  return served
}

async function isGoneAfter(
  t: TestContext,
  served: Served,
  leastMs: number,
  mostMs: number,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const begunMs = systemClock.monotonic()
    await use(served)
    const usedMs = systemClock.monotonic()
    await gone(served)
    const goneMs = systemClock.monotonic()
    const late = `gone ${(goneMs - usedMs).toFixed(0)} ms after its last use`
    t.diagnostic(late)
    // It was used at some time between the two.
    assert.ok(goneMs - begunMs >= leastMs, late)
    if (goneMs - usedMs <= mostMs + LATE_MS_MAX) return
    assert.ok(tries < TRIES, late)
  }
}

async function gone(served: Served): Promise<void> {
  await until('the pot is gone', 60_000, async () => (await phaseOf(served)) === 'resting')
}

async function use(served: Served): Promise<void> {
  const delivery = WRITES[0]!
  requests += 1
  const body = delivery.body(`unloading-${requests}`)
  const answer = await served.ask('POST', delivery.path(PLACE, PRODUCT), body, {})
  assert.equal(answer.status, 201, answer.text)
}

async function phaseOf(served: Served): Promise<unknown> {
  const pot = await served.ask('GET', `/pots/${KEY}`)
  assert.equal(pot.status, 200, pot.text)
  return at(pot.json, 'phase')
}
