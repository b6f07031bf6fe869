import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Accident } from '../std/index.ts'
import type { AskOptions } from './entities.ts'
import { account, gate, scene, type Command } from '../../test/entity/scene.ts'

const content = (amount: number): AskOptions => ({
  requestId: 'r',
  content: { amount, at: 'a' },
})
const deposit = (amount: number): Command => ({ type: 'deposit', amount })

describe('a request id', () => {
  test('has one effect and one answer, also after a restart', async () => {
    await using stage = await scene()
    const { earth, entities, journal } = stage
    const first = await earth.until(entities.ask(account, 'a', deposit(5), { requestId: 'r' }))
    await stage.ask('a', deposit(1))
    const again = await earth.until(entities.ask(account, 'a', deposit(5), { requestId: 'r' }))
    assert.deepEqual(again, { ...first, replayed: true })

    await earth.until(entities.drain())
    const later = stage.another()
    const afterwards = await earth.until(later.ask(account, 'a', deposit(5), { requestId: 'r' }))

    assert.deepEqual(afterwards, { ...first, replayed: true })
    assert.equal((await journal.readStream('account/a')).length, 2)
    const { ledgerHits, ledgerMisses } = entities.metrics()
    assert.deepEqual({ ledgerHits, ledgerMisses }, { ledgerHits: 1, ledgerMisses: 1 })
  })

  test('is refused for something else, with the fields that differ', async () => {
    await using stage = await scene()
    await stage.ask('a', deposit(5), { requestId: 'r' })
    const fieldsOf = async (id: string, command: Command): Promise<unknown> =>
      stage.ask(id, command, { requestId: 'r' }).catch((error) => [error.code, error.detail.fields])
    assert.deepEqual(await fieldsOf('a', deposit(6)), ['request-mismatch', ['command.amount']])
    assert.deepEqual(await fieldsOf('b', deposit(5)), ['request-mismatch', ['id']])
    assert.deepEqual(await fieldsOf('b', { type: 'look' }), [
      'request-mismatch',
      ['command.amount', 'command.type', 'id'],
    ])
    assert.equal(stage.entities.metrics().ledgerMismatches, 3)
  })

  test('is compared by the content it is given, in place of entity and command', async () => {
    await using stage = await scene()
    const first = await stage.ask('a', deposit(5), content(5))
    assert.deepEqual(await stage.ask('b', { type: 'look' }, content(5)), first)
    await assert.rejects(
      stage.ask('a', deposit(5), content(6)),
      (error: Accident) => String(error.detail['fields']) === 'amount',
    )
  })

  test('can be asked for its answer and for the events it led to', async () => {
    await using stage = await scene()
    const { entities, earth } = stage
    await stage.ask('a', deposit(1))
    const { reply, version, position } = await earth.until(
      entities.ask(account, 'a', deposit(5), { requestId: 'r', actor: 'ada' }),
    )
    const { at } = (await entities.history(account, 'a'))[1]!.stored
    assert.deepEqual(await entities.answered('r'), { reply, version, position, at })
    assert.equal(await entities.answered('s'), undefined)
    const [second, ...none] = await entities.history(account, 'a', { after: 1, limit: 5 })
    assert.deepEqual(none, [])
    assert.deepEqual(second?.event, { type: 'deposited', amount: 5 })
    assert.deepEqual([second?.stored.requestId, second?.stored.actor], ['r', 'ada'])
    assert.deepEqual(await entities.history(account, 'nobody'), [])
  })

  test('that is on its way is not sent again: whoever repeats it is told what comes of it', async () => {
    await using stage = await scene()
    const { earth, entities, journal, script } = stage
    await stage.ask('a', { type: 'look' })
    const slow = gate()
    script.commit = slow.hold
    const asked = [1, 2, 3].map(() => entities.ask(account, 'a', deposit(5), { requestId: 'r' }))
    const other = entities.ask(account, 'b', deposit(5), { requestId: 'r' })
    await assert.rejects(earth.until(other), { code: 'request-mismatch' })
    slow.open()
    const answers = await earth.until(Promise.all(asked))
    assert.deepEqual(new Set(answers).size, 1)
    assert.equal((await journal.readStream('account/a')).length, 1)
    assert.equal(entities.metrics().coalesced, 2)
  })

  test('keeps working for those who wait longer than the first who asked', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    const slow = gate()
    script.snapshots = slow.hold
    const options = { requestId: 'r' }
    const first = entities.ask(account, 'a', deposit(5), { ...options, deadlineMs: 10 })
    const second = entities.ask(account, 'a', deposit(5), { ...options, deadlineMs: 1_000 })
    const third = entities.ask(account, 'a', deposit(5), { ...options, deadlineMs: 20 })
    await earth.until(assert.rejects(first, { code: 'deadline-passed' }))
    await earth.until(assert.rejects(third, { code: 'deadline-passed' }))
    slow.open()
    assert.equal((await earth.until(second)).reply.balance, 5)
  })

  test('is free again when all who waited have given up before it began', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    const slow = gate()
    script.snapshots = slow.hold
    const ask = (deadlineMs: number): Promise<unknown> =>
      entities.ask(account, 'a', deposit(5), { requestId: 'r', deadlineMs })
    const gaveUp = Promise.allSettled([ask(10), ask(20)])
    await earth.until(gaveUp)
    const other = entities.ask(account, 'a', deposit(6), { requestId: 'r' })
    slow.open()
    assert.equal((await earth.until(other)).reply.balance, 6)
  })

  test('gets its stored answer although the state would refuse it today', async () => {
    await using stage = await scene()
    await stage.ask('a', deposit(5))
    const withdraw = { type: 'withdraw', amount: 5 } as const
    const first = await stage.ask('a', withdraw, { requestId: 'r' })
    assert.deepEqual(await stage.ask('a', withdraw, { requestId: 'r' }), first)
    const expected = { requestId: 'r', expected: 1 }
    assert.deepEqual(await stage.ask('a', withdraw, expected), first)
  })

  test('gets its stored answer although the command would be postponed today', async () => {
    await using stage = await scene()
    await stage.ask('a', deposit(5))
    const until = stage.earth.clock.now() + 60_000
    const collect = { type: 'collect', amount: 5, until } as const
    const first = await stage.ask('a', collect, { requestId: 'r' })
    const startedMs = stage.earth.clock.monotonic()
    assert.deepEqual(await stage.ask('a', collect, { requestId: 'r' }), first)
    assert.equal(stage.earth.clock.monotonic(), startedMs)
    assert.equal(stage.entities.metrics().postponed, 0)
  })

  test('is not used up by a refusal', async () => {
    await using stage = await scene()
    const withdraw = { type: 'withdraw', amount: 5 } as const
    assert.equal((await stage.ask('a', withdraw, { requestId: 'r' })).ok, false)
    await assert.rejects(stage.ask('a', { type: 'break' }, { requestId: 's' }), {
      code: 'decide-failed',
    })
    await stage.ask('a', deposit(5))
    assert.equal((await stage.ask('a', withdraw, { requestId: 'r' })).ok, true)
    assert.equal((await stage.ask('a', deposit(1), { requestId: 's' })).balance, 1)
  })

  test('that was granted long ago keeps nobody behind it in the batch from being served', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await stage.ask('a', deposit(1), { requestId: 'old-1' })
    await stage.ask('a', deposit(2), { requestId: 'old-2' })
    const slow = gate()
    let commits = 0
    script.commit = (go) => {
      commits++
      return slow.hold(go)
    }
    const asked = [
      entities.ask(account, 'a', deposit(10)),
      entities.ask(account, 'a', deposit(1), { requestId: 'old-1' }),
      entities.ask(account, 'a', deposit(20), { requestId: 'new' }),
      entities.ask(account, 'a', deposit(2), { requestId: 'old-2' }),
      entities.ask(account, 'a', deposit(3), { requestId: 'old-1' }),
      entities.ask(account, 'a', { type: 'look' }),
    ]
    const settled = Promise.allSettled(asked)
    await earth.advance(10)
    slow.open()
    const answers = await earth.until(settled)
    assert.deepEqual(
      answers.map((each) =>
        each.status === 'fulfilled'
          ? [each.value.reply.balance, each.value.version, each.value.replayed]
          : each.reason.code,
      ),
      [
        [13, 3, false],
        [1, 1, true],
        [33, 4, false],
        [3, 2, true],
        'request-mismatch',
        [33, 4, false],
      ],
    )
    assert.equal(commits, 3) // the first, the refused one, and all that was left of it
  })

  test('of another content than was granted refuses that command alone', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await stage.ask('a', deposit(1), { requestId: 'old' })
    const slow = gate()
    script.commit = slow.hold
    const asked = [
      entities.ask(account, 'a', deposit(10)),
      entities.ask(account, 'a', deposit(7), { requestId: 'old' }),
      entities.ask(account, 'a', deposit(20)),
    ]
    await earth.advance(10)
    slow.open()
    const answers = await earth.until(Promise.allSettled(asked))
    assert.deepEqual(
      answers.map((each) => (each.status === 'fulfilled' ? each.value.version : each.reason.code)),
      [2, 'request-mismatch', 3],
    )
  })
})
