/**
 * Defects that were seen in a stock service, each as the situation in which it showed. Every comment
 * names a line that holds the defect off: without it the test fails.
 *
 * M are those of moves, S those of snapshots, I those of requests that are repeated.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Accident, fault } from '../../src/std/index.ts'
import { gate } from '../entity/scene.ts'
import { NOON, scene, type Said, type Scene } from './scene.ts'

function granted(said: Said): Extract<Said, { ok: true }> {
  assert.ok(said.ok, JSON.stringify(said))
  return said
}

function codeOf(said: Said): string {
  assert.ok(!said.ok, JSON.stringify(said))
  return said.code
}

/** What the pot itself has, once it is awake: it refuses to part with more. */
async function liveAt({ earth, move }: Scene, place: string): Promise<number> {
  const elsewhere = place === 'c' ? 'a' : 'c'
  const said = await earth.until(move(place, elsewhere, 1_000_000, { id: `probe-${place}` }))
  assert.ok(!said.ok && said.code === 'insufficient-stock', JSON.stringify(said))
  return Number(said.detail['quantity'])
}

const full = new Accident(fault('journal-overloaded', 'the journal has enough to do'))
const open = new Accident(fault('unknown-outcome', 'nobody knows whether it was written'))

// src/entity/internal/batch.ts, assembleMore: `...appendsOf(legs)`. Both ends are written by one batch, so a
// journal that refuses it leaves neither.
test('stock-M1', async () => {
  await using here = await scene()
  const { earth, script, deliver, move, level } = here
  granted(await earth.until(deliver('a', 100, { id: 'first' })))
  script.commit = () => Promise.reject(full)
  assert.equal(codeOf(await earth.until(move('a', 'b', 10, { id: 'm' }))), 'overloaded')
  delete script.commit
  assert.deepEqual([await level('a'), await level('b')], [[100], [0]])

  granted(await earth.until(move('a', 'b', 10, { id: 'm' })))
  assert.deepEqual([await level('a'), await level('b')], [[90], [10]])
})

// src/entity/internal/batch.ts, addMore: `ledger.push(…)`. The request is entered by the batch of both ends, so
// whoever was not told and asks again, also of a service that was started anew, is told what has happened.
test('stock-M2', async () => {
  await using here = await scene()
  const { earth, script, deliver, move } = here
  granted(await earth.until(deliver('a', 100, { id: 'first' })))
  script.commit = async (go) => {
    await go()
    throw open
  }
  assert.equal(codeOf(await earth.until(move('a', 'b', 10, { id: 'm' }))), 'pot-unavailable')
  delete script.commit

  const again = await here.restarted()
  assert.equal(granted(await earth.until(again.move('a', 'b', 10, { id: 'm' }))).replayed, true)
  assert.deepEqual([await again.level('a'), await again.level('b')], [[90], [10]])
})

// src/entity/internal/batch.ts, appendsOf: `expected: 'any'`. The other end is asked neither for leave nor for
// its version, so no pot ever waits for another.
test('stock-M3', async () => {
  await using here = await scene()
  const { earth, deliver, move, level } = here
  for (const place of ['a', 'b']) granted(await earth.until(deliver(place, 100, { id: place })))
  const [there, back] = await earth.until(
    Promise.all([move('a', 'b', 5, { id: 'there' }), move('b', 'a', 5, { id: 'back' })]),
    { withinMs: 1_000 },
  )
  granted(there)
  granted(back)
  assert.deepEqual([await level('a'), await level('b')], [[100], [100]])
})

