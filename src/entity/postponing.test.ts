import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { account, scene, type Command, type Scene } from '../../test/entity/scene.ts'
import { entity, postpone, type EntityDefinition } from './index.ts'

const deposit = (amount: number): Command => ({ type: 'deposit', amount })

function collect({ earth }: Scene, amount: number, ms = 60_000): Command {
  return { type: 'collect', amount, until: earth.clock.now() + ms }
}

describe('a postponed command', () => {
  test('is decided again after every change, in the order of arrival', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    const order: string[] = []
    const ask = (name: string, amount: number): Promise<unknown> =>
      entities
        .ask(account, 'a', collect(stage, amount), { deadlineMs: 50_000 })
        .then(() => order.push(name))
    const asked = [ask('large', 10), ask('small', 3), ask('also small', 3)]
    await earth.advance(10)
    assert.equal(entities.metrics().postponed, 3)

    await stage.ask('a', deposit(4))
    assert.deepEqual(order, ['small'])
    await stage.ask('a', deposit(2))
    assert.deepEqual(order, ['small', 'also small'])
    await stage.ask('a', deposit(10))

    await earth.until(Promise.all(asked))
    assert.deepEqual(order, ['small', 'also small', 'large'])
    assert.equal(entities.metrics().postponed, 0)
    assert.equal((await stage.ask('a', { type: 'look' })).balance, 0)
  })

  test('goes before what arrives later', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    const early = entities.ask(account, 'a', collect(stage, 5))
    await earth.advance(10)
    const [, late] = [
      entities.ask(account, 'a', deposit(5)),
      entities.ask(account, 'a', { type: 'withdraw', amount: 5 }),
    ]
    assert.equal((await earth.until(early)).reply.ok, true)
    assert.equal((await earth.until(late)).reply.ok, false)
  })

  test('is decided again by an event of somebody else', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    await stage.ask('b', deposit(5))
    const waiting = entities.ask(account, 'a', collect(stage, 5))
    await earth.advance(10)
    await stage.ask('b', { type: 'transfer', amount: 5, to: 'a' })
    assert.equal((await earth.until(waiting)).reply.ok, true)
  })

  test('is decided again at the time it said', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    const waiting = entities.ask(account, 'a', collect(stage, 5, 7_000))
    assert.deepEqual((await earth.until(waiting)).reply, { ok: false, balance: 0 })
    assert.equal(earth.clock.monotonic(), 7_000)
  })

  test('that says the same at that time is refused', async () => {
    const never: EntityDefinition<number, number, never, never> = entity({
      type: 'never',
      version: 1,
      initial: () => 0,
      decide: (_state, until) => postpone(until),
      evolve: (state) => state,
    })
    await using stage = await scene()
    const { earth, entities } = stage
    const now = earth.clock.now()
    await assert.rejects(earth.until(entities.ask(never, 'a', now + 3_000)), {
      code: 'postponed-too-long',
    })
    assert.equal(earth.clock.monotonic(), 3_000)
    await assert.rejects(earth.until(entities.ask(never, 'a', now)), { code: 'postponed-too-long' })
    await assert.rejects(earth.until(entities.ask(never, 'a', NaN)), { code: 'postponed-too-long' })
    assert.equal(earth.clock.monotonic(), 3_000)
  })

  test('that puts itself off again and again is refused at the first of these times', async () => {
    const rolling: EntityDefinition<number, null, never, never> = entity({
      type: 'rolling',
      version: 1,
      initial: () => 0,
      decide: (_state, _command, at) => postpone(at + 1_000),
      evolve: (state) => state,
    })
    await using stage = await scene()
    const { earth, entities } = stage
    await assert.rejects(earth.until(entities.ask(rolling, 'a', null)), {
      code: 'postponed-too-long',
    })
    assert.equal(earth.clock.monotonic(), 1_000)
  })

  test('ends with the deadline of its ask, and does nothing afterwards', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    const waiting = entities.ask(account, 'a', collect(stage, 5), { deadlineMs: 500 })
    await earth.until(assert.rejects(waiting, { code: 'deadline-passed', message: /dropped/ }))
    assert.equal(entities.metrics().postponed, 0)
    await stage.ask('a', deposit(5))
    assert.equal((await stage.ask('a', { type: 'look' })).balance, 5)
  })

  test('keeps its entity awake', async () => {
    await using stage = await scene({ idleMs: 1_000, sweepMs: 100 })
    const { earth, entities } = stage
    const waiting = entities.ask(account, 'a', collect(stage, 5), { deadlineMs: 30_000 })
    await earth.advance(20_000)
    assert.equal(entities.metrics().active, 1)
    await stage.ask('a', deposit(5))
    await earth.until(waiting)
    await earth.advance(2_000)
    assert.equal(entities.metrics().active, 0)
  })

  test('is refused where 1 000 others are, and not before', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    const asked = Array.from({ length: 1_000 }, () => entities.ask(account, 'a', collect(stage, 1)))
    await earth.advance(10)
    assert.equal(entities.metrics().postponed, 1_000)
    await assert.rejects(stage.ask('a', collect(stage, 1)), { code: 'entity-overloaded' })
    await stage.ask('a', deposit(1_000))
    await earth.until(Promise.all(asked))
    assert.equal((await stage.ask('a', { type: 'look' })).balance, 0)
  })

  test('survives a conflict, in its place', async () => {
    await using stage = await scene()
    const { earth, entities, another } = stage
    const other = another()
    await stage.ask('a', deposit(1))
    const early = entities.ask(account, 'a', collect(stage, 5))
    await earth.advance(10)
    await earth.until(other.ask(account, 'a', deposit(3)))
    const late = entities.ask(account, 'a', deposit(1))
    assert.equal((await earth.until(late)).reply.balance, 5)
    assert.equal((await earth.until(early)).reply.balance, 0)
  })
})
