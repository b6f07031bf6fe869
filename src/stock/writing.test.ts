import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { breakableJournal, BY, estate, MINUTE, NOON, type Estate } from '../../test/stock/estate.ts'
import { Accident, fault, type Fault } from '../std/index.ts'
import type { LocationDirectory } from './locations/directory.ts'
import type { Delivery, Recorded } from './stock.ts'

function granted<Body>(answer: Recorded<Body> | Fault): Recorded<Body> {
  assert.ok(answer.ok, JSON.stringify(answer))
  return answer
}

function refused(answer: Said, code: string): Fault['detail'] {
  assert.ok(!answer.ok, JSON.stringify(answer))
  assert.equal(answer.code, code)
  assert.equal(typeof answer.detail['remedy'], 'string')
  return answer.detail
}

type Said = Readonly<{ ok: true }> | Fault

const fields = (answer: Said): unknown => refused(answer, 'request-mismatch')['fields']
const redirect = (answer: Said): unknown => refused(answer, 'location-not-tracked')['redirect']
const failing = (code: string) => () =>
  Promise.reject(new Accident(fault(code, 'it is so', { remedy: 'wait' })))

const lines = (...products: [string, string][]): Delivery => ({
  requestId: 'd',
  locationId: 'DC',
  supplierId: 's',
  supplierRef: 'ref',
  deliveredAt: NOON,
  products: products.map(([productId, quantity]) => ({ productId, quantity })),
})

async function levels({ stock, until }: Estate, ...places: string[]): Promise<unknown[]> {
  const all: unknown[] = []
  for (const locationId of places) {
    const level = await until(stock.level({ locationId, productId: 'p', includeChildren: false }))
    assert.ok(level.ok)
    all.push(level.body.quantity)
  }
  return all
}

describe('a write', () => {
  test('is answered with what was recorded, its version and position', async () => {
    await using on = await estate()
    const { position, ...answer } = granted(await on.sell('DC', '1.5', { id: 'r' }))
    assert.equal(position, await on.journal.position())
    assert.deepEqual(answer, {
      ok: true,
      body: {
        requestId: 'r',
        locationId: 'DC',
        productId: 'p',
        quantitySold: 1.5,
        soldAt: '2026-01-01T00:00:00.000Z',
      },
      version: 1,
      replayed: false,
    })
    const [stored] = await on.journal.readStream('stock-pot/p|DC')
    assert.deepEqual(
      [stored?.requestId, stored?.actor, stored?.trace, stored?.type],
      ['r', BY.actor, BY.trace, 'sold'],
    )
  })

  test('that is repeated gets the answer it was given, whatever has become of the pot since', async () => {
    await using on = await estate()
    await on.deliver('DC', '5')
    const first = granted(await on.move('DC', 'WH1', '5', { id: 'm' }))
    refused(await on.move('DC', 'WH1', '5', { id: 'n' }), 'insufficient-stock')
    const again = granted(await on.move('DC', 'WH1', '5', { id: 'm' }))
    assert.deepEqual(again, { ...first, replayed: true })
    assert.deepEqual(await levels(on, 'DC', 'WH1'), [0, 5])
  })

  test('that is repeated gets its answer although the place is untracked since, or gone', async () => {
    await using on = await estate()
    const first = granted(await on.sell('SU', '1', { id: 'r' }))
    await on.until(on.places.setRoles({ id: 'SU', roles: [] }, BY))
    assert.deepEqual(await on.sell('SU', '1', { id: 'r' }), { ...first, replayed: true })
    refused(await on.sell('SU', '2', { id: 'r' }), 'request-mismatch')
    refused(await on.sell('SU', '1', { id: 'other' }), 'location-not-tracked')
  })

  test('with another content is refused, and the fields that differ are named', async () => {
    await using on = await estate()
    await on.deliver('DC', '9')
    granted(await on.sell('DC', '1', { id: 'r' }))
    assert.deepEqual(fields(await on.sell('DC', '2', { id: 'r' })), ['quantity'])
    assert.deepEqual(fields(await on.sell('DC', '1', { id: 'r', at: NOON - 1 })), ['soldAt'])
    assert.deepEqual(fields(await on.sell('WH1', '1', { id: 'r' })), ['locationId'])
    assert.deepEqual(fields(await on.sell('DC', '1', { id: 'r', product: 'q' })), ['productId'])
    assert.deepEqual(fields(await on.count('DC', '1', { id: 'r' })), [
      'countedAt',
      'operation',
      'reason',
      'soldAt',
    ])
    assert.deepEqual(await levels(on, 'DC', 'WH1'), [8, 0])
  })

  test('that says the same in another way is the same', async () => {
    await using on = await estate()
    const { stock, until } = on
    const first = granted(await until(stock.deliver(lines(['p', '1'], ['q', '2'], ['p', '3']), BY)))
    const again = granted(await until(stock.deliver(lines(['q', '2'], ['p', '4']), BY)))
    assert.deepEqual(again, { ...first, replayed: true })
    assert.deepEqual(
      again.body.products.map(({ quantity }) => quantity),
      [1, 2, 3],
    )
    const more = await until(stock.deliver(lines(['p', '4'], ['q', '2'], ['r', '1']), BY))
    assert.deepEqual(refused(more, 'request-mismatch')['fields'], ['products'])
  })

  test('that is on its way is joined', async () => {
    await using on = await estate()
    const sale = { requestId: 'r', locationId: 'DC', productId: 'p', quantity: '1', soldAt: NOON }
    const all = await on.until(Promise.all([1, 2, 3].map(() => on.stock.sell(sale, BY))))
    assert.equal(new Set(all.map((answer) => granted(answer).position)).size, 1)
    assert.equal((await on.journal.readStream('stock-pot/p|DC')).length, 1)
    const metrics = Object.fromEntries(
      on.stock.metrics().map(({ name, samples }) => [name, samples]),
    )
    assert.deepEqual(metrics['idempotency_domain_coalesced'], [{ value: 2 }])
    assert.deepEqual(metrics['idempotency_domain_misses'], [{ value: 1 }])
    assert.deepEqual(metrics['stock_recorded_total'], [{ labels: { operation: 'sale' }, value: 3 }])
  })

  test('that was refused for lack of stock may be granted later, under the same id', async () => {
    await using on = await estate()
    const detail = refused(await on.move('DC', 'WH1', '5', { id: 'm' }), 'insufficient-stock')
    assert.equal(detail['missing'], 5)
    await on.deliver('DC', '5')
    granted(await on.move('DC', 'WH1', '5', { id: 'm' }))
  })

  test('may expect a version', async () => {
    await using on = await estate()
    granted(await on.sell('DC', '1', { by: { expected: 0 } }))
    const detail = refused(await on.sell('DC', '1', { by: { expected: 0 } }), 'version-mismatch')
    assert.deepEqual([detail['expected'], detail['actual']], [0, 1])
    granted(await on.deliver('DC', '1', { by: { expected: 1 } }))
    const several = on.stock.deliver(lines(['p', '1'], ['q', '1']), { ...BY, expected: 0 })
    refused(await on.until(several), 'version-mismatch')
  })
})