// src/entity/internal/committing.ts, conflicted: `rewind(entity)`. A pot that was written to meanwhile decides
// again from where it stands by then.
test('stock-M4', async () => {
  await using here = await scene()
  const { earth, script, entities, deliver, move, level } = here
  const ring = ['a', 'b', 'c']
  for (const place of ring) granted(await earth.until(deliver(place, 100, { id: place })))
  const { clock } = earth
  script.commit = (go) =>
    new Promise((resolve) => {
      clock.setTimer(clock.monotonic() + 1, () => resolve(go()))
    })
  const moves = ring.flatMap((from, n) =>
    [1, 2, 3].map((m) => move(from, ring[(n + 1) % 3]!, 5, { id: `${from}-${m}` })),
  )
  for (const said of await earth.until(Promise.all(moves), { withinMs: 1_000 })) granted(said)
  assert.ok(entities.metrics().conflicts > 0)
  for (const place of ring) assert.deepEqual(await level(place), [100])
  for (const place of ring) assert.equal(await liveAt(here, place), 100)
})

// src/stock/pot.ts, decideMove: `if (from === to)`.
test('stock-M5', async () => {
  await using here = await scene()
  const { earth, deliver, move, level, events } = here
  granted(await earth.until(deliver('a', 100, { id: 'first' })))
  const said = await earth.until(move('a', 'a', 5, { id: 'm' }), { withinMs: 1_000 })
  assert.equal(codeOf(said), 'same-location')
  assert.deepEqual(await level('a'), [100])
  assert.equal((await events()).length, 1)
})

// src/entity/internal/batch.ts, appendsOf: `expected: 'any'`. A destination that cannot be woken keeps neither
// the move waiting nor anybody else at the source.
test('stock-M6', async () => {
  await using here = await scene()
  const { earth, script, deliver, sell, move, rest, level } = here
  for (const place of ['a', 'b']) granted(await earth.until(deliver(place, 100, { id: place })))
  await rest('b')
  const { hold, open: letGo, waiting } = gate()
  script.readStream = (go, stream) => (stream.endsWith('|b') ? hold(go) : go())
  const stuck = sell('b', 1, { id: 'stuck' })
  await earth.until(() => waiting() > 0)

  granted(await earth.until(move('a', 'b', 10, { id: 'm' }), { withinMs: 100 }))
  granted(await earth.until(sell('a', 1, { id: 's' }), { withinMs: 100 }))
  letGo()
  granted(await earth.until(stuck))
  delete script.readStream
  assert.deepEqual([await level('a'), await level('b')], [[89], [109]])
  assert.equal(await liveAt(here, 'b'), 109)
})

// src/entity/internal/retiring.ts, retireWithSnapshot: `return entity.isQuiet ? gone(entity) : stay(entity)`, where
// with `gone(entity)` alone what came meanwhile is lost. A destination that is being put away gets its stock,
// and whoever asks it meanwhile is answered.
test('stock-M7', async () => {
  await using here = await scene({ snapshots: { every: 2 } })
  const { earth, script, deliver, sell, move, level, stock } = here
  for (const place of ['a', 'b']) granted(await earth.until(deliver(place, 50, { id: place })))
  granted(await earth.until(deliver('b', 50, { id: 'more' })))
  const { hold, open: letGo, waiting } = gate()
  script.commit = (go, { snapshots }) => (snapshots === undefined ? go() : hold(go))
  granted(await earth.until(deliver('b', 1, { id: 'third' })))
  granted(await earth.until(deliver('b', 1, { id: 'fourth' })))
  const resting = stock.passivate('p|b')
  await earth.until(() => waiting() > 0)

  granted(await earth.until(move('a', 'b', 10, { id: 'm' }), { withinMs: 100 }))
  const sold = sell('b', 2, { id: 's' })
  await earth.advance(10)
  letGo()
  granted(await earth.until(sold, { withinMs: 100 }))
  await earth.until(resting)
  assert.deepEqual([await level('a'), await level('b')], [[40], [110]])
})

