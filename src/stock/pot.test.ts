import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { leg } from '../entity/index.ts'
import { isFault } from '../std/index.ts'
import { given, type Decided } from '../testkit/index.ts'
import { FUTURE_SKEW_MS_DEFAULT, stockPot, stockPotWith } from './pot.ts'
import type { CountReason, Pot, PotCommand, PotEvent, PotReply, PotRules } from './pot.ts'
import { isNegative, minus, plus } from './quantity.ts'
import { isoOf, timeOf } from './time.ts'

const at = (clock: string): number => timeOf(`2026-01-01T${clock}Z`)!
const NOON = at('12:00')

let requests = 0
const facts = (quantity: string, clock: string) => ({
  requestId: `r-${++requests}`,
  quantity,
  effectiveAt: at(clock),
})

const delivered = (quantity: string, clock: string): PotEvent => ({
  type: 'delivered',
  ...facts(quantity, clock),
  supplierId: 's',
  supplierRef: 'ref',
})
const sold = (quantity: string, clock: string): PotEvent => ({
  type: 'sold',
  ...facts(quantity, clock),
})
const counted = (
  quantity: string,
  clock: string,
  reason: CountReason = 'AdminOverride',
): PotEvent => ({ type: 'counted', ...facts(quantity, clock), reason })
const movedIn = (quantity: string, clock: string): PotEvent => ({
  type: 'moved-in',
  ...facts(quantity, clock),
  moveId: 'm',
  from: 'A',
  reason: 'replenishment',
})
const movedOut = (quantity: string, clock: string): PotEvent => ({
  type: 'moved-out',
  ...facts(quantity, clock),
  moveId: 'm',
  to: 'B',
  reason: 'replenishment',
})

const sell = (quantity: string, clock: string): PotCommand => ({
  type: 'sell',
  ...facts(quantity, clock),
  locationId: 'A',
  productId: 'p',
})
const move = (quantity: string, clock: string, to = 'B'): PotCommand => ({
  type: 'move',
  ...facts(quantity, clock),
  productId: 'p',
  from: 'A',
  to,
  reason: 'replenishment',
})
const count = (quantity: string, clock: string, reason: CountReason): PotCommand => ({
  type: 'count',
  ...facts(quantity, clock),
  locationId: 'A',
  productId: 'p',
  reason,
})
const deliver = (...products: [productId: string, quantity: string][]): PotCommand => ({
  type: 'deliver',
  requestId: 'd',
  locationId: 'A',
  supplierId: 's',
  supplierRef: 'ref',
  effectiveAt: NOON,
  products: products.map(([productId, quantity]) => ({ productId, quantity })),
})

function after(...events: PotEvent[]): readonly [quantity: string, pending: string] {
  const { quantity, pending } = given(stockPot, events).state
  return [quantity, pending]
}

function refusal(decided: Decided<Pot, PotCommand, PotEvent, PotReply>): string {
  const { decision } = decided
  assert.equal(decision.type, 'answer')
  assert.ok(decision.type === 'answer' && isFault(decision.reply))
  return decision.reply.code
}

const strict: PotRules = { futureSkewMs: 1_000, booksClosedBefore: at('08:00'), oversell: 'refuse' }

describe('the seven semantics of a pot', () => {
  test('1: selling what is not there succeeds, and is remembered', () => {
    const command = sell('3', '12:00')
    const decided = given(stockPot, [delivered('1', '11:00')]).when(command, NOON)
    decided.expect(
      [
        {
          type: 'sold',
          requestId: command.requestId,
          effectiveAt: command.effectiveAt,
          quantity: '3',
        },
      ],
      {
        ok: true,
        operation: 'sale',
        body: {
          requestId: command.requestId,
          locationId: 'A',
          productId: 'p',
          quantitySold: 3,
          soldAt: '2026-01-01T12:00:00.000Z',
        },
      },
    )
    decided.expectState({ quantity: '0', pending: '-2', lastUpdated: NOON })
  })

  test('2: a later delivery does not repair the shortfall', () => {
    assert.deepEqual(after(sold('1', '11:00'), delivered('10', '12:00')), ['10', '-1'])
  })

  test('3: a delivery that happened before the sale and is told later does', () => {
    assert.deepEqual(after(sold('1', '12:00'), delivered('10', '11:00')), ['9', '0'])
  })

  test('4: only shortfalls after the late fact are repaired', () => {
    assert.deepEqual(after(sold('5', '11:00'), sold('1', '12:00'), delivered('10', '11:30')), [
      '9',
      '-5',
    ])
  })

  test('5: a late count re-bases only what follows it', () => {
    assert.deepEqual(
      after(delivered('100', '09:00'), sold('10', '10:00'), counted('70', '09:55')),
      ['60', '0'],
    )
  })

  test('6: a late sale before an inbound move leaves what was moved', () => {
    assert.deepEqual(after(movedIn('50', '10:00'), sold('1', '09:55')), ['50', '-1'])
  })

  test('7: what is pending is not part of a quantity', () => {
    const { quantity, pending } = given(stockPot, [
      sold('5', '10:00'),
      delivered('2', '11:00'),
    ]).state
    assert.deepEqual([quantity, pending], ['2', '-5'])
  })
})

