/** Deliveries, sales, moves and counts, in plain words or as the JSON that is sent. */
import assert from 'node:assert/strict'

import { Given, When } from '@cucumber/cucumber'

import { systemClock } from '../../../../src/std/index.ts'
import { at, type Sent } from '../../client.ts'
import type { StockWorld } from './world.ts'

type Body = Readonly<Record<string, unknown>>

const AMOUNT = '(-?\\d[\\d.]*)'
const NAME = '"([^"]+)"'
const WHEN = '(?: at (\\d\\d:\\d\\d))?(?: as request "([^"]+)")?'

const DAY_MS = 86_400_000

When(words(`${AMOUNT} ${NAME} (?:is|are) delivered to ${NAME}${WHEN}`), deliverOne)

When(
  words(
    `a delivery to ${NAME} brings ${AMOUNT} ${NAME} and ${AMOUNT} ${NAME}(?: as request ${NAME})?`,
  ),
  async function (
    this: StockWorld,
    place: string,
    amount1: string,
    product1: string,
    amount2: string,
    product2: string,
    name: string | null,
  ) {
    const products = [
      { productId: this.product(product1), quantity: Number(amount1) },
      { productId: this.product(product2), quantity: Number(amount2) },
    ]
    const body = delivery(this, products, name === null ? null : '12:00', name)
    await this.write(deliveriesAt(this, place), body, name)
  },
)

When(
  words(`${AMOUNT} ${NAME} (?:is|are) sold at ${NAME}${WHEN}`),
  async function (
    this: StockWorld,
    amount: string,
    product: string,
    place: string,
    clock: string | null,
    name: string | null,
  ) {
    const body = { ...named(this, name), quantity: Number(amount), soldAt: this.time(clock) }
    await this.write(`${this.potPath(place, product)}/sales`, body, name)
  },
)

When(
  words(`${AMOUNT} ${NAME} is sold at ${NAME} a day from now`),
  async function (this: StockWorld, amount: string, product: string, place: string) {
    const soldAt = isoOf(systemClock.now() + DAY_MS)
    const body = { ...named(this), quantity: Number(amount), soldAt }
    await this.write(`${this.potPath(place, product)}/sales`, body)
  },
)

When(
  words(`${AMOUNT} ${NAME} (?:is|are) moved from ${NAME} to ${NAME}${WHEN}`),
  async function (
    this: StockWorld,
    amount: string,
    product: string,
    from: string,
    to: string,
    clock: string | null,
    name: string | null,
  ) {
    const body = move(this, amount, to, clock, name)
    await this.write(movesOutOf(this, from, product), body, name)
  },
)

When(
  words(`${NAME} at ${NAME} are counted as ${AMOUNT}${WHEN}`),
  async function (
    this: StockWorld,
    product: string,
    place: string,
    amount: string,
    clock: string | null,
    name: string | null,
  ) {
    const body = {
      ...named(this, name),
      reason: 'AdminOverride',
      quantity: Number(amount),
      countedAt: this.time(clock),
    }
    await this.write(`${this.potPath(place, product)}/counts`, body, name)
  },
)

When(
  words(`a delivery to ${NAME} is sent:`),
  async function (this: StockWorld, place: string, text: string) {
    await this.write(deliveriesAt(this, place), bodyIn(this, text))
  },
)

When(
  words(`a (sale|count|move) of ${NAME} (?:at|out of) ${NAME} is sent(?: without ${NAME})?:`),
  async function (
    this: StockWorld,
    kind: string,
    product: string,
    place: string,
    without: string | null,
    text: string,
  ) {
    const { [without ?? '']: _, ...body } = bodyIn(this, text)
    const path =
      kind === 'move'
        ? movesOutOf(this, place, product)
        : `${this.potPath(place, product)}/${kind}s`
    await this.write(path, body)
  },
)

When('the same request is sent again', async function (this: StockWorld) {
  await again(this, this.writes.at(-1))
})

When('the first request is sent again', async function (this: StockWorld) {
  const first = this.writes.find(({ path }) => path.endsWith('/movements'))
  await again(this, first)
})

When('the request {string} is sent again', async function (this: StockWorld, name: string) {
  await again(this, this.writtenAs(name))
})