describe('a delivery of several products', () => {
  test('is one batch over all pots', async () => {
    await using on = await estate()
    granted(await on.until(on.stock.deliver(lines(['q', '2'], ['p', '1'], ['q', '3']), BY)))
    const events = (await on.journal.readAll()).filter(({ stream }) => stream.startsWith('stock'))
    assert.deepEqual(
      events.map(({ stream, data }) => [
        stream,
        (JSON.parse(data) as { quantity: string }).quantity,
      ]),
      [
        ['stock-pot/p|DC', '1'],
        ['stock-pot/q|DC', '5'],
      ],
    )
    assert.equal(new Set(events.map(({ batch }) => batch)).size, 1)
    assert.equal(new Set(events.map(({ requestId }) => requestId)).size, 1)
  })
})

describe('a move', () => {
  test('is one batch with both ends, which share request and move', async () => {
    await using on = await estate()
    await on.deliver('DC', '5')
    granted(await on.move('DC', 'WH1', '2', { id: 'm' }))
    const [out] = await on.journal.readStream('stock-pot/p|DC', { after: 1 })
    const [into] = await on.journal.readStream('stock-pot/p|WH1')
    assert.equal(out?.batch, into?.batch)
    const shared = { requestId: 'm', moveId: 'm', reason: 'replenishment', quantity: '2' }
    assert.deepEqual(JSON.parse(out?.data ?? ''), { ...shared, effectiveAt: NOON, to: 'WH1' })
    assert.deepEqual(JSON.parse(into?.data ?? ''), { ...shared, effectiveAt: NOON, from: 'DC' })
    assert.deepEqual(await levels(on, 'DC', 'WH1'), [3, 2])
  })

  test('to where it comes from is refused', async () => {
    await using on = await estate()
    await on.deliver('DC', '5')
    refused(await on.move('DC', 'DC', '1'), 'same-location')
  })
})