describe('a pot', () => {
  test('folds a move out like a sale: a late fact never leaves less than nothing', () => {
    const events = [delivered('10', '09:00'), movedOut('8', '10:00'), counted('3', '09:30')]
    assert.deepEqual(after(...events), ['0', '-5'])
  })

  test('is empty and was never changed before its first event', () => {
    assert.deepEqual(given(stockPot).state, { quantity: '0', pending: '0', lastUpdated: null })
  })

  test('decides a move for both ends in one batch, with one id, and names the other end', () => {
    const command = move('4', '12:00')
    const both = {
      requestId: command.requestId,
      effectiveAt: command.effectiveAt,
      quantity: '4',
      moveId: command.requestId,
      reason: 'replenishment',
    } as const
    given(stockPot, [delivered('4', '11:00')])
      .when(command, NOON)
      .expect(
        [{ type: 'moved-out', ...both, to: 'B' }],
        {
          ok: true,
          operation: 'move',
          body: {
            requestId: command.requestId,
            moveId: command.requestId,
            sourceLocationId: 'A',
            destinationLocationId: 'B',
            productId: 'p',
            quantity: 4,
            reason: 'replenishment',
            movedAt: isoOf(NOON),
          },
        },
        [leg(stockPot, 'p|B', [{ type: 'moved-in', ...both, from: 'A' }])],
      )
      .expectState({ quantity: '0', pending: '0', lastUpdated: NOON })
  })

  test('refuses to move a millionth more than there is, and to where it is', () => {
    const history = [delivered('4', '11:00')]
    const decided = given(stockPot, history).when(move('4.000001', '12:00'), NOON)
    assert.equal(refusal(decided), 'insufficient-stock')
    const { decision } = decided
    assert.ok(decision.type === 'answer' && !decision.reply.ok)
    assert.equal(decision.reply.detail['missing'], 0.000001)
    assert.equal(decision.reply.detail['quantity'], 4)
    assert.equal(
      refusal(given(stockPot, history).when(move('1', '12:00', 'A'), NOON)),
      'same-location',
    )
  })

  test('delivers to all pots in one batch, decided by the first key, each product once', () => {
    const command = deliver(['q', '1'], ['p', '2'], ['q', '0.5'])
    const event = (quantity: string): PotEvent => ({
      type: 'delivered',
      requestId: 'd',
      effectiveAt: NOON,
      quantity,
      supplierId: 's',
      supplierRef: 'ref',
    })
    given(stockPot, [], { id: 'p|A' })
      .when(command, NOON)
      .expect(
        [event('2')],
        {
          ok: true,
          operation: 'delivery',
          body: {
            requestId: 'd',
            locationId: 'A',
            supplierId: 's',
            supplierRef: 'ref',
            deliveredAt: isoOf(NOON),
            products: [
              { productId: 'q', quantity: 1 },
              { productId: 'p', quantity: 2 },
              { productId: 'q', quantity: 0.5 },
            ],
          },
        },
        [leg(stockPot, 'q|A', [event('1.5')])],
      )
  })

  test('counts with the variance, unless it is told late', () => {
    const history = [delivered('10', '09:00'), sold('12', '10:00')]
    const inTime = given(stockPot, history).when(count('7', '11:00', 'AdminOverride'), NOON)
    inTime.expectState({ quantity: '7', pending: '-2', lastUpdated: at('11:00') })
    assert.equal(varianceIn(inTime), '7')
    const together = given(stockPot, history).when(count('7', '10:00', 'AdminOverride'), NOON)
    assert.equal(varianceIn(together), '7')
    const late = given(stockPot, history).when(count('11', '09:30', 'AdminOverride'), NOON)
    late.expectState({ quantity: '0', pending: '-1', lastUpdated: at('10:00') })
    assert.equal(varianceIn(late), undefined)

    function varianceIn({ decision }: typeof inTime): string | undefined {
      const [event] = decision.type === 'accept' ? decision.events : []
      assert.equal(event?.type, 'counted')
      return event?.type === 'counted' ? event.variance : undefined
    }
  })

  test('forgets what is pending when stock is taken, and only then', () => {
    const history = [sold('2', '10:00')]
    const taken = given(stockPot, history).when(count('7', '11:00', 'StockTake'), NOON)
    taken.expectState({ quantity: '7', pending: '0', lastUpdated: at('11:00') })
    assert.deepEqual(after(sold('2', '10:00'), counted('0', '09:00', 'StockTake')), ['0', '-2'])
  })

  test('is set to a level, of either sign of what is pending', () => {
    const command: PotCommand = { type: 'set-level', ...facts('80', '10:00'), pending: '3' }
    const decided = given(stockPot, [sold('2', '09:00')]).when(command, NOON)
    decided.expectState({ quantity: '80', pending: '3', lastUpdated: at('10:00') })
    assert.ok(decided.decision.type === 'accept')
    assert.deepEqual(decided.decision.reply, {
      ok: true,
      operation: 'level',
      body: { requestId: command.requestId, quantity: 80, pendingAdjustment: 3 },
    })
  })
})

