/**
 * The two settings of the pots, in a config file of a running server, each with its own effect.
 *
 * `stockPot.unloadAfterInactivity` decides how long a pot may be idle, `stockPot.unloadCheckInterval`
 * how often that is looked at. With the other one held fast, each decides when the pot is gone.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { systemClock } from '../../src/std/index.ts'
import { at } from '../acceptance/client.ts'
import { passing, until } from '../acceptance/until.ts'
import { serve, type Served } from './served.ts'
import { PLACE, PRODUCT, WRITES } from './writes.ts'

/** A loaded machine may be late by so much. */
const LATE_MS_MAX = 1_500
const KEY = encodeURIComponent(`${PRODUCT}|${PLACE}`)

test('a pot is gone 100 ms after its last use, looked at every 50 ms', async () => {
  await using served = await servedWith('100ms', '50ms')
  const gone = await goneAfterMs(served)
  assert.ok(gone >= 100 && gone <= 150 + LATE_MS_MAX, `${gone} ms`)
})

test('a pot that may be idle for longer stays for longer, however often one looks', async () => {
  await using served = await servedWith('1500ms', '50ms')
  const gone = await goneAfterMs(served)
  assert.ok(gone >= 1_500 && gone <= 1_550 + LATE_MS_MAX, `${gone} ms`)
})

test('a pot is not gone before one looks, however long it has been idle', async () => {
  await using served = await servedWith('100ms', '1h')
  await use(served)
  await passing(1_000)
  assert.notEqual(await phaseOf(served), 'resting')
})

test('a pot that is used again and again stays, and one that is back knows everything', async () => {
  await using served = await servedWith('400ms', '50ms')
  for (let n = 0; n < 10; n += 1) {
    await use(served)
    await passing(50)
    assert.notEqual(await phaseOf(served), 'resting')
  }
  await goneAfterMs(served)
  await use(served)
  const level = await served.ask('GET', `/locations/${PLACE}/products/${PRODUCT}`)
  assert.equal(at(level.json, 'quantity'), 12)
})

let requests = 0

async function servedWith(after: string, every: string): Promise<Served> {
  const served = await serve({
    'stockPot.unloadAfterInactivity': after,
    'stockPot.unloadCheckInterval': every,
  })
  await served.place(PLACE)
  return served
}

/** From before the last use until it was seen to be gone. */
async function goneAfterMs(served: Served): Promise<number> {
  await use(served)
  const usedMs = systemClock.monotonic()
  await until('the pot is gone', 10_000, async () => (await phaseOf(served)) === 'resting')
  return systemClock.monotonic() - usedMs
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
