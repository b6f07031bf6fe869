import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FleetingMap } from './fleeting-map.ts'

type Step = Readonly<{ type: 'set' | 'delete'; key: number }>

const step: fc.Arbitrary<Step> = fc.record({
  type: fc.constantFrom('set', 'set', 'delete'),
  key: fc.integer({ min: 0, max: 600 }),
})

test('it has what a map has, however much has passed through it', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 600, maxLength: 1_500 }), (steps) => {
      const map = new FleetingMap<number, number>()
      const model = new Map<number, number>()
      for (const [n, { type, key }] of steps.entries())
        if (type === 'set') {
          map.set(key, n)
          model.set(key, n)
        } else assert.equal(map.delete(key), model.delete(key))
      assert.equal(map.size, model.size)
      assert.deepEqual([...map.keys()], [...model.keys()])
      assert.deepEqual([...map.values()], [...model.values()])
      for (const key of model.keys()) assert.equal(map.get(key), model.get(key))
    }),
    { numRuns: 20 },
  )
})

test('what has left it is not kept until a full collection', () => {
  const { gc } = globalThis
  assert.ok(gc, 'tests run with --expose-gc')
  const map = new FleetingMap<number, readonly number[]>()
  let [from, upTo] = [0, 0]
  const pass = (count: number): void => {
    for (upTo += count; from < upTo; from++) {
      map.set(from, new Array<number>(100).fill(from))
      map.delete(from - 64)
    }
  }
  pass(1_000)
  gc() // and what the map has is taken for lasting
  const before = process.memoryUsage().heapUsed
  for (let n = 0; n < 20; n++) {
    pass(1_000)
    gc({ type: 'minor', execution: 'sync' })
  }

  const kept = process.memoryUsage().heapUsed - before
  assert.equal(map.size, 64)
  assert.ok(kept < 5_000_000, `${kept} bytes are kept`)
})
