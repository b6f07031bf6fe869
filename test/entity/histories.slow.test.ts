/**
 * However an entity comes to its state, it is the same one: by folding everything at once, by standing on
 * any snapshot that may be stood on, or by having lived through it. Random histories with late facts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Fold } from '../../src/entity/internal/fold.ts'
import { read } from '../../src/entity/internal/history.ts'
import { load } from '../../src/entity/internal/ladder.ts'
import { freshSeed, random, type Random } from '../../src/std/index.ts'
import { evolvePot, pot, type Pot, type PotDefinition, type PotEvent } from './pot.ts'
import { shelf, type Shelf } from './shelf.ts'

const HISTORIES = 10_000

type Ways = { histories: number; rungs: number; overRungs: number; refolds: number; beyond: number }

test(`replay from zero, from snapshots and the life itself agree in ${HISTORIES} histories`, async (t) => {
  const seed = freshSeed()
  t.diagnostic(`seed ${seed}`)
  const draw = random(seed)
  const ways: Ways = { histories: 0, rungs: 0, overRungs: 0, refolds: 0, beyond: 0 }
  for (let run = 0; run < HISTORIES; run++) await live(draw.fork(), ways)
  t.diagnostic(JSON.stringify(ways))
  // Without these the histories would show nothing.
  assert.ok(ways.rungs > HISTORIES && ways.overRungs > HISTORIES / 10)
  assert.ok(ways.refolds > HISTORIES && ways.beyond > HISTORIES / 100)
})

/** One entity, from its first event to a random end, put away and woken at random in between. */
async function live(draw: Random, ways: Ways): Promise<void> {
  const every = 1 + draw.below(12)
  const definition: PotDefinition = { ...pot, snapshots: { every, keep: 1 + draw.below(4) } }
  const place = await shelf(definition)
  const length = draw.below(8) === 0 ? 150 : draw.below(40)
  const lateness = 1 + draw.below(draw.below(3) === 0 ? 400 : 30)
  const events: PotEvent[] = []
  let fold = new Fold(definition, 'a')
  while (events.length < length) {
    const event = anyEvent(draw, events.length * 4, lateness)
    events.push(event)
    await place.append([event], events.length)
    fold = await folded(fold, event, place, definition, ways)
    assert.deepEqual(fold.state, expected(events), `seed ${draw.seed}: lived through`)
    if (fold.eventsSinceRung >= every) {
      await place.snapshot(fold)
      ways.rungs += 1
    }
    if (draw.below(16) === 0) fold = await woken(draw, definition, place, events, ways)
  }
  await woken(draw, definition, place, events, ways)
  await readBack(draw, definition, place, events)
  ways.refolds += fold.refolds
  ways.histories += 1
}

/** What the runtime does with an event that has been committed. */
async function folded(
  fold: Fold<Pot, PotEvent>,
  event: PotEvent,
  { journal }: Shelf,
  definition: PotDefinition,
  ways: Ways,
): Promise<Fold<Pot, PotEvent>> {
  const speculation = fold.fork()
  const { state } = fold
  const outcome = speculation.apply(event, speculation.version + 1, event.happenedAt)
  assert.equal(fold.state, state)
  if (outcome === 'folded') return speculation
  ways.beyond += 1
  return (await load(journal, definition, 'a')).fold
}

async function woken(
  draw: Random,
  definition: PotDefinition,
  { journal }: Shelf,
  events: readonly PotEvent[],
  ways: Ways,
): Promise<Fold<Pot, PotEvent>> {
  const { fold, replayed, rungSeq, rungs } = await load(journal, definition, 'a')
  assert.deepEqual(fold.state, expected(events), `seed ${draw.seed}: woken from ${rungSeq}`)
  assert.equal(fold.version, events.length)
  assert.equal(rungSeq + replayed, events.length)
  assert.ok(rungs.length <= definition.snapshots!.keep!)
  if (rungSeq !== (rungs[0]?.seq ?? 0)) ways.overRungs += 1
  return fold
}

async function readBack(
  draw: Random,
  definition: PotDefinition,
  { journal }: Shelf,
  events: readonly PotEvent[],
): Promise<void> {
  const version = draw.below(events.length + 1)
  const asAt = draw.below(events.length + 1) // the n-th event was recorded at n
  const asOf = draw.below(events.length * 4 + 4)
  const early = events.filter(({ happenedAt }) => happenedAt <= asOf)
  const known = events.slice(0, asAt)
  const both = known.filter(({ happenedAt }) => happenedAt <= asOf)
  const told = `seed ${draw.seed}: version ${version}, asAt ${asAt}, asOf ${asOf}`
  const readings = [
    [{ version }, events.slice(0, version)],
    [{ asAt }, known],
    [{ asOf }, early],
    [{ asAt, asOf }, both],
  ] as const
  for (const [moment, reflected] of readings)
    assert.deepEqual(
      await read(journal, definition, 'a', moment),
      { state: expected(reflected), version: reflected.length },
      told,
    )
}

function anyEvent(draw: Random, now: number, lateness: number): PotEvent {
  const happenedAt = draw.below(3) === 0 ? Math.max(0, now - draw.below(lateness)) : now
  const quantity = draw.below(20)
  switch (draw.below(8)) {
    case 0:
      return { type: 'counted', quantity, happenedAt }
    case 1:
    case 2:
      return { type: 'delivered', quantity: quantity * 2, happenedAt }
    case 3:
      return { type: 'moved-in', quantity, happenedAt, from: 'b' }
    case 4:
      return { type: 'moved-out', quantity, happenedAt, to: 'b' }
    default:
      return { type: 'sold', quantity, happenedAt }
  }
}

/** What the state must be, said as simply as can be: all events, sorted, one after the other. */
function expected(events: readonly PotEvent[]): Pot {
  return events
    .map((event, seq) => ({ event, seq }))
    .toSorted((a, b) => a.event.happenedAt - b.event.happenedAt || a.seq - b.seq)
    .reduce((state, { event }) => evolvePot(state, event), pot.initial('a'))
}
