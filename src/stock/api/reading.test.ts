/** What the stock tells: levels, the past, lists, moves, requests and the feed. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { shop, type Shop, type Told } from '../../../test/stock/shop.ts'
import { fault, type Fault } from '../../std/index.ts'
import type { Stock, StockReadRefusal } from '../stock.ts'

const APPLES = '/locations/DC01/products/apples'

type Line = Readonly<Record<string, unknown>>

function hour(n: number): string {
  return `2026-01-15T${String(n).padStart(2, '0')}:00:00Z`
}

/** 100 apples at 10:00, 30 sold at 12:00, 20 moved to BAY1 at 13:00; then a late sale of 5 at 11:00. */
async function story(at: Shop): Promise<Told> {
  const deliver = {
    requestId: 'd-1',
    supplierId: 'acme',
    supplierRef: 'note',
    deliveredAt: hour(10),
    products: [{ productId: 'apples', quantity: 100 }],
  }
  await at.post('/locations/DC01/deliveries', deliver)
  await at.post(`${APPLES}/sales`, { requestId: 's-1', quantity: 30, soldAt: hour(12) })
  await at.post(`${APPLES}/movements`, {
    requestId: 'm-1',
    destinationLocationId: 'BAY1',
    quantity: 20,
    reason: 'replenishment',
    movedAt: hour(13),
  })
  return at.post(`${APPLES}/sales`, { requestId: 's-late', quantity: 5, soldAt: hour(11) })
}

async function storyTold(at: Shop): Promise<{ headers: Record<string, string> }> {
  const { headers } = await story(at)
  return { headers: { 'consistency-token': headers['consistency-token'] ?? '' } }
}

function listOf(body: Line, name: string): readonly Line[] {
  const items = body[name]
  assert.ok(Array.isArray(items), `${name} is a list`)
  return items
}

function ids({ body }: Told): unknown[] {
  return listOf(body, 'events').map(({ requestId }) => requestId)
}

function places({ body }: Told): unknown[] {
  return listOf(body, 'locations').map(({ locationId }) => locationId)
}

function lines({ text }: Told): Line[] {
  return text
    .trim()
    .split('\n')
    .map((line): Line => JSON.parse(line))
}

describe('a level', () => {
  test('has totals over the tree, and leaves out what is nothing', async () => {
    await using at = await shop()
    const seen = await storyTold(at)

    const { status, body, headers } = await at.get(APPLES, seen)

    assert.equal(status, 200)
    assert.deepEqual(body, {
      locationId: 'DC01',
      productId: 'apples',
      quantity: 45,
      lastUpdated: '2026-01-15T13:00:00.000Z',
      totalQuantity: 65,
      childLocations: [
        {
          locationId: 'WH01',
          totalQuantity: 20,
          childLocations: [{ locationId: 'BAY1', quantity: 20, totalQuantity: 20 }],
        },
      ],
    })
    assert.equal(headers['etag'], '"4"')
    assert.match(headers['consistency-token'] ?? '', /^\d+$/)
  })

  test('without children is the level alone', async () => {
    await using at = await shop()
    const seen = await storyTold(at)

    const { body } = await at.get(`${APPLES}?includeChildren=false`, seen)

    assert.deepEqual(body, {
      locationId: 'DC01',
      productId: 'apples',
      quantity: 45,
      lastUpdated: '2026-01-15T13:00:00.000Z',
    })
  })

  test('that nothing ever happened to is nothing, at version 0', async () => {
    await using at = await shop()

    const { body, headers } = await at.get('/locations/ST01/products/plums')

    assert.deepEqual(body, {
      locationId: 'ST01',
      productId: 'plums',
      quantity: 0,
      totalQuantity: 0,
    })
    assert.equal(headers['etag'], '"0"')
  })

  test('as of a time has what had taken effect by then', async () => {
    await using at = await shop()
    await story(at)

    const { body } = await at.get(`${APPLES}?includeChildren=false&asOf=${hour(11)}`)

    assert.equal(body['quantity'], 95)
  })

  test('as at a time has what was known then', async () => {
    await using at = await shop()
    await story(at)

    const { body } = await at.get(`${APPLES}?includeChildren=false&asAt=2026-01-01T00:00:00Z`)

    assert.equal(body['quantity'], 0)
  })

  test('of a location that is not there is refused', async () => {
    await using at = await shop()

    const { status, body } = await at.get('/locations/NOWHERE/products/apples')

    assert.deepEqual([status, body['status']], [404, 'LocationNotFound'])
  })
})

