import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident } from '../../std/index.ts'
import type { Active } from './active.ts'
import { ACTIVATIONS_WAITING_MAX, Permits } from './requesting-permit.ts'

/** As much of an entity as a permit has to do with. */
function entity(attempts = 0): Active {
  const some = { attempts, hasPermit: false, isGone: false, kind: { type: 'some' }, id: 'a' }
  return some as unknown as Active
}

describe('permits', () => {
  test('are given in the order in which they were asked for', () => {
    const permits = new Permits(2)
    const [a, b, c, d] = [entity(), entity(), entity(), entity()]
    const granted: Active[] = []
    for (const each of [a, b, c, d]) {
      const permit = permits.request(each, () => granted.push(each))
      if (permit === 'granted') granted.push(each)
    }
    assert.deepEqual(granted, [a, b])
    permits.giveBack(b)
    assert.deepEqual(granted, [a, b, c])
    permits.giveBack(b) // it has none any more
    assert.deepEqual(granted, [a, b, c])
    permits.giveBack(a)
    assert.deepEqual(granted, [a, b, c, d])
  })

  test('pass by those who have gone meanwhile', () => {
    const permits = new Permits(1)
    const [a, b, c] = [entity(), entity(), entity()]
    permits.request(a, () => assert.fail('it was granted at once'))
    permits.request(b, () => assert.fail('it has gone'))
    let isGranted = false
    permits.request(c, () => (isGranted = true))
    b.isGone = true
    permits.giveBack(a)
    assert.equal(isGranted, true)
    assert.equal(b.hasPermit, false)
  })

  test('are at most half for those who failed before, and one at least', () => {
    for (const [max, half] of [
      [1, 1],
      [2, 1],
      [50, 25],
    ] as const) {
      const permits = new Permits(max)
      const failed = Array.from({ length: max + 1 }, () => entity(1))
      const granted = failed.filter((each) => permits.request(each, () => undefined) === 'granted')
      assert.equal(granted.length, half)
      if (max > 1)
        assert.equal(
          permits.request(entity(), () => undefined),
          'granted',
        )
    }
  })

  test('are refused where 100 000 wait, and not before', () => {
    const permits = new Permits(1)
    permits.request(entity(), () => undefined)
    for (let n = 0; n < ACTIVATIONS_WAITING_MAX; n++)
      assert.equal(
        permits.request(entity(n % 2), () => undefined),
        'waiting',
      )
    const refusal = permits.request(entity(), () => undefined)
    assert.ok(refusal instanceof Accident && refusal.code === 'entity-overloaded')
  })
})
