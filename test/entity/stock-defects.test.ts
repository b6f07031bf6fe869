/**
 * Defects of snapshots that were seen in a stock system, each as the situation in which it showed. Every
 * comment names a line that holds the defect off: without it the test fails.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { foldOf } from '../../src/entity/internal/codec.ts'
import { load } from '../../src/entity/internal/ladder.ts'
import { pot, type PotEvent } from './pot.ts'
import { counted, delivered, movedIn, overriding, shelf, sold, type Shelf } from './shelf.ts'

/** The entity woken from the journal, as the runtime wakes it. */
async function woken({ journal }: Shelf): ReturnType<typeof load<typeof zero, PotEvent>> {
  return load(journal, pot, 'a')
}

const zero = pot.initial('a')

// src/entity/internal/ladder.ts, catchUp: `if (last === rungSeq) return true`. What a rung covers is known
// by its place in the stream, which every event has, and not by a request id, which a leg need not have.
test('stock-S1', async () => {
  const place = await shelf()
  await place.append([movedIn(40, 10), movedIn(10, 20)])
  await place.snapshot((await woken(place)).fold)

  const { fold, rungSeq, replayed } = await woken(place)
  assert.equal(fold.state.quantity, 50)
  assert.deepEqual([rungSeq, replayed], [2, 0])
})

// src/entity/internal/ladder.ts, catchUp: `if (last === rungSeq) return true`. That a sale found too little
// is no reason to fold it again.
test('stock-S2', async () => {
  const place = await shelf()
  await place.append([delivered(4, 10), sold(10, 20)])
  await place.snapshot((await woken(place)).fold)
  await place.append([delivered(1, 30)])

  const { fold, rungSeq, replayed } = await woken(place)
  assert.deepEqual(fold.state, { quantity: 1, pending: -6, lastAt: 30 })
  assert.deepEqual([rungSeq, replayed], [2, 1])
})

// src/entity/internal/fold.ts, constructor: `this.topAt = from?.topAt ?? …` is what the woken entity knows the
// late event by; with the part before `??` removed it is taken for the latest. src/entity/internal/ladder.ts,
// catchUp: `else if (entry.at < topAt) valid = false` is what the next waking knows it by.
test('stock-S3', async () => {
  const late = delivered(7, 5)
  for (const [first, quantity] of [
    [delivered(50, 10), 57],
    [counted(3, 10), 3],
  ] as const) {
    const place = await shelf()
    await place.append([first])
    await place.snapshot((await woken(place)).fold)
    const { fold, rungSeq } = await woken(place)
    assert.equal(rungSeq, 1)

    await place.append([late], 20)
    const live = fold.apply(late, 2, 5) === 'folded' ? fold : (await woken(place)).fold
    assert.equal(live.state.quantity, quantity)

    const again = await woken(place)
    assert.equal(again.fold.state.quantity, quantity)
    assert.equal(again.rungSeq, 0)
  }
})

// src/entity/internal/ladder.ts, catchUp: `|| last < rungSeq`. A snapshot of more than there is, left by another
// history of that name, is not stood on.
test('stock-S4', async () => {
  const place = await shelf()
  await place.append([delivered(5, 10), sold(1, 20)])
  const { journal, stream } = place
  const state = JSON.stringify({ quantity: 900, pending: 0, lastAt: 15 })
  const foreign = { stream, seq: 3, topAt: 15, topSeq: 1, fold: foldOf(pot), state }
  assert.equal((await journal.commit({ snapshots: [foreign] })).type, 'conflict')

  const strange = overriding(journal, { snapshots: () => Promise.resolve([foreign]) })
  const { fold, rungSeq } = await load(strange, pot, 'a')
  assert.equal(fold.state.quantity, 4)
  assert.equal(rungSeq, 0)
})