describe('the past', () => {
  test('is every event in order of effect, with the running level', async () => {
    await using at = await shop()
    await story(at)

    const { status, body } = await at.get(`${APPLES}/history`)

    assert.equal(status, 200)
    const events = listOf(body, 'events')
    assert.deepEqual(
      events.map(({ requestId, quantity, late, actor }) => [requestId, quantity, late, actor]),
      [
        ['d-1', 100, false, 'ada'],
        ['s-late', 95, true, 'ada'],
        ['s-1', 65, false, 'ada'],
        ['m-1', 45, false, 'ada'],
      ],
    )
    assert.equal(body['nextCursor'], undefined)
  })

  test('is told in the order of recording, within times, and page by page', async () => {
    await using at = await shop()
    await story(at)

    const recorded = await at.get(`${APPLES}/history?order=recorded`)
    const within = await at.get(`${APPLES}/history?from=${hour(11)}&to=${hour(12)}`)
    const first = await at.get(`${APPLES}/history?limit=3`)
    const cursor = encodeURIComponent(String(first.body['nextCursor']))
    const second = await at.get(`${APPLES}/history?limit=3&cursor=${cursor}`)

    assert.deepEqual(ids(recorded), ['d-1', 's-1', 'm-1', 's-late'])
    assert.deepEqual(ids(within), ['s-late', 's-1'])
    assert.deepEqual([ids(first), ids(second)], [['d-1', 's-late', 's-1'], ['m-1']])
    assert.equal(second.body['nextCursor'], undefined)
  })

  test('explains what changed a level, and what came late', async () => {
    await using at = await shop()
    await story(at)

    const { status, body } = await at.get(`${APPLES}/explain?between=1,4`)

    assert.equal(status, 200)
    assert.equal(body['ok'], undefined)
    assert.deepEqual(body['before'], { version: 1, quantity: 100, pendingAdjustment: 0 })
    assert.deepEqual(body['after'], { version: 4, quantity: 45, pendingAdjustment: 0 })
    assert.deepEqual(body['lateFacts'], [4])
    assert.equal(listOf(body, 'events').length, 3)
  })
})

describe('lists', () => {
  test('say what is at a location, page by page', async () => {
    await using at = await shop()
    await story(at)
    const count = { requestId: 'c-1', reason: 'AdminOverride', quantity: 3, countedAt: hour(9) }
    const counted = await at.post('/locations/DC01/products/pears/counts', count)
    const headers = { 'consistency-token': counted.headers['consistency-token'] ?? '' }

    const first = await at.get('/locations/DC01/products?limit=1', { headers })
    const cursor = encodeURIComponent(String(first.body['nextCursor']))
    const second = await at.get(`/locations/DC01/products?limit=1&cursor=${cursor}`, { headers })

    assert.deepEqual(first.body['products'], [
      {
        locationId: 'DC01',
        productId: 'apples',
        quantity: 45,
        lastUpdated: '2026-01-15T13:00:00.000Z',
        version: 4,
      },
    ])
    assert.deepEqual(
      listOf(second.body, 'products').map(({ productId }) => productId),
      ['pears'],
    )
  })

  test('say where a product is, to each their own places', async () => {
    await using at = await shop()
    const seen = await storyTold(at)
    const who = { permissions: ['*:read'], places: ['BAY1'] }

    const all = await at.get('/products/apples/locations', seen)
    const own = await at.get('/products/apples/locations', { ...seen, who })

    assert.deepEqual(places(all), ['BAY1', 'DC01'])
    assert.deepEqual(places(own), ['BAY1'])
  })

  test('of products of a location that is not there are refused', async () => {
    await using at = await shop()

    assert.equal((await at.get('/locations/NOWHERE/products')).status, 404)
  })
})

describe('a move', () => {
  test('is found by its id and in the list, by those who may see an end of it', async () => {
    await using at = await shop()
    const seen = await storyTold(at)
    const atEnd = { ...seen, who: { permissions: ['*:read'], places: ['BAY1'] } }
    const elsewhere = { ...seen, who: { permissions: ['*:read'], places: ['ST01'] } }

    const one = await at.get('/moves/m-1', atEnd)
    const list = await at.get('/moves?state=completed', atEnd)

    const { recordedAt, position, ...rest } = one.body
    assert.deepEqual(rest, {
      moveId: 'm-1',
      requestId: 'm-1',
      state: 'completed',
      productId: 'apples',
      sourceLocationId: 'DC01',
      destinationLocationId: 'BAY1',
      quantity: 20,
      reason: 'replenishment',
      movedAt: '2026-01-15T13:00:00.000Z',
      actor: 'ada',
    })
    assert.ok(typeof recordedAt === 'string' && typeof position === 'number')
    assert.deepEqual(list.body['moves'], [one.body])
    assert.deepEqual((await at.get('/moves?state=in-transit', seen)).body['moves'], [])
    assert.deepEqual((await at.get('/moves', elsewhere)).body['moves'], [])
    assert.equal((await at.get('/moves/m-1', elsewhere)).status, 403)
  })

  test('that is not there is refused', async () => {
    await using at = await shop()

    const { status, body } = await at.get('/moves/none')

    assert.deepEqual([status, body['status']], [404, 'MoveNotFound'])
  })
})