// src/stock/pot.ts, evolve: `if (!isLess(left, NOTHING))`, under `case 'moved-out'` as under `case 'sold'`. A late fact
// may leave less than was moved; the rest is pending, and nothing is ever below nothing.
test('stock-M8', async () => {
  await using here = await scene()
  const { earth, deliver, move, count, level } = here
  granted(await earth.until(deliver('a', 100, { id: 'first', at: NOON - 100 })))
  granted(await earth.until(move('a', 'b', 60, { id: 'm', at: NOON - 10 })))
  granted(await earth.until(count('a', 20, { id: 'late', at: NOON - 50 })))
  assert.deepEqual([await level('a'), await level('b')], [[0, -40], [60]])
  assert.equal(await liveAt(here, 'a'), 0)
})

// src/stock/pot.ts, decideMove: `moveId: requestId` in what both ends have.
test('stock-M9', async () => {
  await using here = await scene()
  const { earth, deliver, move, events, stock } = here
  granted(await earth.until(deliver('a', 100, { id: 'first' })))
  granted(await earth.until(move('a', 'b', 10, { id: 'm' })))
  const [, out, into] = await events()
  assert.deepEqual([out!.type, into!.type], ['moved-out', 'moved-in'])
  assert.equal(out!.batch, into!.batch)
  assert.deepEqual([out!.requestId, into!.requestId], ['m', 'm'])
  const [from, to] = [out!, into!].map(({ data }) => JSON.parse(data) as Record<string, unknown>)
  assert.equal(from!['moveId'], to!['moveId'])
  assert.deepEqual([from!['to'], to!['from']], ['b', 'a'])

  const report = await earth.until(stock.moveOf(String(from!['moveId']), into!.position))
  assert.ok(report.ok)
  const { sourceLocationId, destinationLocationId, quantity } = report.move
  assert.deepEqual([sourceLocationId, destinationLocationId, quantity], ['a', 'b', 10])
})

/** The pot is put away and woken again; what it stood on, and what was replayed on top of that. */
async function woken(
  here: Scene,
  place: string,
): Promise<Readonly<{ live: number; replayed: number }>> {
  const before = here.entities.metrics().replayedEvents
  await here.rest(place)
  const live = await liveAt(here, place)
  return { live, replayed: here.entities.metrics().replayedEvents - before }
}

// src/entity/internal/ladder.ts, catchUp: `if (last === rungSeq) return true`. What a snapshot covers is known by
// its place in the stream and not by a request id, which two ends of one move share.
test('stock-S1', async () => {
  await using here = await scene()
  const { earth, entities, deliver, move, level } = here
  granted(await earth.until(deliver('a', 100, { id: 'first' })))
  granted(await earth.until(deliver('b', 5, { id: 'wakes' })))
  for (let n = 0; n < 20; n++) granted(await earth.until(move('a', 'b', 2, { id: `m-${n}` })))
  assert.deepEqual(await woken(here, 'b'), { live: 45, replayed: 0 })
  assert.equal(entities.metrics().snapshotsTaken, 1)
  granted(await earth.until(move('a', 'b', 10, { id: 'last' })))
  assert.deepEqual(await woken(here, 'b'), { live: 55, replayed: 1 })
  assert.deepEqual(await level('b'), [55])
})

// src/entity/internal/ladder.ts, catchUp: `if (last === rungSeq) return true`. That a sale found too little is no
// reason to fold it again.
test('stock-S2', async () => {
  await using here = await scene({ snapshots: { every: 2 } })
  const { earth, entities, deliver, sell, level } = here
  granted(await earth.until(deliver('a', 4, { id: 'first' })))
  granted(await earth.until(sell('a', 10, { id: 's' })))
  assert.equal(entities.metrics().snapshotsTaken, 1)
  assert.deepEqual(await woken(here, 'a'), { live: 0, replayed: 0 })
  granted(await earth.until(deliver('a', 1, { id: 'more' })))
  assert.deepEqual(await woken(here, 'a'), { live: 1, replayed: 1 })
  assert.deepEqual(await level('a'), [1, -6])
})

