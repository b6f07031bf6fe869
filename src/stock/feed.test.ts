import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { estate, MINUTE, NOON, type Estate } from '../../test/stock/estate.ts'
import type { StockChange } from './stock.ts'

type Changes = AsyncIterableIterator<StockChange, undefined>

async function take({ until }: Estate, feed: Changes, count: number): Promise<StockChange[]> {
  const taken: StockChange[] = []
  while (taken.length < count) {
    const next = await until(feed.next())
    assert.ok(next.done !== true, 'the feed goes on')
    taken.push(next.value)
  }
  return taken
}

describe('the change feed', () => {
  test('has every event in order, and goes on as more come', async () => {
    await using on = await estate()
    await on.deliver('DC', '5', { id: 'd' })
    const feed = on.stock.changes(0)
    const [first] = await take(on, feed, 1)
    const { position, batch, ...change } = first!
    assert.equal(position, batch)
    assert.deepEqual(change, {
      type: 'delivered',
      productId: 'p',
      locationId: 'DC',
      version: 1,
      effectiveAt: '2026-01-01T00:00:00.000Z',
      recordedAt: '2026-01-01T00:00:00.000Z',
      requestId: 'd',
      amount: 5,
      actor: 'ada',
    })
    const waiting = feed.next()
    await on.move('DC', 'WH1', '2', { id: 'm' })
    const out = await on.until(waiting)
    assert.ok(out.done !== true)
    const [into] = await take(on, feed, 1)
    assert.deepEqual([out.value.type, into?.type], ['moved-out', 'moved-in'])
    assert.deepEqual([out.value.counterpart, into?.counterpart], ['WH1', 'DC'])
    assert.deepEqual([out.value.moveId, into?.moveId], ['m', 'm'])
    assert.equal(out.value.batch, into?.batch)
    await feed.return?.()
  })

  test('goes on after any position, and gives each change once', async () => {
    await using on = await estate()
    for (let n = 0; n < 20; n++) await on.deliver(n % 2 === 0 ? 'DC' : 'WH1', '1')
    const whole = on.stock.changes(0)
    const all = await take(on, whole, 20)
    for (const n of [0, 7, 18]) {
      const feed = on.stock.changes(all[n]!.position)
      assert.deepEqual(await take(on, feed, 19 - n), all.slice(n + 1))
      await feed.return?.()
    }
    await whole.return?.()
  })

  test('says that a fact came late, with what it made of the level, wherever one begins', async () => {
    await using on = await estate()
    await on.deliver('DC', '100', { at: NOON - 10 * MINUTE })
    const sale = await on.sell('DC', '10', { at: NOON - 5 * MINUTE })
    await on.count('DC', '70', { at: NOON - 6 * MINUTE })
    await on.sell('DC', '1', { at: NOON - 5 * MINUTE })
    assert.ok(sale.ok)
    const discrepancy = {
      since: '2025-12-31T23:54:00.000Z',
      before: { version: 2, quantity: 90, pendingAdjustment: 0 },
      after: { version: 3, quantity: 60, pendingAdjustment: 0 },
    }
    const expected: [after: number, noticed: unknown[]][] = [
      [0, [undefined, undefined, discrepancy, undefined]],
      [sale.position, [discrepancy, undefined]],
    ]
    for (const [after, noticed] of expected) {
      const feed = on.stock.changes(after)
      const changes = await take(on, feed, noticed.length)
      assert.deepEqual(
        changes.map((change) => change.discrepancy),
        noticed,
      )
      await feed.return?.()
    }
  })

  test('ends at once for a reader who leaves while waiting, and is counted no longer', async () => {
    await using on = await estate()
    const feed = on.stock.changes(0)
    const readers = (): unknown =>
      on.stock.metrics().find(({ name }) => name === 'stock_feeds')?.samples
    assert.deepEqual(readers(), [{ value: 1 }])
    const waiting = feed.next()
    await on.until(feed.return!())
    assert.deepEqual(await on.until(waiting), { done: true, value: undefined })
    assert.deepEqual(await on.until(feed.next()), { done: true, value: undefined })
    assert.deepEqual(readers(), [{ value: 0 }])
  })

  test('ends with the stock, and in a loop that is left', async () => {
    await using on = await estate()
    await on.deliver('DC', '1')
    const feed = on.stock.changes(0)
    const seen: string[] = []
    const reading = (async () => {
      for await (const { type } of on.stock.changes(0)) {
        seen.push(type)
        break
      }
      for await (const { type } of feed) seen.push(type)
    })()
    await on.until(Promise.resolve())
    await on.deliver('DC', '1')
    await on.until(on.stock.close())
    await on.until(reading)
    assert.equal(seen[0], 'delivered')
    await on.stock[Symbol.asyncDispose]()
  })

  test('ends with what it cannot read, and says so', async () => {
    await using on = await estate()
    const event = { type: 'sold', version: 9, at: 0, data: '{}' }
    await on.journal.commit({
      streams: [{ stream: 'stock-pot/p|DC', expected: 'any', events: [event] }],
    })
    await assert.rejects(on.until(on.stock.changes(0).next()), { code: 'unknown-event' })
    const { up, checks } = await on.until(on.stock.health())
    assert.equal(up, false)
    assert.deepEqual(
      checks.filter((check) => !check.up).map(({ name }) => name),
      ['levels'],
    )
    const question = { locationId: 'DC', productId: 'p', includeChildren: false }
    const level = await on.until(on.stock.level(question))
    assert.ok(!level.ok && level.code === 'pot-unavailable')
  })
})

describe('pots', () => {
  test('are shown while they are awake, a page at a time, and at rest one by one', async () => {
    await using on = await estate()
    for (const place of ['WH2', 'DC', 'WH1']) await on.deliver(place, '1')
    const first = on.stock.pots({ limit: 2 })
    assert.deepEqual(
      first.items.map(({ key, phase, version }) => [key, phase, version]),
      [
        ['p|DC', 'running', 1],
        ['p|WH1', 'running', 1],
      ],
    )
    const rest = on.stock.pots({ after: first.next! })
    assert.deepEqual(
      rest.items.map(({ locationId, productId }) => [locationId, productId]),
      [['WH2', 'p']],
    )
    assert.equal(rest.next, undefined)

    assert.deepEqual(await on.until(on.stock.passivate('p|DC')), { ok: true })
    assert.equal(on.stock.pots().items.length, 2)
    const resting = await on.until(on.stock.pot('p|DC'))
    assert.ok(resting.ok)
    assert.deepEqual(resting.pot, {
      key: 'p|DC',
      productId: 'p',
      locationId: 'DC',
      version: 1,
      phase: 'resting',
      pending: 0,
      replayedEvents: 0,
      activationMs: 0,
    })
    const awake = await on.until(on.stock.pot('p|WH1'))
    assert.ok(awake.ok && awake.pot.phase === 'running')
    for (const key of ['p|SU', 'nonsense', 'a|b|c']) {
      const none = await on.until(on.stock.pot(key))
      assert.ok(!none.ok && none.code === 'no-such-pot')
    }
    const none = await on.until(on.stock.passivate('nonsense'))
    assert.ok(!none.ok && none.code === 'no-such-pot')
  })

  test('are healthy as far as the storage is', async () => {
    await using on = await estate({ stock: { isStorageUp: () => false } })
    const { up, checks } = await on.until(on.stock.health())
    assert.equal(up, false)
    assert.deepEqual(checks, [
      { name: 'locationApi', up: true },
      { name: 'eventRepository', up: false },
      { name: 'snapshotRepository', up: false },
      { name: 'levels', up: true },
    ])
  })
})
