/** What is recorded, what is refused, and that a refusal leaves no trace. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { shop, type Shop, type Told } from '../../../test/stock/shop.ts'
import { fault, systemClock } from '../../std/index.ts'
import type { StockRefusal } from '../stock.ts'
import { timeOf } from '../time.ts'

const AT = '2026-01-15T10:00:00Z'

const delivery = (more: object = {}) => ({
  requestId: 'd-1',
  supplierId: 'acme',
  supplierRef: 'note-17',
  deliveredAt: AT,
  products: [{ productId: 'apples', quantity: 100 }],
  ...more,
})
const sale = (more: object = {}) => ({ requestId: 's-1', quantity: 2.5, soldAt: AT, ...more })
const move = (more: object = {}) => ({
  requestId: 'm-1',
  destinationLocationId: 'ST01',
  quantity: 40,
  reason: 'replenishment',
  movedAt: AT,
  ...more,
})
const count = (more: object = {}) => ({
  requestId: 'c-1',
  reason: 'AdminOverride',
  quantity: 36,
  countedAt: AT,
  ...more,
})

const SALES = '/locations/DC01/products/apples/sales'
const MOVES = '/locations/DC01/products/apples/movements'
const COUNTS = '/locations/DC01/products/apples/counts'

/** Each write with a body that is granted, once apples have been delivered. */
const WRITES: readonly Readonly<{
  name: string
  rest: string
  method: 'deliver' | 'sell' | 'move' | 'count'
  body: (more?: object) => object
  timeField: string
}>[] = [
  {
    name: 'a delivery',
    rest: '/deliveries',
    method: 'deliver',
    body: (more) => delivery({ requestId: 'd-2', ...more }),
    timeField: 'deliveredAt',
  },
  {
    name: 'a sale',
    rest: '/products/apples/sales',
    method: 'sell',
    body: sale,
    timeField: 'soldAt',
  },
  {
    name: 'a move',
    rest: '/products/apples/movements',
    method: 'move',
    body: move,
    timeField: 'movedAt',
  },
  {
    name: 'a move, in the older spelling,',
    rest: '/apples/movements',
    method: 'move',
    body: move,
    timeField: 'movedAt',
  },
  {
    name: 'a count',
    rest: '/products/apples/counts',
    method: 'count',
    body: count,
    timeField: 'countedAt',
  },
]

async function stocked(at: Shop): Promise<Told> {
  const told = await at.post('/locations/DC01/deliveries', delivery())
  assert.equal(told.status, 201)
  return told
}

async function level(at: Shop, locationId: string): Promise<unknown> {
  const seen = await at.position()
  const url = `/locations/${locationId}/products/apples?includeChildren=false`
  return (await at.get(url, { headers: { 'consistency-token': seen } })).body['quantity']
}

