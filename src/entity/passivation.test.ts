import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, fault } from '../std/index.ts'
import { account, gate, scene, type Command, type Scene } from '../../test/entity/scene.ts'

const deposit = (amount: number): Command => ({ type: 'deposit', amount })

async function fill(stage: Scene, id: string, events: number): Promise<void> {
  const { earth, entities } = stage
  const asked = Array.from({ length: events }, () => entities.ask(account, id, deposit(1)))
  await earth.until(Promise.all(asked))
}

describe('passivation', () => {
  test('puts away who had nothing to do for 5 min, at the next sweep', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    await stage.ask('idle', deposit(1))
    await stage.ask('busy', deposit(1))
    await earth.advance(299_000)
    await stage.ask('busy', { type: 'look' })
    assert.equal(entities.metrics().active, 2)
    await earth.advance(31_000)
    assert.deepEqual(
      entities.list().map(({ id }) => id),
      ['busy'],
    )
    assert.equal(entities.metrics().passivations, 1)
    assert.equal((await stage.ask('idle', { type: 'look' })).balance, 1)
    assert.deepEqual(earth.deadLetters, [])
  })

  test('is done at once where it is asked for, and settles when the entity rests', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    await stage.ask('a', deposit(1))
    await earth.until(entities.passivate({ type: 'account', id: 'a' }))
    assert.deepEqual(entities.list(), [])
    await earth.until(entities.passivate({ type: 'account', id: 'a' }))
    await earth.until(entities.passivate({ type: 'nothing', id: 'a' }))
  })

  test('waits until nothing is on its way', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await stage.ask('a', deposit(1))
    const slow = gate()
    script.commit = slow.hold
    const asked = [1, 2, 3].map((amount) => entities.ask(account, 'a', deposit(amount)))
    await earth.advance(10)
    const away = entities.passivate({ type: 'account', id: 'a' })
    await earth.advance(600_000 / 100)
    assert.equal(entities.metrics().active, 1)
    slow.open()
    const answers = await earth.until(Promise.all(asked))
    assert.equal(answers.at(-1)?.reply.balance, 7)
    await earth.until(away)
    assert.equal(entities.metrics().active, 0)
  })

  test('leaves a snapshot where replaying would cost more than 20 events', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    await fill(stage, 'few', 19)
    await fill(stage, 'many', 20)
    for (const id of ['few', 'many']) await earth.until(entities.passivate({ type: 'account', id }))
    assert.equal(entities.metrics().snapshotsTaken, 1)
    await stage.ask('few', { type: 'look' })
    await stage.ask('many', { type: 'look' })
    assert.deepEqual(
      entities.list().map(({ id, replayedEvents }) => [id, replayedEvents]),
      [
        ['few', 19],
        ['many', 0],
      ],
    )
  })

  test('is cancelled by a command that arrives while the snapshot is written', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await fill(stage, 'a', 20)
    const slow = gate()
    script.commit = slow.hold
    await earth.advance(300_001)
    assert.deepEqual(
      entities.list().map(({ phase }) => phase),
      ['retiring'],
    )
    const asked = entities.ask(account, 'a', { type: 'look' })
    slow.open()
    assert.equal((await earth.until(asked)).reply.balance, 20)
    assert.equal(entities.metrics().activations, 1)
    assert.equal(entities.metrics().passivations, 0)
  })

  test('of many leaves the journal to those who write: 256 go at a time', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await Promise.all(Array.from({ length: 300 }, (_, n) => fill(stage, `a-${n}`, 20)))
    const slow = gate()
    script.commit = slow.hold
    await earth.advance(300_001)
    assert.equal(slow.waiting(), 256)
    slow.open()
    await earth.advance(1)
    assert.equal(slow.waiting(), 300)
    assert.equal(entities.metrics().active, 0)
  })

  test('does not wait for ever for a snapshot', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await fill(stage, 'a', 20)
    script.commit = gate().hold
    const startedMs = earth.clock.monotonic()
    await earth.until(entities.passivate({ type: 'account', id: 'a' }))
    assert.equal(earth.clock.monotonic() - startedMs, 2_000)
  })

  test('and a command in the same breath bring the entity back without anybody noticing', async () => {
    for (let seed = 0; seed < 50; seed++) {
      await using stage = await scene({}, { seed })
      const { earth, entities } = stage
      await stage.ask('a', deposit(1))
      const away = entities.passivate({ type: 'account', id: 'a' })
      const asked: Promise<unknown>[] = []
      for (let n = 0; n < 5; n++) {
        asked.push(entities.ask(account, 'a', deposit(1)))
        if (n === 2) void entities.passivate({ type: 'account', id: 'a' })
        await earth.until(() => earth.random.below(3) > 0)
      }
      await earth.until(Promise.all([...asked, away]))
      assert.equal((await stage.ask('a', { type: 'look' })).balance, 6)
      assert.deepEqual(earth.deadLetters, [])
    }
  })
})

