import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { BY, estate, MINUTE, NOON, type Estate } from '../../test/stock/estate.ts'
import { TRACKED_ROLE } from './locations/directory.ts'
import { STOCK_LIST_MAX } from './reading.ts'
import type { LevelBody, LevelQuestion, Listed } from './stock.ts'

async function level(
  { stock, until }: Estate,
  locationId: string,
  more: Partial<LevelQuestion> = {},
): Promise<LevelBody & Readonly<{ version: number }>> {
  const question = { locationId, productId: 'p', includeChildren: true, ...more }
  const answer = await until(stock.level(question))
  assert.ok(answer.ok, JSON.stringify(answer))
  return { ...answer.body, version: answer.version }
}

function listed<Item>(answer: Listed<Item> | Readonly<{ ok: false }>): Listed<Item> {
  assert.ok(answer.ok, JSON.stringify(answer))
  return answer
}

const UPDATED = '2026-01-01T00:00:00.000Z'

/** 150.5 and 5 pending, WH1 50 and 3 pending with SU 30 inside, WH2 30.5 and 2 pending. */
async function stocked(): Promise<Estate> {
  const on = await estate()
  const owing: [string, string, string][] = [
    ['DC', '150.5', '5'],
    ['WH1', '50', '3'],
    ['WH2', '30.5', '2'],
  ]
  for (const [place, quantity, pending] of owing) {
    await on.sell(place, pending)
    await on.deliver(place, quantity)
  }
  await on.deliver('SU', '30')
  return on
}