When('the same request is sent again by the other path', async function (this: StockWorld) {
  const { path, body } = this.writes.at(-1)!
  const other = path.includes('/products/')
    ? path.replace('/products/', '/')
    : path.replace(/^(\/locations\/[^/]+)\//, '$1/products/')
  await this.write(other, body)
})

Given(
  words(`${NAME} holds ${AMOUNT} ${NAME}(?: with ${AMOUNT} pending)?`),
  async function (
    this: StockWorld,
    place: string,
    amount: string,
    product: string,
    pending: string | null,
  ) {
    if (pending !== null) {
      const sale = { ...named(this), quantity: -Number(pending), soldAt: this.time('06:00') }
      await setUp(this, { path: `${this.potPath(place, product)}/sales`, body: sale })
    }
    const products = [{ productId: this.product(product), quantity: Number(amount) }]
    await setUp(this, { path: deliveriesAt(this, place), body: delivery(this, products, '07:00') })
  },
)

Given(
  words(`${NAME} receives ${AMOUNT} ${NAME} (\\d+) times`),
  async function (this: StockWorld, place: string, amount: string, product: string, times: string) {
    const products = [{ productId: this.product(product), quantity: Number(amount) }]
    const one = (): Promise<void> =>
      setUp(this, { path: deliveriesAt(this, place), body: delivery(this, products, '09:00') })
    await one()
    await Promise.all(Array.from({ length: Number(times) - 1 }, one))
  },
)

When(
  words(`these happen to ${NAME} at ${NAME}:`),
  async function (this: StockWorld, product: string, place: string, table: { raw(): string[][] }) {
    for (const [kind, amount] of table.raw()) {
      const quantity = Number(amount)
      if (kind === 'sale') {
        const body = { ...named(this), quantity, soldAt: this.time() }
        await setUp(this, { path: `${this.potPath(place, product)}/sales`, body })
      } else {
        const body = delivery(this, [{ productId: this.product(product), quantity }])
        await setUp(this, { path: deliveriesAt(this, place), body })
      }
    }
  },
)

export function delivery(
  world: StockWorld,
  products: readonly Readonly<{ productId: string; quantity: number }>[],
  clock: string | null = null,
  name: string | null = null,
): Body {
  return {
    ...named(world, name),
    supplierId: 'supplier',
    supplierRef: 'reference',
    deliveredAt: world.time(clock),
    products,
  }
}

export function deliveriesAt(world: StockWorld, place: string): string {
  return `/locations/${encodeURIComponent(world.place(place))}/deliveries`
}

export function movesOutOf(world: StockWorld, place: string, product: string): string {
  const ids = [world.place(place), world.product(product)].map(encodeURIComponent)
  return `/locations/${ids.join('/')}/movements`
}

export function move(
  world: StockWorld,
  amount: string | number,
  to: string,
  clock: string | null = null,
  name: string | null = null,
): Body {
  return {
    ...named(world, name),
    destinationLocationId: world.place(to),
    quantity: Number(amount),
    reason: 'replenishment',
    movedAt: world.time(clock),
  }
}

export function named(
  world: StockWorld,
  name: string | null = null,
): Readonly<{ requestId: string }> {
  return { requestId: name === null ? world.freshRequest() : world.request(name) }
}

/** What a scenario is given must be so. */
export async function setUp(world: StockWorld, sent: Omit<Sent, 'method'>): Promise<void> {
  const headers = { ...world.headers, ...world.setupHeaders }
  const answer = await world.ask({ method: 'POST', ...sent }, headers)
  assert.equal(answer.status, 201, answer.text)
}

async function deliverOne(
  this: StockWorld,
  amount: string,
  product: string,
  place: string,
  clock: string | null,
  name: string | null,
): Promise<void> {
  const products = [{ productId: this.product(product), quantity: Number(amount) }]
  await this.write(deliveriesAt(this, place), delivery(this, products, clock, name), name)
}

async function again(world: StockWorld, sent: Sent | undefined): Promise<void> {
  assert.ok(sent !== undefined, 'nothing was sent yet')
  world.positionBefore = await world.position()
  await world.send(sent)
}

/** The ids in what is sent are those of the scenario. */
function bodyIn(world: StockWorld, text: string): Record<string, unknown> {
  const body = JSON.parse(text) as Record<string, unknown>
  rename(body, 'requestId', (name) => world.request(name))
  rename(body, 'destinationLocationId', (name) => world.place(name))
  const products = at(body, 'products')
  if (Array.isArray(products))
    for (const line of products) rename(line, 'productId', (name) => world.product(name))
  return body
}

function rename(
  body: Record<string, unknown>,
  field: string,
  renamed: (name: string) => string,
): void {
  const name = body[field]
  if (typeof name === 'string' && name !== '') body[field] = renamed(name)
}

function isoOf(ms: number): string {
  return new Intl.DateTimeFormat('sv-SE', {
    dateStyle: 'short',
    timeStyle: 'medium',
    timeZone: 'UTC',
  })
    .format(ms)
    .replace(' ', 'T')
    .concat('Z')
}

function words(text: string): RegExp {
  return new RegExp(`^${text}$`)
}
