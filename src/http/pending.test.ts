import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Pending, type Placed } from './pending.ts'

test('those are pending who were added and not deleted since', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ isAdded: fc.boolean(), which: fc.integer({ min: 0, max: 9 }) })),
      (steps) => {
        const all: Placed[] = Array.from({ length: 10 }, () => ({ place: -1 }))
        const pending = new Pending<Placed>()
        const model = new Set<Placed>()
        for (const { isAdded, which } of steps) {
          const one = all[which]!
          if (isAdded) pending.add(one)
          else pending.delete(one)
          if (isAdded) model.add(one)
          else model.delete(one)
          assert.deepEqual(new Set(pending.all()), model)
          assert.equal(pending.size, model.size)
        }
        pending.clear()
        assert.equal(pending.size, 0)
        assert.ok(all.every(({ place }) => place === -1))
      },
    ),
  )
})