describe('a level', () => {
  test('is that of the place and of all inside it; what is pending is in no total', async () => {
    await using on = await stocked()
    assert.deepEqual(await level(on, 'DC'), {
      locationId: 'DC',
      productId: 'p',
      quantity: 150.5,
      pendingAdjustment: -5,
      lastUpdated: UPDATED,
      totalQuantity: 261,
      childLocations: [
        {
          locationId: 'WH1',
          quantity: 50,
          pendingAdjustment: -3,
          totalQuantity: 80,
          childLocations: [
            { locationId: 'SU', quantity: 30, totalQuantity: 30 },
            { locationId: 'zone', totalQuantity: 0 },
          ],
        },
        { locationId: 'WH2', quantity: 30.5, pendingAdjustment: -2, totalQuantity: 30.5 },
      ],
      version: 2,
    })
  })

  test('is that of the place alone where nothing else is asked for', async () => {
    await using on = await stocked()
    assert.deepEqual(await level(on, 'DC', { includeChildren: false }), {
      locationId: 'DC',
      productId: 'p',
      quantity: 150.5,
      pendingAdjustment: -5,
      lastUpdated: UPDATED,
      version: 2,
    })
  })

  test('of an untracked place is what is inside it, and nothing of its own', async () => {
    await using on = await stocked()
    assert.deepEqual(await level(on, 'gate'), {
      locationId: 'gate',
      productId: 'p',
      totalQuantity: 0,
      version: 0,
    })
    await on.until(on.places.move({ id: 'WH1', parent: 'yard' }, BY))
    const { quantity, totalQuantity } = await level(on, 'yard')
    assert.deepEqual([quantity, totalQuantity], [undefined, 80])
    assert.equal((await level(on, 'DC')).totalQuantity, 181)
    await on.until(on.places.setRoles({ id: 'WH1', roles: [] }, BY))
    const since = await level(on, 'WH1')
    assert.deepEqual(
      [since.quantity, since.pendingAdjustment, since.totalQuantity],
      [undefined, undefined, 30],
    )
  })

  test('is nothing, and was never updated, before the first event', async () => {
    await using on = await estate()
    assert.deepEqual(await level(on, 'DC', { includeChildren: false }), {
      locationId: 'DC',
      productId: 'p',
      quantity: 0,
      version: 0,
    })
    const unknown = { locationId: 'no', productId: 'p', includeChildren: true }
    const answer = await on.until(on.stock.level(unknown))
    assert.ok(!answer.ok && answer.code === 'location-not-found')
  })

  test('wakes nobody', async () => {
    await using on = await stocked()
    for (const place of ['DC', 'WH1', 'WH2', 'SU']) await on.until(on.stock.passivate(`p|${place}`))
    const { activations } = on.entities.metrics()
    await level(on, 'DC')
    assert.equal(on.entities.metrics().activations, activations)
    assert.deepEqual(on.stock.pots().items, [])
  })

  test('follows a fact that came late, exactly', async () => {
    await using on = await estate()
    await on.deliver('DC', '100', { at: NOON - 10 * MINUTE })
    await on.sell('DC', '10', { at: NOON - 5 * MINUTE })
    await on.count('DC', '70', { at: NOON - 6 * MINUTE })
    assert.deepEqual(await level(on, 'WH2', { includeChildren: false }), {
      locationId: 'WH2',
      productId: 'p',
      quantity: 0,
      version: 0,
    })
    const { quantity, version, lastUpdated } = await level(on, 'DC')
    assert.deepEqual([quantity, version], [60, 3])
    assert.equal(lastUpdated, '2025-12-31T23:55:00.000Z')
  })

  test('can be asked for as of a time, as at a time, and both', async () => {
    await using on = await estate()
    const { earth } = on
    await on.deliver('DC', '10', { at: NOON - 10 * MINUTE })
    await on.sell('DC', '4', { at: NOON - 2 * MINUTE })
    const believed = earth.clock.now()
    await earth.advance(MINUTE)
    await on.sell('DC', '3', { at: NOON - 5 * MINUTE })
    await on.move('DC', 'SU', '1', { at: NOON })
    const quantities = async (more: Partial<LevelQuestion>): Promise<unknown> => {
      const { quantity, totalQuantity } = await level(on, 'DC', more)
      return [quantity, totalQuantity]
    }
    assert.deepEqual(await quantities({}), [2, 3])
    assert.deepEqual(await quantities({ asOf: NOON - 1 }), [3, 3])
    assert.deepEqual(await quantities({ asOf: NOON - 3 * MINUTE }), [7, 7])
    assert.deepEqual(await quantities({ asAt: believed }), [6, 6])
    assert.deepEqual(await quantities({ asOf: NOON - 3 * MINUTE, asAt: believed }), [10, 10])
    assert.deepEqual(await quantities({ asOf: NOON - 20 * MINUTE }), [0, 0])
  })

  test('has seen all that was answered, and waits no longer than it may', async () => {
    await using on = await estate()
    await on.deliver('DC', '1')
    const { quantity } = await level(on, 'DC')
    assert.equal(quantity, 1)
    const seen = (await on.journal.position()) + 1
    const question = { locationId: 'DC', productId: 'p', includeChildren: false, seen }
    const answer = await on.until(on.stock.level(question))
    assert.ok(!answer.ok && answer.code === 'view-behind')
  })
})

