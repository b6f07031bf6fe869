import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { freshId, freshSeed, random } from './random.ts'

describe('random', () => {
  // Stored seeds must keep their meaning: these values may only ever be added to.
  test('a seed gives the same draws for ever', () => {
    assert.deepEqual(
      [0, 1, 42, 2 ** 32 - 1, 2 ** 40 + 42].map((seed) => {
        const draw = random(seed)
        return [draw.below(2 ** 32), draw.below(2 ** 32), draw.below(6), draw.next()]
      }),
      [
        [1363572419, 145230303, 3, 0.9817317219131122],
        [2012149540, 1872316204, 5, 0.4143997614965732],
        [1264412219, 1947509147, 1, 0.29131022954605823],
        [1984736529, 3747275468, 1, 0.4706466757938219],
        [2084449249, 108991044, 3, 0.4377226392832667],
      ],
    )
  })

  test('neighbouring seeds and seeds that share their low half have nothing in common', () => {
    const seeds = [...Array(1_000).keys()].flatMap((n) => [n, n + 2 ** 32])
    assert.equal(new Set(seeds.map((seed) => random(seed).below(2 ** 32))).size, seeds.length)
  })

  test('the seed of a generator repeats it, of a fork as well', () => {
    const fork = random(7).fork()
    const again = random(fork.seed)

    for (let n = 0; n < 100; n++) assert.equal(fork.next(), again.next())
  })

  test('a fork goes its own way', () => {
    const [a, b] = [random(7), random(7)]
    const fork = a.fork()
    for (let n = 0; n < 10; n++) fork.next()
    b.fork()

    assert.equal(a.next(), b.next())
  })

  test('next stays in [0, 1) and spreads evenly', () => {
    const draw = random(3)
    const tenths = new Array<number>(10).fill(0)
    for (let n = 0; n < 100_000; n++) {
      const value = draw.next()
      assert.ok(value >= 0 && value < 1)
      tenths[Math.floor(value * 10)]! += 1
    }
    for (const count of tenths) assert.ok(Math.abs(count - 10_000) < 500, tenths.join())
  })

  test('below gives every whole number under the bound, and pick every element', () => {
    const draw = random(11)
    const counts = new Array<number>(7).fill(0)
    for (let n = 0; n < 70_000; n++) counts[draw.below(7)]! += 1
    for (const count of counts) assert.ok(Math.abs(count - 10_000) < 500, counts.join())

    const picked = new Set(Array.from({ length: 100 }, () => draw.pick(['a', 'b', 'c'])))
    assert.deepEqual([...picked].toSorted(), ['a', 'b', 'c'])
  })

  test('bounds hold at the limit and are refused one past it', () => {
    const draw = random(0)
    assert.equal(draw.below(1), 0)
    assert.ok(draw.below(2 ** 32) < 2 ** 32)
    for (const n of [0, -1, 1.5, NaN, 2 ** 32 + 1])
      assert.throws(() => draw.below(n), { name: 'AssertionFailure' })
    assert.throws(() => draw.pick([]), { name: 'AssertionFailure' })

    random(Number.MAX_SAFE_INTEGER)
    for (const seed of [-1, 0.5, NaN, 2 ** 53])
      assert.throws(() => random(seed), { name: 'AssertionFailure' })
  })
})

describe('fresh', () => {
  test('seeds are seeds and differ', () => {
    const seeds = Array.from({ length: 100 }, freshSeed)
    for (const seed of seeds) assert.equal(random(seed).seed, seed)
    assert.ok(new Set(seeds).size > 95)
  })

  test('ids are UUIDs and differ', () => {
    const ids = Array.from({ length: 1_000 }, freshId)
    for (const id of ids) assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    assert.equal(new Set(ids).size, ids.length)
  })
})
