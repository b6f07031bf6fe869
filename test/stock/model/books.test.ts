/** The reference itself, by the examples the rules of stock are told with. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Books, type Fact, type Request } from './books.ts'

const PLACE = { product: 'p', location: 'here' }

function more(quantity: bigint, at: number): Fact {
  return { ...PLACE, says: 'more', quantity, at }
}

function less(quantity: bigint, at: number): Fact {
  return { ...PLACE, says: 'less', quantity, at }
}

function is(quantity: bigint, at: number): Fact {
  return { ...PLACE, says: 'is', quantity, at }
}

/** Quantity and what is pending, after these facts were written down in this order. */
function after(...facts: readonly Fact[]): readonly bigint[] {
  const books = new Books()
  books.write(facts)
  const { quantity, pending } = books.standing('p', 'here')
  return [quantity, pending]
}

test('what is sold and not there is pending, and a later delivery does not change that', () => {
  assert.deepEqual(after(less(1n, 12), more(10n, 13)), [10n, -1n])
})

test('a delivery that came before the sale settles it, however late it is told', () => {
  assert.deepEqual(after(less(1n, 12), more(10n, 11)), [9n, 0n])
  assert.deepEqual(after(less(5n, 110), less(1n, 120), more(10n, 115)), [9n, -5n])
})

test('a late count changes only what follows it', () => {
  assert.deepEqual(after(more(100n, 1), less(10n, 10), is(70n, 9)), [60n, 0n])
})

test('a late sale before an arrival leaves what has arrived', () => {
  assert.deepEqual(after(more(50n, 10), less(1n, 9)), [50n, -1n])
})

test('what happened at one moment happened as it was written down', () => {
  assert.deepEqual(after(more(5n, 10), is(1n, 10)), [1n, 0n])
  assert.deepEqual(after(is(1n, 10), more(5n, 10)), [6n, 0n])
})

test('a move has two ends or none', () => {
  const books = new Books()
  books.write([more(5n, 10)])
  const move = { ...PLACE, type: 'move', at: 20, to: 'there', quantity: 5n } satisfies Request
  assert.equal(books.factsOf({ ...move, quantity: 6n }), 'insufficient-stock')
  assert.equal(books.factsOf({ ...move, to: 'here' }), 'same-location')
  const facts = books.factsOf(move)
  assert.ok(typeof facts !== 'string')
  books.write(facts)
  assert.deepEqual(books.standing('p', 'here'), { quantity: 0n, pending: 0n, lastAt: 20 })
  assert.deepEqual(books.standing('p', 'there'), { quantity: 5n, pending: 0n, lastAt: 20 })
  assert.deepEqual(books.standing('p', 'here', 19), { quantity: 5n, pending: 0n, lastAt: 10 })
})

test('the lines of a delivery for one product are one fact', () => {
  const lines = [
    { product: 'p', quantity: 1n },
    { product: 'q', quantity: 2n },
    { product: 'p', quantity: 3n },
  ]
  const facts = new Books().factsOf({ type: 'delivery', at: 1, location: 'here', lines })
  assert.deepEqual(facts, [
    { product: 'p', quantity: 4n, location: 'here', says: 'more', at: 1 },
    { product: 'q', quantity: 2n, location: 'here', says: 'more', at: 1 },
  ])
})
