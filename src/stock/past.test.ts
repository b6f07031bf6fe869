import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { BY, estate, MINUTE, NOON, type Estate } from '../../test/stock/estate.ts'
import type { HistoryEntry, HistoryQuestion, Listed } from './stock.ts'

const DC = { locationId: 'DC', productId: 'p' }

/** 100 at -10, 10 sold at -5; then, told late, counted 70 at -6; then 100 sold. */
async function told(): Promise<Estate> {
  const on = await estate()
  await on.deliver('DC', '100', { id: 'delivery', at: NOON - 10 * MINUTE })
  await on.sell('DC', '10', { id: 'sale', at: NOON - 5 * MINUTE })
  await on.earth.advance(MINUTE)
  await on.count('DC', '70', { id: 'count', at: NOON - 6 * MINUTE })
  await on.sell('DC', '100', { id: 'too-much', at: NOON })
  return on
}

async function history(
  { stock, until }: Estate,
  more: Partial<HistoryQuestion>,
): Promise<Listed<HistoryEntry>> {
  const answer = await until(stock.history({ ...DC, order: 'effective', ...more }))
  assert.ok(answer.ok, JSON.stringify(answer))
  return answer
}

const brief = ({ items }: Listed<HistoryEntry>): unknown =>
  items.map(({ version, quantity, pendingAdjustment }) => [version, quantity, pendingAdjustment])

describe('history', () => {
  test('in order of effect shows what the pot had come to, with all that is known', async () => {
    await using on = await told()
    const found = await history(on, { order: 'effective' })
    assert.deepEqual(brief(found), [
      [1, 100, 0],
      [3, 70, 0],
      [2, 60, 0],
      [4, 0, -40],
    ])
    const { position, batch, ...count } = found.items[1]!
    assert.equal(position, batch)
    assert.deepEqual(count, {
      version: 3,
      type: 'counted',
      effectiveAt: '2025-12-31T23:54:00.000Z',
      recordedAt: '2026-01-01T00:01:00.000Z',
      requestId: 'count',
      actor: 'ada',
      amount: 70,
      quantity: 70,
      pendingAdjustment: 0,
      reason: 'AdminOverride',
      variance: -30,
      late: true,
    })
  })

  test('in the order of recording shows what was believed', async () => {
    await using on = await told()
    const found = await history(on, { order: 'recorded' })
    assert.deepEqual(brief(found), [
      [1, 100, 0],
      [2, 90, 0],
      [3, 60, 0],
      [4, 0, -40],
    ])
    assert.deepEqual(
      found.items.map(({ late }) => late),
      [false, false, true, false],
    )
  })

  test('is told from and up to times, and a page at a time', async () => {
    await using on = await told()
    const between = { from: NOON - 6 * MINUTE, to: NOON - 5 * MINUTE }
    assert.deepEqual(brief(await history(on, between)), [
      [3, 70, 0],
      [2, 60, 0],
    ])
    const recorded = await history(on, { order: 'recorded', from: NOON + 1 })
    assert.deepEqual(brief(recorded), [
      [3, 60, 0],
      [4, 0, -40],
    ])
    for (const order of ['effective', 'recorded'] as const) {
      const whole = await history(on, { order })
      const pages: HistoryEntry[] = []
      for (let after: string | undefined, n = 0; n < 4; n++) {
        const page = await history(on, { order, limit: 1, ...(after && { after }) })
        pages.push(...page.items)
        after = page.next
      }
      assert.deepEqual(pages, whole.items)
    }
    const wrong = await on.until(on.stock.history({ ...DC, order: 'recorded', after: 'x' }))
    assert.ok(!wrong.ok && wrong.code === 'bad-cursor')
    const nowhere = { ...DC, locationId: 'no', order: 'recorded' } as const
    const unknown = await on.until(on.stock.history(nowhere))
    assert.ok(!unknown.ok && unknown.code === 'location-not-found')
  })

  test('names the other end of a move and the supplier of a delivery', async () => {
    await using on = await told()
    await on.deliver('DC', '60', { at: NOON })
    await on.move('DC', 'WH1', '2', { id: 'm', at: NOON })
    const { items } = await history(on, { order: 'recorded' })
    const [{ counterpart, moveId, reason }] = items.slice(-1) as [HistoryEntry]
    assert.deepEqual([counterpart, moveId, reason], ['WH1', 'm', 'replenishment'])
    assert.deepEqual([items[0]!.supplierId, items[0]!.supplierRef], ['s', 'ref'])
    const there = await on.until(on.stock.history({ ...DC, locationId: 'WH1', order: 'effective' }))
    assert.ok(there.ok)
    assert.equal(there.items[0]?.counterpart, 'DC')
  })
})

describe('an explanation', () => {
  test('says which events changed the level, which came late, and what the counts found', async () => {
    await using on = await told()
    const why = await on.until(on.stock.explain({ ...DC, from: 1, to: 3 }))
    assert.ok(why.ok)
    assert.deepEqual(why.before, { version: 1, quantity: 100, pendingAdjustment: 0 })
    assert.deepEqual(why.after, { version: 3, quantity: 60, pendingAdjustment: 0 })
    assert.deepEqual(
      why.events.map(({ version, quantityChange, pendingChange, overtook, late }) => [
        version,
        quantityChange,
        pendingChange,
        overtook,
        late,
      ]),
      [
        [2, -10, 0, 0, false],
        [3, -30, 0, 1, true],
      ],
    )
    assert.deepEqual(why.lateFacts, [3])
    assert.equal(why.variance, -30)
  })

  test('of nothing is that nothing changed', async () => {
    await using on = await told()
    for (const version of [0, 4]) {
      const why = await on.until(on.stock.explain({ ...DC, from: version, to: version }))
      assert.ok(why.ok)
      assert.deepEqual([why.before, why.events], [why.after, []])
    }
  })

  test('is given for versions that there are', async () => {
    await using on = await told()
    for (const [from, to] of [
      [0, 5],
      [3, 2],
    ] as const) {
      const answer = await on.until(on.stock.explain({ ...DC, from, to }))
      assert.ok(!answer.ok && answer.code === 'no-such-version')
    }
    const nowhere = await on.until(on.stock.explain({ ...DC, locationId: 'no', from: 0, to: 0 }))
    assert.ok(!nowhere.ok && nowhere.code === 'location-not-found')
  })
})

describe('a request', () => {
  test('can be asked for what became of it', async () => {
    await using on = await told()
    const { stock, until } = on
    const found = await until(stock.request('count'))
    assert.ok(found.ok)
    const { position, ...report } = found
    assert.ok(position > 0)
    assert.deepEqual(report, {
      ok: true,
      requestId: 'count',
      operation: 'count',
      recordedAt: '2026-01-01T00:01:00.000Z',
      version: 3,
      body: {
        requestId: 'count',
        location: 'DC',
        productId: 'p',
        quantity: 70,
        reason: 'AdminOverride',
        countedAt: '2025-12-31T23:54:00.000Z',
      },
    })
    await until(on.places.create({ id: 'new', roles: [] }, { ...BY, requestId: 'place' }))
    for (const id of ['never', 'place']) {
      const none = await until(stock.request(id))
      assert.ok(!none.ok && none.code === 'no-such-request')
    }
  })
})
