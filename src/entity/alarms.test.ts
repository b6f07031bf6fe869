import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, fault, type Clock } from '../std/index.ts'
import { scene, type Scene } from '../../test/entity/scene.ts'
import {
  accept,
  answer,
  createEntities,
  entity,
  leg,
  type Decision,
  type EntityDefinition,
} from './index.ts'

type Command =
  | Readonly<{ type: 'set'; at: number }>
  | Readonly<{ type: 'note' }>
  | Readonly<{ type: 'ring'; was: number }>
type Event = Readonly<
  { type: 'set'; at: number } | { type: 'noted' } | { type: 'rang'; at: number }
>
type State = Readonly<{ at: number | undefined; rang: readonly number[]; notes: number }>

/** Rings at the time it was set to; `deaf` ones are told and do nothing about it. */
function clockOf(
  type: string,
  onRing?: () => Decision<Event, State>,
): EntityDefinition<State, Command, Event, State> {
  return entity<State, Command, Event, State>({
    type,
    version: 1,
    initial: () => ({ at: undefined, rang: [], notes: 0 }),
    decide: (state, command, at) => {
      switch (command.type) {
        case 'set':
          return accept([{ type: 'set', at: command.at }], state)
        case 'note':
          return accept([{ type: 'noted' }], state)
        case 'ring':
          return onRing === undefined ? accept([{ type: 'rang', at }], state) : onRing()
      }
    },
    evolve: (state, event) => {
      switch (event.type) {
        case 'set':
          return { ...state, at: event.at }
        case 'noted':
          return { ...state, notes: state.notes + 1 }
        case 'rang':
          return { ...state, at: undefined, rang: [...state.rang, event.at] }
      }
    },
    alarm: ({ at }) => (at === undefined ? undefined : { at, command: { type: 'ring', was: at } }),
  })
}

const clock = clockOf('clock')

async function rang({ entities }: Scene, of = clock, id = 'a'): Promise<readonly number[]> {
  return (await entities.read(of, id)).state.rang
}

function recorded({ journal }: Scene): Promise<number> {
  return journal.readRecords('entity-alarms', '').then((records) => records.length)
}

