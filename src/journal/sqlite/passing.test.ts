import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Passing, type Passer } from './passing.ts'

type Item = Passer & { of: string; key: string; n: number }

const step = fc.oneof(
  fc.record({ of: fc.constantFrom('a', 'b'), key: fc.constantFrom('1', '2', '3') }),
  fc.constant('leave' as const),
)

describe('things that pass', () => {
  test('are found by their keys while they are here, the latest of each alone', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const passing = new Passing<Item>()
        const line: Item[] = []
        let [came, left, turned] = [0, 0, 0]
        for (const [n, next] of steps.entries()) {
          if (next === 'leave') {
            const item = line.shift()
            if (item === undefined) continue
            item.isLatest = false
            left += 1
            if (left < turned) continue
            turned = came
            passing.turn()
          } else {
            const item = { ...next, n, isLatest: true }
            line.push(item)
            passing.set(next.of, next.key, item)
            came += 1
          }
          for (const whose of ['a', 'b']) {
            const here = ['1', '2', '3'].map((key) => {
              const latest = line.findLast((item) => item.of === whose && item.key === key)
              assert.equal(passing.get(whose, key), latest)
              return latest
            })
            assert.deepEqual(
              new Set(passing.values(whose)),
              new Set(here.filter((item) => item !== undefined)),
            )
          }
        }
      }),
    )
  })
})