describe('the rules of a pot', () => {
  test('let things take effect so far ahead, and not a millisecond more', () => {
    const sale = { ...sell('1', '12:00'), effectiveAt: NOON + FUTURE_SKEW_MS_DEFAULT }
    assert.equal(given(stockPot).when(sale, NOON).decision.type, 'accept')
    assert.equal(refusal(given(stockPot).when(sale, NOON - 1)), 'in-the-future')
  })

  test('let nothing take effect before the books were closed', () => {
    const pot = stockPotWith({ ...strict, oversell: 'accept' })
    const sale = { ...sell('1', '08:00'), effectiveAt: at('08:00') }
    assert.equal(given(pot).when(sale, NOON).decision.type, 'accept')
    const before = { ...sale, effectiveAt: at('08:00') - 1 }
    assert.equal(refusal(given(pot).when(before, NOON)), 'books-closed')
    assert.equal(given(stockPot).when(before, NOON).decision.type, 'accept')
  })

  test('may refuse to sell more than there is', () => {
    const pot = stockPotWith(strict)
    const there = given(pot, [delivered('2', '09:00')])
    assert.equal(refusal(there.when(sell('2.000001', '10:00'), NOON)), 'insufficient-stock')
    assert.equal(there.when(sell('2', '10:00'), NOON).decision.type, 'accept')
  })
})

describe('any history', () => {
  const events = fc
    .tuple(
      fc.constantFrom(delivered, sold, movedIn, movedOut, counted),
      fc.integer({ min: 1, max: 999 }).map((n) => String(n / 10)),
      fc.integer({ min: 0, max: 59 }).map((n) => `10:${String(n).padStart(2, '0')}`),
    )
    .map(([make, quantity, clock]) => make(quantity, clock))

  test('leaves nothing or more, and owes nothing or less', () => {
    fc.assert(
      fc.property(fc.array(events, { maxLength: 30 }), (history) => {
        const [quantity, pending] = after(...history)
        assert.equal(isNegative(quantity), false)
        assert.ok(pending === '0' || isNegative(pending))
      }),
    )
  })

  test('without a count comes to the same sum of quantity and pending in every order', () => {
    const flows = events.filter(({ type }) => type !== 'counted')
    fc.assert(
      fc.property(fc.array(flows, { maxLength: 30 }), (history) => {
        const [quantity, pending] = after(...history)
        const sum = history.reduce(
          (total, { type, quantity: q }) =>
            type === 'sold' || type === 'moved-out' ? minus(total, q) : plus(total, q),
          '0',
        )
        assert.equal(plus(quantity, pending), sum)
      }),
    )
  })

  test('comes to the same whichever of it was told first, where no two share a time', () => {
    const distinct = fc.uniqueArray(events, { maxLength: 20, selector: (e) => e.effectiveAt })
    fc.assert(
      fc.property(distinct, fc.integer(), (history, seed) => {
        const shuffled = history.toSorted(
          (a, b) => ((a.effectiveAt ^ seed) % 7) - ((b.effectiveAt ^ seed) % 7),
        )
        assert.deepEqual(after(...shuffled), after(...history))
      }),
    )
  })
})