describe('a write', () => {
  test('of a delivery is answered with all of it', async () => {
    await using at = await shop()

    const told = await at.post(
      '/locations/DC01/deliveries',
      delivery({
        products: [
          { productId: 'apples', quantity: '0.1' },
          { productId: 'pears', quantity: 0.2 },
        ],
      }),
    )

    assert.equal(told.status, 201)
    assert.deepEqual(told.body, {
      requestId: 'd-1',
      locationId: 'DC01',
      supplierId: 'acme',
      supplierRef: 'note-17',
      deliveredAt: '2026-01-15T10:00:00.000Z',
      products: [
        { productId: 'apples', quantity: 0.1 },
        { productId: 'pears', quantity: 0.2 },
      ],
    })
    assert.equal(told.headers['etag'], '"1"')
    assert.match(told.headers['consistency-token'] ?? '', /^\d+$/)
    assert.equal(told.headers['idempotency-replayed'], undefined)
  })

  test('of a sale is answered with the quantity sold', async () => {
    await using at = await shop()
    await stocked(at)

    const told = await at.post(SALES, sale({ soldAt: '2026-01-15T12:00:00+02:00' }))

    assert.deepEqual(told.body, {
      requestId: 's-1',
      locationId: 'DC01',
      productId: 'apples',
      quantitySold: 2.5,
      soldAt: '2026-01-15T10:00:00.000Z',
    })
    assert.equal(told.headers['etag'], '"2"')
    assert.equal(await level(at, 'DC01'), 97.5)
  })

  for (const [spelling, path] of [
    ['regular', MOVES],
    ['older', '/locations/DC01/apples/movements'],
  ] as const)
    test(`of a move, in the ${spelling} spelling, is answered with both ends`, async () => {
      await using at = await shop()
      await stocked(at)

      const told = await at.post(path, move({ reason: 'Replenishment' }))

      assert.deepEqual(told.body, {
        requestId: 'm-1',
        moveId: 'm-1',
        sourceLocationId: 'DC01',
        destinationLocationId: 'ST01',
        productId: 'apples',
        quantity: 40,
        reason: 'replenishment',
        movedAt: '2026-01-15T10:00:00.000Z',
      })
      assert.deepEqual([await level(at, 'DC01'), await level(at, 'ST01')], [60, 40])
    })

  test('of a count is answered with its location by that name', async () => {
    await using at = await shop()

    const told = await at.post(COUNTS, count())

    assert.equal(told.status, 201)
    assert.deepEqual(told.body, {
      requestId: 'c-1',
      location: 'DC01',
      productId: 'apples',
      quantity: 36,
      reason: 'AdminOverride',
      countedAt: '2026-01-15T10:00:00.000Z',
    })
    assert.equal(await level(at, 'DC01'), 36)
  })

  for (const { name, rest, body } of WRITES) {
    test(`of ${name} that is repeated gets the same answer and says so`, async () => {
      await using at = await shop()
      await stocked(at)
      const first = await at.post(`/locations/DC01${rest}`, body())
      const before = await at.position()

      const again = await at.post(`/locations/DC01${rest}`, body())

      assert.equal(first.status, 201)
      assert.deepEqual([again.status, again.text], [first.status, first.text])
      assert.equal(again.headers['etag'], first.headers['etag'])
      assert.equal(again.headers['idempotency-replayed'], 'true')
      assert.equal(await at.position(), before)
    })

    test(`of ${name} with a request id that was used for something else says what differs`, async () => {
      await using at = await shop()
      await stocked(at)

      const told = await at.post(
        `/locations/DC01${rest}`,
        body({ requestId: 'd-1', quantity: 7, supplierRef: 'x' }),
      )

      assert.equal(told.status, 409)
      assert.equal(told.body['status'], 'IdempotencyContentMismatch')
      assert.ok(Array.isArray(told.body['fields']) && told.body['fields'].length > 0)
    })

    test(`of ${name} at an untracked location is sent to the tracked one above`, async () => {
      await using at = await shop()

      const told = await at.post(`/locations/WH01${rest}`, body())

      assert.equal(told.status, 303)
      assert.equal(told.headers['location'], `/locations/DC01${rest}`)
      assert.equal(told.body['status'], 'LocationNotTracked')
    })

    test(`of ${name} where nothing above is tracked either is refused`, async () => {
      await using at = await shop()

      const told = await at.post(`/locations/YARD${rest}`, body())

      assert.equal(told.status, 400)
      assert.equal(told.body['status'], 'LocationNotTracked')
      assert.equal(told.headers['location'], undefined)
    })

    test(`of ${name} at a location that is not there is refused`, async () => {
      await using at = await shop()

      const told = await at.post(`/locations/NOWHERE${rest}`, body())

      assert.deepEqual([told.status, told.body['status']], [404, 'LocationNotFound'])
    })
  }

  test('of a move to an untracked location is refused, wherever that is', async () => {
    await using at = await shop()
    await stocked(at)

    const told = await at.post(MOVES, move({ destinationLocationId: 'WH01' }))

    assert.deepEqual([told.status, told.body['status']], [400, 'LocationNotTracked'])
    assert.equal(told.headers['location'], undefined)
  })

  test('of a move to a location that is not there is refused', async () => {
    await using at = await shop()
    await stocked(at)

    const told = await at.post(MOVES, move({ destinationLocationId: 'NOWHERE' }))

    assert.deepEqual([told.status, told.body['status']], [404, 'LocationNotFound'])
  })

  test('of a move of more than is there is refused and leaves both ends', async () => {
    await using at = await shop()
    await stocked(at)
    const before = await at.position()

    const told = await at.post(MOVES, move({ quantity: 100.000001 }))

    assert.deepEqual([told.status, told.body['status']], [400, 'InsufficientStock'])
    assert.equal(await at.position(), before)
  })

  test('of a move to where it begins is refused', async () => {
    await using at = await shop()
    await stocked(at)

    const told = await at.post(MOVES, move({ destinationLocationId: 'DC01' }))

    assert.deepEqual([told.status, told.body['status']], [400, 'SameLocation'])
  })

  test('of a sale of more than is there is refused where that is the rule', async () => {
    await using at = await shop({ stock: { oversell: 'refuse' } })

    const told = await at.post(SALES, sale())

    assert.deepEqual([told.status, told.body['status']], [400, 'InsufficientStock'])
  })

  test('has a problem for a body, with a trace', async () => {
    await using at = await shop()

    const told = await at.post(MOVES, move())

    assert.equal(told.headers['content-type'], 'application/problem+json')
    const { traceId, type, code, title, detail, remedy } = told.body
    assert.equal(type, 'urn:flytower:fault:insufficient-stock')
    assert.equal(code, 'insufficient-stock')
    assert.equal(title, 'Insufficient stock')
    assert.match(String(traceId), /^[0-9a-f]{32}$/)
    assert.ok(typeof detail === 'string' && typeof remedy === 'string')
  })
})

