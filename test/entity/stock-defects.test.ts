/**
 * Defects of snapshots that were seen in a stock system, each as the situation in which it showed. Every
 * comment names a line that holds the defect off: without it the test fails.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { foldOf } from '../../src/entity/internal/codec.ts'
import { load } from '../../src/entity/internal/ladder.ts'
import { createEntities } from '../../src/entity/index.ts'
import { Accident, fault, silentLog } from '../../src/std/index.ts'
import { world } from '../../src/testkit/index.ts'
import { pot, type PotDefinition, type PotEvent } from './pot.ts'
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

function silent(): Promise<never> {
  return new Promise(() => undefined)
}

// src/entity/internal/snapshotting.ts, snapshot: `failed(entity, reasonOf(error))`. What has been written and
// answered does not fail for a snapshot, whether its store refuses or does not answer at all.
test('stock-S5', async () => {
  const definition: PotDefinition = { ...pot, snapshots: { every: 2 } }
  const trouble = new Accident(fault('bad-batch', 'the store of snapshots is full'))
  const refusing = (): Promise<never> => Promise.reject(trouble)
  for (const store of [refusing, silent]) {
    await using earth = world()
    const { journal } = await shelf()
    const troubled = overriding(journal, {
      commit: (batch) => (batch.snapshots === undefined ? journal.commit(batch) : store()),
    })
    const entities = createEntities({ system: earth.system, journal: troubled, log: silentLog })
    for (let n = 1; n <= 6; n++) {
      const command = { type: 'deliver', quantity: 5, happenedAt: n } as const
      const requestId = `r${n}`
      const { version } = await earth.until(entities.ask(definition, 'a', command, { requestId }))
      assert.equal(version, n)
      const again = await earth.until(entities.ask(definition, 'a', command, { requestId }))
      assert.deepEqual([again.version, again.replayed], [n, true])
    }
    assert.equal(entities.metrics().snapshotsTaken, 0)
    const key = { type: 'pot', id: 'a' }
    if (store === refusing) await earth.until(entities.passivate(key), { withinMs: 1_000 })

    const { fold, rungSeq } = await load(journal, definition, 'a')
    assert.deepEqual([fold.state.quantity, rungSeq], [30, 0])
    const sale = { type: 'sell', quantity: 1, happenedAt: 7 } as const
    assert.equal((await earth.until(entities.ask(definition, 'a', sale))).version, 7)
    assert.equal(entities.metrics().snapshotsFailed > 0, store === refusing)
    await earth.until(entities.drain())
  }
})
