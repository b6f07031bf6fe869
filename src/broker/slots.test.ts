import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { random } from '../std/index.ts'
import { FREE, NO_SLOT, READY, Slots } from './slots.ts'

describe('slots', () => {
  test('are found by number among many, whatever has gone in between', () => {
    const draw = random(7)
    const slots = new Slots()
    const there = new Map<number, number>()
    let seq = 0
    for (let round = 0; round < 40_000; round++) {
      seq += 1 + draw.below(3)
      const slot = slots.take(seq)
      slots.state[slot] = READY
      there.set(seq, slot)
      if (draw.below(3) === 0) {
        const gone = draw.below(seq) + 1
        const its = there.get(gone)
        if (its !== undefined) {
          there.delete(gone)
          slots.release(its)
        }
      }
    }
    const ordered = [...there.keys()].toSorted((a, b) => a - b)
    for (let n = 0; n < 3_000; n++) {
      const wanted = draw.below(seq + 2)
      assert.equal(slots.find(wanted), there.get(wanted) ?? NO_SLOT)
      const next = ordered.find((one) => one >= wanted)
      assert.equal(slots.from(wanted), next === undefined ? NO_SLOT : there.get(next))
    }
  })

  test('name no delivery twice: the generation grows with every reuse', () => {
    const slots = new Slots()
    const gens = new Set<number>()
    for (let seq = 1; seq <= 100; seq++) {
      const slot = slots.take(seq)
      slots.state[slot] = READY
      gens.add(slots.gen[slot]! * 1_000 + slot)
      slots.release(slot)
      assert.equal(slots.state[slot], FREE)
    }
    assert.equal(gens.size, 100)
  })

  test('stand by age, also if one comes later than its number says', () => {
    const slots = new Slots()
    for (const seq of [5, 9, 7]) slots.state[slots.take(seq)] = READY
    const line: number[] = []
    for (let slot = slots.oldest; slot !== NO_SLOT; slot = slots.newer[slot]!)
      line.push(slots.seq[slot]!)
    assert.deepEqual(line, [5, 7, 9])
  })
})