describe('a request', () => {
  test('can be asked about, with the answer it was given', async () => {
    await using at = await shop()
    await story(at)

    const { status, body } = await at.get('/requests/m-1')

    assert.equal(status, 200)
    assert.deepEqual([body['requestId'], body['operation'], body['ok']], ['m-1', 'move', undefined])
    const again = await at.post(`${APPLES}/movements`, {
      requestId: 'm-1',
      destinationLocationId: 'BAY1',
      quantity: 20,
      reason: 'replenishment',
      movedAt: hour(13),
    })
    assert.deepEqual(body['body'], again.body)
  })

  test('is shown at its own places only', async () => {
    await using at = await shop()
    await story(at)
    const who = { permissions: ['*:read'], places: ['ST01'] }

    assert.equal((await at.get('/requests/s-1', { who })).status, 403)
  })

  test('that was never granted is not there', async () => {
    await using at = await shop()

    const { status, body } = await at.get('/requests/none')

    assert.deepEqual([status, body['status']], [404, 'RequestNotFound'])
  })
})

describe('the feed', () => {
  test('is a line for each event, from any position on', async () => {
    await using at = await shop()
    await story(at)

    const all = await at.get('/events?limit=5')
    const [first] = lines(all)
    const rest = await at.get(`/events?after=${String(first?.['position'])}&limit=4`)

    assert.equal(all.headers['content-type'], 'application/x-ndjson')
    assert.deepEqual(
      lines(all).map(({ type, locationId }) => [type, locationId]),
      [
        ['delivered', 'DC01'],
        ['sold', 'DC01'],
        ['moved-out', 'DC01'],
        ['moved-in', 'BAY1'],
        ['sold', 'DC01'],
      ],
    )
    assert.deepEqual(lines(rest), lines(all).slice(1))
  })

  test('is server-sent events for those who accept them, and goes on after the last', async () => {
    await using at = await shop()
    await story(at)
    const accept = 'text/event-stream'
    const [, second] = lines(await at.get('/events?limit=2'))

    const { headers, text } = await at.get('/events?limit=1', {
      headers: { accept, 'last-event-id': String(second?.['position']) },
    })

    assert.equal(headers['content-type'], accept)
    const [id, event, data] = text.split('\n')
    assert.equal(event, 'event: moved-out')
    const change: Line = JSON.parse(data?.slice('data: '.length) ?? '')
    assert.equal(id, `id: ${String(change['position'])}`)
    assert.deepEqual([change['counterpart'], change['moveId']], ['BAY1', 'm-1'])
  })

  test('tells those with places of their own what happens there', async () => {
    await using at = await shop()
    await story(at)
    const who = { permissions: ['*:read'], places: ['BAY1'] }

    const own = await at.get('/events?limit=1', { who })

    assert.deepEqual(
      lines(own).map(({ type }) => type),
      ['moved-in'],
    )
  })

  test('says when a late fact changes levels that were told before', async () => {
    await using at = await shop()
    await story(at)

    const late = lines(await at.get('/events?limit=5')).at(-1)

    assert.ok(late !== undefined && typeof late['discrepancy'] === 'object')
  })
})

async function refused(code: StockReadRefusal): Promise<Fault<StockReadRefusal>> {
  return { ...fault('x', 'it is so'), code }
}

describe('what goes wrong below a read', () => {
  const cases: readonly (readonly [StockReadRefusal, number, string])[] = [
    ['upstream-unavailable', 502, 'UpstreamServiceUnavailable'],
    ['view-behind', 503, 'ReadBehind'],
    ['overloaded', 429, 'Overloaded'],
    ['shutting-down', 503, 'ShuttingDown'],
    ['pot-unavailable', 503, 'PotUnavailable'],
    ['history-too-long', 422, 'HistoryTooLong'],
  ]
  for (const [code, status, word] of cases)
    test(`${code} is answered ${status}`, async () => {
      await using at = await shop({ instead: { level: () => refused(code) } })

      const told = await at.get(APPLES)

      assert.deepEqual([told.status, told.body['status']], [status, word])
      assert.equal(told.headers['retry-after'] !== undefined, status === 429 || status === 503)
    })

  test('what the reader has seen is waited for', async () => {
    let asked: unknown
    const level: Stock['level'] = async ({ seen }) => {
      asked = seen
      return refused('view-behind')
    }
    await using at = await shop({ instead: { level } })

    await at.get(APPLES, { headers: { 'consistency-token': '12' } })

    assert.equal(asked, 12)
  })
})