describe('an alarm', () => {
  test('wakes the entity at its time with its command, and once', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    const due = earth.clock.now() + 5_000
    await earth.until(entities.ask(clock, 'a', { type: 'set', at: due }))
    assert.equal(await recorded(stage), 1)
    await earth.advance(4_999)
    assert.deepEqual(await rang(stage), [])
    await earth.advance(2)
    assert.deepEqual(await rang(stage), [due])
    await earth.advance(100_000)
    assert.deepEqual(await rang(stage), [due])
    assert.equal(entities.metrics().alarms, 1)
    assert.equal(await recorded(stage), 0)
  })

  test('wakes an entity that was put away', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    const due = earth.clock.now() + 5_000
    await earth.until(entities.ask(clock, 'a', { type: 'set', at: due }))
    await earth.until(entities.passivate({ type: 'clock', id: 'a' }))
    await earth.advance(5_001)
    assert.deepEqual(await rang(stage), [due])
  })

  test('survives a restart, and is late rather than lost', async () => {
    await using stage = await scene()
    const { earth, entities, another } = stage
    const now = earth.clock.now()
    await earth.until(entities.ask(clock, 'a', { type: 'set', at: now + 5_000 }))
    await earth.until(entities.ask(clock, 'b', { type: 'set', at: now + 50_000 }))
    await earth.until(entities.drain())
    await earth.advance(10_000)
    assert.deepEqual(await rang(stage), [])
    another({ definitions: [clock] })
    await earth.advance(1)
    assert.deepEqual(await rang(stage), [now + 10_000])
    await earth.advance(40_000)
    assert.deepEqual(await rang(stage, clock, 'b'), [now + 50_000])
  })

  test('can be put off and taken back', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    const now = earth.clock.now()
    const set = (at: number): Promise<unknown> =>
      earth.until(entities.ask(clock, 'a', { type: 'set', at }))
    await set(now + 1_000)
    await set(now + 3_000)
    assert.equal(await recorded(stage), 1)
    await earth.advance(2_000)
    assert.deepEqual(await rang(stage), [])
    await set(now + 2_500)
    await earth.advance(600)
    assert.deepEqual(await rang(stage), [now + 2_500])
  })

  for (const [what, onRing] of [
    ['answers', () => answer({ at: 0, rang: [], notes: 0 })],
    ['accepts nothing', () => accept<Event, State>([], { at: 0, rang: [], notes: 0 })],
    [
      'throws',
      () => {
        throw new Error('too early')
      },
    ],
  ] as const)
    test(`that changes nothing is not told again until something changes (${what})`, async () => {
      const deaf = clockOf('deaf', onRing)
      await using stage = await scene({ idleMs: 20_000, sweepMs: 1_000 })
      const { earth, entities } = stage
      const due = earth.clock.now() + 1_000
      await earth.until(entities.ask(deaf, 'a', { type: 'set', at: due }))
      await earth.advance(10_000)
      assert.equal(entities.metrics().alarms, 1)
      await earth.until(entities.ask(deaf, 'a', { type: 'note' }))
      await earth.advance(1)
      assert.equal(entities.metrics().alarms, 2)
      await earth.advance(60_000)
      assert.equal(entities.metrics().active, 0)
      assert.equal(entities.metrics().alarms, 2)
      await earth.until(entities.ask(deaf, 'a', { type: 'note' }))
      await earth.advance(1)
      assert.equal(entities.metrics().alarms, 3)
    })

  test('is kept and tried again where its entity cannot be brought back', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    const due = earth.clock.now() + 1_000
    await earth.until(entities.ask(clock, 'a', { type: 'set', at: due }))
    await earth.until(entities.passivate({ type: 'clock', id: 'a' }))
    script.readStream = async () => {
      throw new Accident(fault<string>('journal-overloaded', 'busy'))
    }
    await earth.advance(2_000)
    delete script.readStream
    assert.deepEqual(await rang(stage), [])
    await earth.advance(31_000)
    assert.equal((await rang(stage)).length, 1)
  })

  test('is in the same batch as what led to it', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await earth.until(entities.ask(clock, 'a', { type: 'note' }))
    script.commit = async (go) => {
      await go()
      throw new Accident(fault<string>('unknown-outcome', 'the process died'))
    }
    const due = earth.clock.now() + 1_000
    await earth.until(entities.ask(clock, 'a', { type: 'set', at: due })).catch(() => undefined)
    delete script.commit
    assert.equal(await recorded(stage), 1)
  })

  test('of an entity that others write to is what its state says then', async () => {
    type Setter = EntityDefinition<number, number, { type: 'told' }, null>
    const setter: Setter = entity({
      type: 'setter',
      version: 1,
      initial: () => 0,
      decide: (_state, at) =>
        accept([{ type: 'told' }], null, [leg(clock, 'a', [{ type: 'set', at }])]),
      evolve: (state) => state + 1,
    })
    for (const isAwake of [true, false]) {
      await using stage = await scene()
      const { earth, entities } = stage
      const now = earth.clock.now()
      await earth.until(entities.ask(clock, 'a', { type: 'set', at: now + 9_000 }))
      if (!isAwake) await earth.until(entities.passivate({ type: 'clock', id: 'a' }))
      await earth.until(entities.ask(setter, 's', now + 3_000))
      await earth.advance(100)
      assert.equal(await recorded(stage), isAwake ? 1 : 2) // one of which is out of date
      await earth.advance(4_000)
      assert.deepEqual(await rang(stage), [now + 3_000])
      await earth.advance(10_000)
      assert.deepEqual(await rang(stage), [now + 3_000])
      assert.equal(await recorded(stage), 0)
    }
  })

  test('at something that is no time refuses the command', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    for (const at of [1.5, 2 ** 53])
      await assert.rejects(earth.until(entities.ask(clock, 'a', { type: 'set', at })), {
        code: 'bad-alarm',
      })
    assert.deepEqual(await stage.journal.readAll(), [])
  })

  test('is on time by the monotonic clock, whatever becomes of wall time', async () => {
    for (const jump of [3_600_000, -3_600_000]) {
      await using stage = await scene()
      const { earth, journal } = stage
      let off = 0
      const jumping: Clock = {
        now: () => earth.clock.now() + off,
        monotonic: () => earth.clock.monotonic(),
        setTimer: (due, callback) => earth.clock.setTimer(due, callback),
      }
      const system = new Proxy(earth.system, {
        get: (target, name) => {
          const value: unknown = name === 'clock' ? jumping : Reflect.get(target, name, target)
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
      const entities = createEntities({ system, journal, name: 'jumping' })
      const due = jumping.now() + 60_000
      await earth.until(entities.ask(clock, 'a', { type: 'set', at: due }))
      off = jump
      await earth.advance(59_900)
      assert.deepEqual((await entities.read(clock, 'a')).state.rang, [])
      await earth.advance(200)
      assert.equal((await entities.read(clock, 'a')).state.rang.length, 1)
    }
  })

  test('of a definition that has none any more is forgotten', async () => {
    const { alarm: _none, ...rest } = clock
    const silent: typeof clock = rest
    await using stage = await scene()
    const { earth, entities, another } = stage
    const due = earth.clock.now() + 1_000
    await earth.until(entities.ask(clock, 'a', { type: 'set', at: due }))
    await earth.until(entities.drain())
    const later = another({ definitions: [silent] })
    await earth.advance(2_000)
    assert.equal(await recorded(stage), 0)
    assert.equal(later.metrics().alarms, 0)
  })
})