// src/entity/internal/fold.ts, constructor: `this.topAt = from?.topAt ?? …` is what a woken pot knows the late event
// by; with the part before `??` removed it is taken for the latest. src/entity/internal/ladder.ts, catchUp:
// `else if (entry.at < topAt) valid = false` is what the next waking knows it by.
test('stock-S3', async () => {
  for (const [first, quantity] of [
    ['deliver', 57],
    ['count', 50],
  ] as const) {
    await using here = await scene({ snapshots: { every: 1 } })
    const { earth, entities, deliver, level } = here
    granted(await earth.until(here[first]('a', 50, { id: 'first', at: NOON - 10 })))
    assert.equal(entities.metrics().snapshotsTaken, 1)
    assert.deepEqual(await woken(here, 'a'), { live: 50, replayed: 0 })

    granted(await earth.until(deliver('a', 7, { id: 'late', at: NOON - 20 })))
    assert.equal(await liveAt(here, 'a'), quantity)
    assert.equal((await woken(here, 'a')).live, quantity)
    assert.deepEqual(await level('a'), [quantity])
  }
})

// src/entity/internal/ladder.ts, catchUp: `|| last < rungSeq`. A snapshot of more than there is, left by another
// history of that name, is not stood on.
test('stock-S4', async () => {
  await using here = await scene({ snapshots: { every: 2 } })
  const { earth, script, deliver, sell } = here
  granted(await earth.until(deliver('a', 5, { id: 'first', at: NOON - 20 })))
  granted(await earth.until(sell('a', 1, { id: 's', at: NOON - 10 })))
  script.snapshots = async (go) =>
    (await go()).map((rung) => ({
      ...rung,
      seq: 3,
      state: JSON.stringify({ quantity: '900', pending: '0', lastUpdated: NOON - 15 }),
    }))
  assert.equal((await woken(here, 'a')).live, 4)
})

// src/entity/internal/snapshotting.ts, snapshot: `failed(entity, reasonOf(error))`. What has been recorded and
// answered does not fail for a snapshot, whether its store refuses or does not answer at all.
test('stock-S5', async () => {
  const trouble = new Accident(fault('bad-batch', 'the store of snapshots is full'))
  const stores = [() => Promise.reject(trouble), () => new Promise<never>(() => undefined)]
  for (const [n, store] of stores.entries()) {
    await using here = await scene({ snapshots: { every: 2 } })
    const { earth, script, entities, sell, deliver, rest, level } = here
    script.commit = (go, { snapshots }) => (snapshots === undefined ? go() : store())
    for (const id of ['1', '2', '3', '4', '5'])
      assert.equal(granted(await earth.until(deliver('a', 5, { id }))).replayed, false)
    assert.equal(granted(await earth.until(deliver('a', 5, { id: '5' }))).replayed, true)
    assert.equal(entities.metrics().snapshotsTaken, 0)
    if (n === 0) await rest('a')
    granted(await earth.until(sell('a', 1, { id: 's' })))
    assert.deepEqual(await level('a'), [24])
    assert.equal(await liveAt(here, 'a'), 24)
    assert.equal(entities.metrics().snapshotsFailed > 0, n === 0)
  }
})

// src/stock/stock.ts or what it asks with: the place and the product are part of what requests are compared by.
test('stock-I1', async () => {
  await using here = await scene()
  const { earth, sell, deliver, level } = here
  for (const place of ['a', 'b']) granted(await earth.until(deliver(place, 10, { id: place })))
  granted(await earth.until(deliver('a', 10, { id: 'q', product: 'q' })))
  granted(await earth.until(sell('a', 1, { id: 's' })))
  for (const other of [sell('b', 1, { id: 's' }), sell('a', 1, { id: 's', product: 'q' })]) {
    const said = await earth.until(other)
    assert.equal(codeOf(said), 'request-mismatch')
  }
  assert.deepEqual([await level('a'), await level('b'), await level('a', 'q')], [[9], [10], [10]])
})

