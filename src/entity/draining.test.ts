import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { account, gate, scene, type Command } from '../../test/entity/scene.ts'

const deposit = (amount: number): Command => ({ type: 'deposit', amount })

describe('draining', () => {
  test('lets what was asked for become durable, and takes nothing more', async () => {
    await using stage = await scene()
    const { earth, entities, journal } = stage
    const asked = Array.from({ length: 500 }, (_, n) =>
      entities.ask(account, `a-${n % 20}`, deposit(1)),
    )
    const drained = entities.drain()
    await assert.rejects(entities.ask(account, 'b', deposit(1)), { code: 'shutting-down' })
    await earth.until(Promise.all(asked))
    assert.deepEqual(await earth.until(drained), { rejected: 0, overdue: [] })
    assert.equal((await journal.readAll()).length, 500)
    assert.ok(earth.clock.monotonic() < 2_000)
    assert.deepEqual(entities.list(), [])
    assert.equal('code' in earth.system.find('/entities'), true)
    assert.deepEqual(earth.deadLetters, [])
    assert.deepEqual(await earth.until(entities.drain()), { rejected: 0, overdue: [] })
  })

  test('leaves snapshots where they are worth it', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    await earth.until(
      Promise.all(Array.from({ length: 30 }, () => entities.ask(account, 'a', deposit(1)))),
    )
    await earth.until(entities.drain())
    assert.equal(entities.metrics().snapshotsTaken, 1)
  })

  test('refuses after 2 s what has not begun, and gives up after 5 s', async () => {
    await using stage = await scene({ activationMs: 60_000 })
    const { earth, entities, script } = stage
    await stage.ask('a', deposit(1))
    script.commit = gate().hold
    const begun = entities.ask(account, 'a', deposit(1), { deadlineMs: 60_000 })
    const queued = Array.from({ length: 600 }, () =>
      entities.ask(account, 'a', deposit(1), { deadlineMs: 60_000 }),
    )
    script.snapshots = gate().hold
    const waking = entities.ask(account, 'b', deposit(1), { deadlineMs: 60_000 })
    await earth.advance(10)

    const startedMs = earth.clock.monotonic()
    const at: number[] = []
    const rejected = async (
      asked: Promise<unknown>,
      mayHaveTakenEffect: boolean,
    ): Promise<void> => {
      await assert.rejects(asked, (error: { code: string; detail: object }) => {
        assert.equal(error.code, 'shutting-down')
        assert.equal(Reflect.get(error.detail, 'mayHaveTakenEffect'), mayHaveTakenEffect)
        return true
      })
      at.push(earth.clock.monotonic() - startedMs)
    }
    const all = [
      rejected(begun, true),
      ...queued.map((each) => rejected(each, false)),
      rejected(waking, false),
    ]
    const report = await earth.until(entities.drain())
    assert.equal(earth.clock.monotonic() - startedMs, 5_000)
    await earth.until(Promise.all(all))
    assert.equal(report.rejected, 602)
    assert.deepEqual(report.overdue, [
      { type: 'account', id: 'a' },
      { type: 'account', id: 'b' },
    ])
    assert.equal(at.filter((ms) => ms === 2_000).length, 345)
  })

  test('refuses what is postponed without waiting for it', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    const until = earth.clock.now() + 8_000
    const waiting = entities.ask(account, 'a', { type: 'collect', amount: 1, until })
    await earth.advance(10)
    const refused = assert.rejects(waiting, { code: 'shutting-down' })
    assert.deepEqual(await earth.until(entities.drain()), { rejected: 1, overdue: [] })
    await refused
    assert.equal(earth.clock.monotonic(), 10)
  })

  test('happens with `await using`, and the same place can be taken again', async () => {
    await using stage = await scene()
    const { earth, another } = stage
    await earth.until(stage.entities[Symbol.asyncDispose]())
    const again = another({ name: 'entities' })
    assert.equal((await earth.until(again.ask(account, 'a', deposit(1)))).reply.balance, 1)
  })

  test('is not needed for callers to be told when the whole system is stopped', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await stage.ask('a', deposit(1))
    script.commit = gate().hold
    const asked = Array.from({ length: 300 }, () =>
      entities.ask(account, 'a', deposit(1), { deadlineMs: 1_000 }),
    )
    const settled = Promise.allSettled(asked)
    await earth.advance(10)
    await earth.stop()
    await assert.rejects(entities.ask(account, 'a', deposit(1)), { code: 'shutting-down' })
    earth.clock.advance(2_000)
    for (const each of await settled) assert.equal(each.status, 'rejected')
  })
})