describe('a place', () => {
  test('must be there', async () => {
    await using on = await estate()
    assert.equal(refused(await on.sell('no', '1'), 'location-not-found')['locationId'], 'no')
    refused(await on.deliver('no', '1'), 'location-not-found')
    refused(await on.count('no', '1'), 'location-not-found')
    refused(await on.move('no', 'DC', '1'), 'location-not-found')
    assert.equal(refused(await on.move('DC', 'no', '1'), 'location-not-found')['locationId'], 'no')
  })

  test('must be tracked; if it is not, the nearest one around it that is gets named', async () => {
    await using on = await estate()
    assert.equal(redirect(await on.sell('zone', '1')), 'WH1')
    assert.equal(redirect(await on.deliver('zone', '1')), 'WH1')
    assert.equal(redirect(await on.count('zone', '1')), 'WH1')
    assert.equal(redirect(await on.move('zone', 'DC', '1')), 'WH1')
    assert.equal(redirect(await on.sell('gate', '1')), undefined)
  })

  test('that something is moved to is never replaced by another', async () => {
    await using on = await estate()
    await on.deliver('DC', '5')
    const detail = refused(await on.move('DC', 'zone', '1'), 'location-not-tracked')
    assert.equal(detail['locationId'], 'zone')
    assert.equal('redirect' in detail, false)
  })

  test('that nobody can be asked about is no place to write to', async () => {
    const locations: LocationDirectory = {
      find: failing('upstream-unavailable'),
      path: failing('upstream-unavailable'),
      children: failing('upstream-unavailable'),
      health: () => false,
    }
    await using on = await estate({ locations })
    refused(await on.sell('DC', '1'), 'upstream-unavailable')
    refused(await on.move('DC', 'WH1', '1'), 'upstream-unavailable')
    const question = { locationId: 'DC', productId: 'p', includeChildren: true }
    refused(await on.until(on.stock.level(question)), 'upstream-unavailable')
    assert.equal((await on.until(on.stock.health())).up, false)
  })
})

describe('the rules', () => {
  test('are those that the stock was given', async () => {
    const options = { futureSkewMs: MINUTE, booksClosedBefore: NOON - MINUTE, oversell: 'refuse' }
    await using on = await estate({ stock: { options: { ...options, oversell: 'refuse' } } })
    refused(await on.deliver('DC', '1', { at: NOON + 10 * MINUTE }), 'in-the-future')
    refused(await on.deliver('DC', '1', { at: NOON - MINUTE - 1 }), 'books-closed')
    refused(await on.sell('DC', '1'), 'insufficient-stock')
    granted(await on.deliver('DC', '1', { at: NOON - MINUTE }))
  })
})

describe('what goes wrong below', () => {
  test('is told in the words of the stock', async () => {
    const { script, journal } = breakableJournal()
    await using on = await estate({ journal })
    const expected: [code: string, told: string, mayHaveTakenEffect: boolean][] = [
      ['journal-overloaded', 'overloaded', false],
      ['read-only', 'pot-unavailable', false],
      ['damaged', 'pot-unavailable', false],
      ['unknown-outcome', 'pot-unavailable', true],
      ['journal-closed', 'shutting-down', false],
    ]
    for (const [code, told, mayHaveTakenEffect] of expected) {
      script.commit = failing(code)
      const detail = refused(await on.sell('DC', '1'), told)
      assert.deepEqual([detail['cause'], detail['mayHaveTakenEffect']], [code, mayHaveTakenEffect])
    }
    delete script.commit
    granted(await on.sell('DC', '1'))
  })

  test('is told when nobody answers in time, and when too many wait', async () => {
    const { script, journal } = breakableJournal()
    await using on = await estate({ journal, entities: { mailbox: 1 } })
    granted(await on.sell('DC', '1'))
    const sale = { locationId: 'WH1', productId: 'p', quantity: '1', soldAt: NOON }
    const many = await on.until(
      Promise.all([1, 2, 3, 4].map((n) => on.stock.sell({ ...sale, requestId: `n-${n}` }, BY))),
    )
    const overloaded = many.filter((answer) => !answer.ok && answer.code === 'overloaded')
    assert.ok(overloaded.length > 0 && overloaded.length < 4)
    script.commit = () => new Promise(() => undefined)
    const late = refused(await on.sell('DC', '1', { by: { deadlineMs: 50 } }), 'pot-unavailable')
    assert.deepEqual([late['cause'], late['mayHaveTakenEffect']], ['deadline-passed', true])
  })

  test('is told of a pot whose history cannot be read, and of no other', async () => {
    await using on = await estate()
    const event = { type: 'sold', version: 2, at: 0, data: '{}' }
    await on.journal.commit({
      streams: [{ stream: 'stock-pot/p|WH2', expected: 'none', events: [event] }],
    })
    const detail = refused(await on.sell('WH2', '1'), 'pot-unavailable')
    assert.equal(detail['cause'], 'entity-quarantined')
    granted(await on.sell('WH1', '1'))
  })

  test('is told when the stock is being shut down', async () => {
    await using on = await estate()
    await on.until(on.entities.drain())
    refused(await on.sell('DC', '1'), 'shutting-down')
  })

  test('is thrown where it is nobody’s business but ours', async () => {
    await using on = await estate()
    await assert.rejects(on.sell('DC', '1', { by: { deadlineMs: -1 } }), { code: 'bad-option' })
  })
})
