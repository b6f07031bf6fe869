import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, fault } from '../std/index.ts'
import { scene } from '../../test/entity/scene.ts'
import { accept, entity, message, type EntityDefinition } from './index.ts'

type Clock = EntityDefinition<number, number, Readonly<{ type: 'set'; at: number }>, null>

/** Rings once, and is then set to nothing. */
const clock: Clock = entity({
  type: 'clock',
  version: 1,
  initial: () => 0,
  decide: (_due, at) => accept([{ type: 'set', at }], null),
  evolve: (_due, { at }) => at,
  alarm: (at) => (at === 0 ? undefined : { at, command: 0 }),
})

type Shelf = EntityDefinition<number, string, Readonly<{ type: 'taken' }>, null>

const shelf: Shelf = entity({
  type: 'shelf',
  version: 1,
  initial: () => 0,
  decide: () => accept([{ type: 'taken' }], null),
  evolve: (taken) => taken + 1,
})

describe('alarms', () => {
  test('that are due later are read when their time comes near', async () => {
    await using stage = await scene({}, { stepsMax: 10_000_000 })
    const { earth, entities, another } = stage
    const now = earth.clock.now()
    for (let n = 0; n < 2_500; n++)
      await earth.until(entities.ask(clock, `c-${n}`, now + 60_000 + (n % 25) * 10_000))
    await earth.until(entities.drain())
    const later = another({ definitions: [clock] })
    await earth.advance(100)
    for (let n = 0; n <= 26; n++) {
      await earth.advance(10_000)
      const due = Math.max(
        0,
        Math.min(25, Math.floor((earth.clock.now() - now - 60_000) / 10_000) + 1),
      )
      assert.equal(later.metrics().alarms, due * 100)
    }
  })
})

describe('reactions', () => {
  test('wait on record where memory holds no more', async () => {
    type Burst = EntityDefinition<number, number, { type: 'burst'; count: number }, null>
    const burst: Burst = entity({
      type: 'burst',
      version: 1,
      initial: () => 0,
      decide: (_n, count) => accept([{ type: 'burst', count }], null),
      evolve: (n) => n + 1,
      react: ({ count }) =>
        Array.from({ length: count }, (_, n) => message(shelf, `s-${n % 50}`, 'a')),
    })
    await using stage = await scene({}, { stepsMax: 10_000_000 })
    const { earth, entities } = stage
    await earth.until(entities.ask(burst, 'a', 7_000))
    await earth.until(entities.ask(burst, 'a', 7_000))
    await earth.until(() => entities.metrics().reactions === 14_000)
    await earth.advance(100)
    assert.deepEqual(await stage.journal.readRecords('entity-outbox', ''), [])
    let count = 0
    for (let n = 0; n < 50; n++) count += (await entities.read(shelf, `s-${n}`)).state
    assert.equal(count, 14_000)
  })
})

describe('activation', () => {
  test('that failed is remembered for 10 000 entities of a kind', async () => {
    await using stage = await scene({}, { stepsMax: 10_000_000 })
    const { earth, entities, script } = stage
    script.snapshots = async () => {
      throw new Accident(fault<string>('journal-overloaded', 'busy'))
    }
    const asked = Array.from({ length: 10_001 }, (_, n) => entities.ask(shelf, `a-${n}`, 'a'))
    await earth.until(Promise.allSettled(asked))
    assert.equal(entities.list().length, 10_000)
    assert.equal(entities.metrics().activationFailures, 10_001)
  })
})
