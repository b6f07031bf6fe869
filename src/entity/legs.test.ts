import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Journal } from '../journal/index.ts'
import { Accident, fault } from '../std/index.ts'
import { account, evolve, gate, scene, type Command, type Event } from '../../test/entity/scene.ts'
import { accept, entity, leg, type EntityDefinition } from './index.ts'

const deposit = (amount: number): Command => ({ type: 'deposit', amount })
const transfer = (amount: number, to: string): Command => ({ type: 'transfer', amount, to })

/** What all accounts have together, after every batch. */
async function totals(journal: Journal): Promise<number[]> {
  const events = await journal.readAll({ limit: 10_000 })
  const last = new Map<number, number>()
  let total = 0
  for (const { type, data, batch } of events) {
    const event = { type, ...JSON.parse(data) } as Event
    total = evolve(total, event)
    last.set(batch, total)
  }
  return [...last.values()]
}

describe('a leg', () => {
  test('is written in the same batch, with the same request and time', async () => {
    await using stage = await scene()
    await stage.ask('a', deposit(10))
    await stage.ask('a', transfer(4, 'b'), { requestId: 'r' })
    const [out, into] = (await stage.journal.readAll()).slice(1)
    assert.deepEqual([out?.stream, into?.stream], ['account/a', 'account/b'])
    assert.deepEqual([out?.batch, out?.requestId, out?.at], [into?.batch, 'r', into?.at])
    assert.equal(into?.requestId, 'r')
  })

  test('is found by an entity that rests when it wakes', async () => {
    await using stage = await scene()
    await stage.ask('a', deposit(10))
    await stage.ask('a', transfer(4, 'b'))
    assert.equal((await stage.ask('b', { type: 'look' })).balance, 4)
  })

  test('is folded at once by an entity that is awake, without reading', async () => {
    await using stage = await scene()
    const { script } = stage
    await stage.ask('b', { type: 'look' })
    await stage.ask('a', deposit(10))
    script.readStream = () => assert.fail('nobody has to read')
    await stage.ask('a', transfer(4, 'b'))
    assert.equal((await stage.ask('b', { type: 'look' })).balance, 4)
    assert.equal((await stage.ask('b', transfer(1, 'a'))).balance, 3)
    assert.equal((await stage.ask('a', { type: 'look' })).balance, 7)
    assert.equal(stage.entities.metrics().conflicts, 0)
  })

  test('is looked for by an entity that is awake if nobody knows whether it was written', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await stage.ask('a', deposit(10))
    for (const isWritten of [true, false]) {
      const { balance } = await stage.ask('b', { type: 'look' })
      script.commit = async (go) => {
        if (isWritten) await go()
        throw new Accident(fault('unknown-outcome', 'nobody knows'))
      }
      const open = assert.rejects(entities.ask(account, 'a', transfer(4, 'b')))
      await earth.until(open)
      delete script.commit
      const after = isWritten ? balance + 4 : balance
      assert.equal((await stage.ask('b', { type: 'look' })).balance, after)
      assert.equal((await stage.ask('a', { type: 'look' })).balance, 10 - after)
    }
  })

  test('counts for the answer of an entity that is awake: its position includes it', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    await stage.ask('b', { type: 'look' })
    await stage.ask('a', deposit(10))
    const moved = await earth.until(entities.ask(account, 'a', transfer(4, 'b')))
    const seen = await earth.until(entities.ask(account, 'b', { type: 'look' }))
    assert.deepEqual([seen.version, seen.position], [1, moved.position])
  })

  test('meets an entity in whatever it is doing, and nothing is lost', async () => {
    for (let seed = 0; seed < 40; seed++) {
      await using stage = await scene({}, { seed })
      const { earth, entities, journal, script } = stage
      const names = ['a', 'b', 'c']
      for (const name of names) await stage.ask(name, deposit(100))
      script.commit = async (go) => {
        if (earth.random.below(2) === 0)
          await new Promise<void>((resolve) =>
            earth.clock.setTimer(earth.clock.monotonic() + earth.random.below(5), resolve),
          )
        return go()
      }
      const asked: Promise<unknown>[] = []
      for (let n = 0; n < 60; n++) {
        const [from, to] = [earth.random.pick(names), earth.random.pick(names)]
        asked.push(entities.ask(account, from, transfer(earth.random.below(50), to)))
        if (n % 7 === 0) asked.push(entities.passivate({ type: 'account', id: to }))
        if (n % 5 === 0) await earth.advance(earth.random.below(6))
      }
      await earth.until(Promise.all(asked))
      assert.deepEqual(new Set((await totals(journal)).slice(3)), new Set([300]), `seed ${seed}`)
      for (const name of names) {
        const { state } = await entities.read(account, name)
        assert.equal((await stage.ask(name, { type: 'look' })).balance, state, `seed ${seed}`)
      }
    }
  })

  test('back to the entity itself is one of its own events', async () => {
    await using stage = await scene()
    await stage.ask('a', deposit(10))
    await stage.ask('a', transfer(4, 'a'))
    assert.equal((await stage.ask('a', { type: 'look' })).balance, 10)
    assert.equal((await stage.journal.readStream('account/a')).length, 3)
  })

  test('is not written where the decision was made on a state that is no longer true', async () => {
    type Giver = EntityDefinition<number, number, { type: 'closed' }, string>
    const giver: Giver = entity({
      type: 'giver',
      version: 1,
      initial: () => 0,
      decide: (closed, amount) =>
        amount === 0
          ? accept([{ type: 'closed' }], 'closed')
          : closed > 0
            ? accept([], 'too late')
            : accept([], 'given', [leg(account, 'a', [{ type: 'deposited', amount }])]),
      evolve: (closed) => closed + 1,
    })
    await using stage = await scene()
    const { earth, entities, another } = stage
    const other = another()
    await earth.until(entities.ask(giver, 'g', 1))
    await earth.until(other.ask(giver, 'g', 0))
    assert.equal((await earth.until(entities.ask(giver, 'g', 2))).reply, 'too late')
    assert.equal((await stage.ask('a', { type: 'look' })).balance, 1)
  })

  test('to an id that nobody can have refuses the command', async () => {
    await using stage = await scene()
    await stage.ask('a', deposit(10))
    await assert.rejects(stage.ask('a', transfer(1, '')), { code: 'bad-entity-id' })
    assert.equal((await stage.ask('a', { type: 'look' })).balance, 10)
  })

  test('arrives while the entity is being woken', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await stage.ask('a', deposit(10))
    const slow = gate()
    script.readStream = async (go) => {
      const read = await go()
      return slow.hold(async () => read) // as it was before the leg
    }
    const looked = entities.ask(account, 'b', { type: 'look' })
    await earth.until(() => slow.waiting() === 1)
    await stage.ask('a', transfer(4, 'b'))
    slow.open()
    assert.equal((await earth.until(looked)).reply.balance, 4)
  })
})