// src/journal/verdict.ts: the ledger is looked at when a batch is judged, whoever wrote it.
test('stock-I2', async () => {
  await using here = await scene()
  const { earth, deliver, sell, events } = here
  for (const place of ['a', 'b']) granted(await earth.until(deliver(place, 10, { id: place })))
  const said = await earth.until(
    Promise.all([sell('a', 1, { id: 's' }), sell('b', 1, { id: 's' })]),
  )
  assert.equal(said.filter((each) => each.ok).length, 1)
  assert.equal((await events()).filter(({ requestId }) => requestId === 's').length, 1)
})

// what a delivery is compared by: one request id for all of its lines, whatever their order.
test('stock-I3', async () => {
  await using here = await scene()
  const { earth, deliverLines, level, events } = here
  const [p, q] = ['p', 'q'].map((productId) => ({ productId, quantity: '5' }))
  granted(await earth.until(deliverLines('a', [p!, q!], { id: 'd' })))
  assert.equal(granted(await earth.until(deliverLines('a', [q!, p!], { id: 'd' }))).replayed, true)
  const more = [p!, q!, { productId: 'r', quantity: '5' }]
  assert.equal(codeOf(await earth.until(deliverLines('a', more, { id: 'd' }))), 'request-mismatch')
  for (const id of ['d-0', 'd-1'])
    assert.equal(granted(await earth.until(deliverLines('a', [p!], { id }))).replayed, false)
  assert.deepEqual([await level('a'), await level('a', 'q')], [[15], [5]])
  assert.equal((await events()).length, 4)
})

// src/entity/internal/batch.ts, addMore: `ledger.push(…)`. The end that takes in has no request of its own and needs
// none: it is part of the one that is entered.
test('stock-I4', async () => {
  await using here = await scene()
  const { earth, deliver, move } = here
  granted(await earth.until(deliver('a', 100, { id: 'first' })))
  const both = [1, 2, 3].map(() => move('a', 'b', 10, { id: 'm' }))
  for (const said of await earth.until(Promise.all(both))) granted(said)
  const again = await here.restarted()
  assert.equal(granted(await earth.until(again.move('a', 'b', 10, { id: 'm' }))).replayed, true)
  assert.deepEqual([await again.level('a'), await again.level('b')], [[90], [10]])
})

// a pot that is awake reads nothing to write, and a repeated request is found by its id alone.
test('stock-I5', async () => {
  await using here = await scene({ snapshots: { every: Infinity } })
  const { earth, script, deliver, sell } = here
  granted(await earth.until(deliver('a', 1_000, { id: 'first' })))
  const reads: string[] = []
  const costs = async (id: string): Promise<readonly string[]> => {
    reads.length = 0
    granted(await earth.until(sell('a', 1, { id })))
    return [...reads]
  }
  script.readStream = (go, stream) => (reads.push(stream), go())
  script.lookup = (go) => (reads.push('lookup'), go())
  const early = [await costs('early'), await costs('early')]
  for (let n = 0; n < 300; n++) granted(await earth.until(sell('a', 1, { id: `s-${n}` })))
  assert.deepEqual([await costs('late'), await costs('late')], early)
  assert.ok(early.flat().every((read) => read === 'lookup'))
})

// src/entity/internal/releasing.ts, replay: `...storedReply(response)`. Whoever asks again is told what was
// stored and not what would be said today.
test('stock-I6', async () => {
  await using here = await scene()
  const { earth, deliver, sell, count } = here
  granted(await earth.until(deliver('a', 10, { id: 'first' })))
  const first = granted(await earth.until(sell('a', 1, { id: 's' })))
  granted(await earth.until(count('a', 500, { id: 'c' })))
  const again = granted(await earth.until(sell('a', 1, { id: 's' })))
  assert.equal(JSON.stringify(again.body), JSON.stringify(first.body))
  assert.deepEqual([again.version, again.replayed], [first.version, true])
  assert.equal(again.version, 2)
})
