/** Pots that come and go, and a service that ends and begins again. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'

import { Given, Then, When } from '@cucumber/cucumber'

import { systemClock } from '../../../../src/std/index.ts'
import { startServer } from '../../server.ts'
import { passing, until } from '../../until.ts'
import { at, send } from '../../client.ts'
import { plainService, restart } from './service.ts'
import { deliveriesAt, delivery, named, setUp } from './writing.steps.ts'
import type { StockWorld } from './world.ts'

type Pot = Readonly<{ phase: string; version: number; replayedEvents: number }>

const AWAY_MS_MAX = 60_000

Then(
  /^the pot of "([^"]+)" at "([^"]+)" is (not )?in memory$/,
  async function (this: StockWorld, product: string, place: string, not: string | null) {
    assert.equal(isAwake(await potOf(this, place, product)), not === null)
  },
)

Then(
  'the pot of {string} at {string} is in memory for at least {int} ms',
  async function (this: StockWorld, product: string, place: string, ms: number) {
    // From when it was last used; the answer to that was seen a little later.
    const end = systemClock.monotonic() + ms - 50
    do assert.ok(isAwake(await potOf(this, place, product)), 'it is gone already')
    while (systemClock.monotonic() < end)
  },
)

Then(
  'the pot of {string} at {string} leaves memory within {int} s',
  async function (this: StockWorld, product: string, place: string, s: number) {
    await until(
      'the pot is away',
      s * 1000,
      async () => !isAwake(await potOf(this, place, product)),
    )
  },
)

When(
  'the pot of {string} at {string} is put away',
  async function (this: StockWorld, product: string, place: string) {
    const path = `/pots/${this.potKey(place, product)}:passivate`
    const answer = await this.ask({ method: 'POST', path })
    assert.ok(answer.status < 300, answer.text)
    await untilAway(this, place, product)
  },
)

When(
  'the pot of {string} at {string} is woken by a sale of {float}',
  async function (this: StockWorld, product: string, place: string, quantity: number) {
    const body = { ...named(this), quantity, soldAt: this.time() }
    await setUp(this, { path: `${this.potPath(place, product)}/sales`, body })
  },
)

Then(
  'the pot of {string} at {string} was brought back with at most {int} facts',
  async function (this: StockWorld, product: string, place: string, most: number) {
    const { phase, replayedEvents, version } = await potOf(this, place, product)
    assert.notEqual(phase, 'resting')
    assert.ok(replayedEvents <= most, `${replayedEvents} of ${version} facts`)
  },
)

When('the service is stopped and started again', async function (this: StockWorld) {
  const service = await this.service()
  const { code } = await service.server.stop('SIGTERM')
  assert.equal(code, 0)
  await restart(service)
})

When('the service is started again', async function (this: StockWorld) {
  await restart(await this.service())
})

Then(
  /^the service has ended(?: with (\d+))? within (\d+) s$/,
  async function (this: StockWorld, code: string | null, s: string) {
    const { server } = await this.service()
    const ended = await Promise.race([server.ended, passing(Number(s) * 1000)])
    assert.ok(ended !== undefined, 'it still runs')
    if (code !== null) assert.equal(ended.code, Number(code))
  },
)

Given('a client holds a request open', async function (this: StockWorld) {
  const { hostname, port } = new URL(await this.url())
  const socket: Socket = connect(Number(port), hostname)
  socket.on('error', () => socket.destroy())
  socket.write('POST /locations/depot/deliveries HTTP/1.1\r\nHost: localhost\r\n')
  socket.write('Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{')
})

When('the service is told to stop twice', async function (this: StockWorld) {
  const { server } = await this.service()
  server.signal('SIGTERM')
  await passing(200)
  server.signal('SIGTERM')
})

Then('{string} answers {int}', async function (this: StockWorld, path: string, status: number) {
  assert.equal((await this.ask({ method: 'GET', path })).status, status)
})

When('a second service is started on a directory of its own', async function (this: StockWorld) {
  const first = await this.service()
  this.use(await plainService(), true)
  assert.notEqual((await this.service()).server.directory, first.server.directory)
})

Then(
  'the second service knows nothing of {string}',
  async function (this: StockWorld, place: string) {
    const { server } = await this.service()
    const answer = await send(server.url, { method: 'GET', path: this.potPath(place, 'beans') })
    assert.equal(at(answer.json, 'status'), 'LocationNotFound', answer.text)
  },
)

When(
  'a delivery of {float} {string} and {float} {string} to {string} is sent {int} times while the service is killed under the first {int}',
  async function (
    this: StockWorld,
    amount1: number,
    product1: string,
    amount2: number,
    product2: string,
    place: string,
    times: number,
    kills: number,
  ) {
    const products = [
      { productId: this.product(product1), quantity: amount1 },
      { productId: this.product(product2), quantity: amount2 },
    ]
    const body = delivery(this, products)
    await this.ask({ method: 'GET', path: '/health/live' })
    for (let n = 0; n < times; n += 1) {
      const answer = this.send({ method: 'POST', path: deliveriesAt(this, place), body })
      if (n >= kills) await answer
      else {
        await passing(n * 3)
        const service = await this.service()
        service.server.signal('SIGKILL')
        await answer.catch(() => undefined)
        await service.server.ended
        service.server = await startServer(service.settings, service.server.directory)
      }
    }
  },
)

export async function untilAway(world: StockWorld, place: string, product: string): Promise<void> {
  await until(
    'the pot is away',
    AWAY_MS_MAX,
    async () => !isAwake(await potOf(world, place, product)),
  )
}

async function potOf(world: StockWorld, place: string, product: string): Promise<Pot> {
  const path = `/pots/${world.potKey(place, product)}`
  const answer = await world.ask({ method: 'GET', path })
  // One that was never used is not known.
  if (answer.status === 404) return { phase: 'resting', version: 0, replayedEvents: 0 }
  assert.equal(answer.status, 200, answer.text)
  return answer.json as Pot
}

function isAwake({ phase }: Pot): boolean {
  return phase !== 'resting'
}