describe('eviction', () => {
  test('keeps the number of entities that are awake, and nobody notices', async () => {
    await using stage = await scene({ activeMax: 100 })
    const { earth, entities } = stage
    for (let n = 0; n < 1_000; n++) {
      await stage.ask(`a-${n % 300}`, deposit(1))
      assert.ok(entities.metrics().active <= 102, `${entities.metrics().active} are awake`)
    }
    const { evictions, passivations } = entities.metrics()
    assert.ok(evictions >= 800 && passivations >= 800)
    assert.equal((await stage.ask('a-7', { type: 'look' })).balance, 4)
    assert.deepEqual(earth.deadLetters, [])
  })

  test('takes the colder one, and of two as cold the cheaper one to bring back', async () => {
    await using stage = await scene({ activeMax: 3 })
    const { earth, entities } = stage
    await stage.ask('old', deposit(1))
    await earth.advance(1_000)
    await fill(stage, 'dear', 80)
    await fill(stage, 'cheap', 2)
    await earth.advance(1_000)
    await stage.ask('new-1', { type: 'look' })
    await earth.advance(10)
    assert.deepEqual(
      entities.list().map(({ id }) => id),
      ['dear', 'cheap', 'new-1'],
    )
    await stage.ask('new-2', { type: 'look' })
    await earth.advance(10)
    assert.deepEqual(
      entities.list().map(({ id }) => id),
      ['dear', 'new-1', 'new-2'],
    )
  })

  test('refuses to wake more than twice as many as may be awake', async () => {
    await using stage = await scene({ activeMax: 2 })
    const { earth, entities, script } = stage
    const slow = gate()
    script.snapshots = slow.hold
    const asked = [1, 2, 3, 4].map((n) => entities.ask(account, `a-${n}`, { type: 'look' }))
    await assert.rejects(stage.ask('a-5', { type: 'look' }), { code: 'entity-overloaded' })
    slow.open()
    await earth.until(Promise.all(asked))
    await earth.advance(1)
    await stage.ask('a-5', { type: 'look' })
  })

  test('sheds entities while memory is short', async () => {
    let bytes = 0
    await using stage = await scene({ memory: () => bytes, memoryMax: 1_000 })
    const { earth, entities } = stage
    for (let n = 0; n < 64; n++) await stage.ask(`a-${n}`, { type: 'look' })
    bytes = 1_000
    await earth.advance(30_000)
    assert.equal(entities.metrics().active, 64)
    bytes = 1_001
    await earth.advance(30_000)
    assert.equal(entities.metrics().active, 56)
    await earth.advance(30_000)
    assert.equal(entities.metrics().active, 49)
  })
})

describe('snapshots', () => {
  test('are taken every so many events, and never fail a command', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await fill(stage, 'a', 99)
    assert.equal(entities.metrics().snapshotsTaken, 0)
    await fill(stage, 'a', 1)
    await earth.advance(1)
    assert.equal(entities.metrics().snapshotsTaken, 1)

    script.commit = async (go, { snapshots }) => {
      if (snapshots !== undefined) throw new Accident(fault<string>('read-only', 'no'))
      return go()
    }
    await fill(stage, 'a', 100)
    await earth.advance(1)
    assert.equal(entities.metrics().snapshotsFailed, 1)
    await fill(stage, 'a', 99)
    assert.equal(entities.metrics().snapshotsFailed, 1)
    await fill(stage, 'a', 1)
    await earth.advance(1)
    assert.equal(entities.metrics().snapshotsFailed, 2)
    assert.equal((await stage.ask('a', { type: 'look' })).balance, 300)
  })
})