describe('the time of effect', () => {
  for (const { name, rest, body, timeField } of WRITES) {
    test(`of ${name} may not be yet to come`, async () => {
      await using at = await shop()
      await stocked(at)

      const told = await at.post(
        `/locations/DC01${rest}`,
        body({ [timeField]: '2999-01-01T00:00:00Z' }),
      )

      assert.deepEqual([told.status, told.body['status']], [400, 'BadRequest'])
      assert.deepEqual(told.body['invalidValues'], [timeField])
    })

    test(`of ${name} may not be in closed books`, async () => {
      await using at = await shop({
        stock: { booksClosedBefore: timeOf('2026-01-01T00:00:00Z') ?? 0 },
      })

      const told = await at.post(
        `/locations/DC01${rest}`,
        body({ [timeField]: '2025-12-31T23:59:59.999Z' }),
      )

      assert.deepEqual([told.status, told.body['status']], [400, 'BooksClosed'])
      assert.deepEqual(told.body['invalidValues'], [timeField])
    })
  }
})

describe('If-Match', () => {
  test('lets a write through when the pot has that version', async () => {
    await using at = await shop()
    const { headers } = await stocked(at)

    const told = await at.post(SALES, sale(), { headers: { 'if-match': headers['etag'] ?? '' } })

    assert.equal(told.status, 201)
  })

  for (const { name, rest, body } of WRITES)
    test(`refuses ${name} when the pot has another version`, async () => {
      await using at = await shop()
      await stocked(at)
      const before = await at.position()

      const told = await at.post(`/locations/DC01${rest}`, body(), {
        headers: { 'if-match': '"7"' },
      })

      assert.deepEqual([told.status, told.body['status']], [412, 'VersionMismatch'])
      assert.equal(await at.position(), before)
    })

  test('of a star asks for nothing', async () => {
    await using at = await shop()

    assert.equal((await at.post(SALES, sale(), { headers: { 'if-match': '*' } })).status, 201)
  })

  for (const tag of ['7', 'W/"7"', '"seven"', '"1", "2"', '""', '"-1"', '"99999999999999999"'])
    test(`of ${tag} is no version`, async () => {
      await using at = await shop()

      const told = await at.post(SALES, sale(), { headers: { 'if-match': tag } })

      assert.equal(told.status, 400)
      assert.deepEqual(told.body['invalidValues'], ['If-Match'])
    })
})

describe('what goes wrong below a write', () => {
  const cases: readonly (readonly [
    StockRefusal,
    number,
    string,
    RegExp | undefined,
    { retryInMs?: number }?,
  ])[] = [
    ['overloaded', 429, 'Overloaded', /^1$/],
    ['shutting-down', 503, 'ShuttingDown', /^5$/],
    ['pot-unavailable', 503, 'PotUnavailable', /^1$/],
    ['pot-unavailable', 503, 'PotUnavailable', /^(?:9|10)$/, { retryInMs: 10_000 }],
    ['upstream-unavailable', 502, 'UpstreamServiceUnavailable', undefined],
  ]
  for (const [code, status, word, retryAfter, detail = {}] of cases)
    for (const { name, rest, method, body } of WRITES)
      test(`${code}${'retryInMs' in detail ? ' until a time' : ''}: ${name} is answered ${status}`, async () => {
        const { retryInMs } = detail
        const refuse = async () => {
          const when = retryInMs === undefined ? {} : { retryAtMs: systemClock.now() + retryInMs }
          return { ...fault('x', 'it is so', when), code }
        }
        await using at = await shop({ instead: { [method]: refuse } })

        const answer = await at.post(`/locations/DC01${rest}`, body())

        assert.deepEqual([answer.status, answer.body['status']], [status, word])
        if (retryAfter === undefined) assert.equal(answer.headers['retry-after'], undefined)
        else assert.match(answer.headers['retry-after'] ?? '', retryAfter)
      })

  test('an accident is answered with a trace and without a word about its cause', async () => {
    await using at = await shop({ instead: { sell: () => Promise.reject(new Error('secret')) } })

    const told = await at.post(SALES, sale())

    assert.deepEqual([told.status, told.body['status']], [500, 'InternalError'])
    assert.match(String(told.body['traceId']), /^[0-9a-f]{32}$/)
    assert.ok(!told.text.includes('secret'))
  })

  test('a server that drains takes no more writes', async () => {
    await using at = await shop()
    at.beginDraining()

    const told = await at.post(SALES, sale())

    assert.deepEqual([told.status, told.body['status']], [503, 'ShuttingDown'])
    assert.match(told.headers['retry-after'] ?? '', /^\d+$/)
  })
})
