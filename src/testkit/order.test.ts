import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { random } from '../std/index.ts'
import { chooser, ORDERS, type Order } from './order.ts'

const TURNS = 8_000

/** How often each of ten was chosen. */
function counts(order: Order): number[] {
  const choose = chooser(order, random(1))
  const counted = Array.from({ length: 10 }, () => 0)
  for (let n = 0; n < TURNS; n++) counted[choose(10)]!++
  return counted
}

describe('order', () => {
  test('every order reaches everybody', () => {
    for (const order of ORDERS)
      assert.ok(
        counts(order).every((count) => count > 50),
        order,
      )
  })

  test('each has its habit', () => {
    assert.ok(counts('any').every((count) => count > 600 && count < 1_000))
    assert.ok(counts('arrival')[0]! > TURNS * 0.8)
    assert.ok(counts('newest')[9]! > TURNS * 0.8)
  })

  test('the same draws give the same choices', () => {
    for (const order of ORDERS) assert.deepEqual(counts(order), counts(order))
  })

  test('where there is one, it is chosen without a draw', () => {
    const draws = random(1)
    assert.equal(chooser('any', draws)(1), 0)
    assert.equal(draws.next(), random(1).next())
  })
})