describe('lists', () => {
  test('name what is at a place and where a product is, a page at a time', async () => {
    await using on = await estate()
    for (const product of ['c', 'a', 'b', 'ä|1']) await on.deliver('DC', '1', { product })
    await on.deliver('WH1', '2', { product: 'a' })
    const first = listed(await on.until(on.stock.productsAt('DC', { limit: 2 })))
    assert.deepEqual(
      first.items.map(({ productId }) => productId),
      ['ä|1', 'a'],
    )
    const rest = listed(await on.until(on.stock.productsAt('DC', { after: first.next!, limit: 2 })))
    assert.deepEqual(
      rest.items.map(({ productId }) => productId),
      ['b', 'c'],
    )
    assert.equal(rest.next, undefined)
    const where = listed(await on.until(on.stock.locationsOf('a', { limit: 1 })))
    assert.deepEqual(where.items, [
      { productId: 'a', locationId: 'DC', quantity: 1, lastUpdated: UPDATED, version: 1 },
    ])
    const more = listed(await on.until(on.stock.locationsOf('a', { after: where.next! })))
    assert.deepEqual(
      more.items.map(({ locationId }) => locationId),
      ['WH1'],
    )
    assert.deepEqual(listed(await on.until(on.stock.locationsOf('none'))).items, [])
    assert.deepEqual(listed(await on.until(on.stock.productsAt('zone'))).items, [])
  })

  test('begin where a page before has ended, and nowhere else', async () => {
    await using on = await estate()
    const answers = [
      await on.until(on.stock.productsAt('DC', { after: '%' })),
      await on.until(on.stock.locationsOf('p', { after: '' })),
      await on.until(on.stock.moves({ after: 'a\nb' })),
    ]
    for (const answer of answers) assert.ok(!answer.ok && answer.code === 'bad-cursor')
    const nowhere = await on.until(on.stock.productsAt('no'))
    assert.ok(!nowhere.ok && nowhere.code === 'location-not-found')
  })

  test('have so many items at most', async () => {
    await using on = await estate()
    const products = Array.from({ length: STOCK_LIST_MAX + 1 }, (_, n) => ({
      productId: `p${String(n).padStart(4, '0')}`,
      quantity: '1',
    }))
    const delivery = { requestId: 'd', locationId: 'DC', supplierId: 's', supplierRef: 'ref' }
    for (const half of [products.slice(0, 600), products.slice(600)])
      await on.until(
        on.stock.deliver(
          { ...delivery, requestId: half[0]!.productId, deliveredAt: NOON, products: half },
          BY,
        ),
      )
    const all = listed(await on.until(on.stock.productsAt('DC', { limit: STOCK_LIST_MAX + 1 })))
    assert.equal(all.items.length, STOCK_LIST_MAX)
    assert.equal(all.next, 'p0999')
  })
})

describe('a move', () => {
  test('can be looked at, and is in the list of moves', async () => {
    await using on = await estate()
    await on.deliver('DC', '5')
    await on.move('DC', 'WH1', '2', { id: 'm-1', at: NOON - MINUTE })
    await on.move('WH1', 'SU', '1', { id: 'm-2' })
    const found = await on.until(on.stock.moveOf('m-1'))
    assert.ok(found.ok)
    const { position, ...move } = found.move
    assert.ok(position > 0)
    assert.deepEqual(move, {
      moveId: 'm-1',
      requestId: 'm-1',
      state: 'completed',
      productId: 'p',
      sourceLocationId: 'DC',
      destinationLocationId: 'WH1',
      quantity: 2,
      reason: 'replenishment',
      movedAt: '2025-12-31T23:59:00.000Z',
      recordedAt: UPDATED,
      actor: 'ada',
    })
    const all = listed(await on.until(on.stock.moves({ limit: 1 })))
    const others = listed(await on.until(on.stock.moves({ after: all.next! })))
    assert.deepEqual(
      [...all.items, ...others.items].map(({ moveId }) => moveId),
      ['m-1', 'm-2'],
    )
    const none = await on.until(on.stock.moveOf('m-3'))
    assert.ok(!none.ok && none.code === 'no-such-move')
  })
})

describe('the registry of a stock', () => {
  test('is the tree that totals follow', async () => {
    await using on = await stocked()
    const cage = { id: 'cage', parent: 'WH2', roles: [TRACKED_ROLE] }
    await on.until(on.places.create(cage, BY))
    await on.move('WH2', 'cage', '10')
    assert.equal((await level(on, 'WH2')).totalQuantity, 30.5)
    await on.until(on.places.move({ id: 'cage', parent: 'SU' }, BY))
    assert.equal((await level(on, 'WH2')).totalQuantity, 20.5)
    assert.equal((await level(on, 'SU')).totalQuantity, 40)
    assert.equal((await level(on, 'DC')).totalQuantity, 261)
  })
})
