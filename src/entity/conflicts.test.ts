import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, fault } from '../std/index.ts'
import { account, gate, scene, type Command } from '../../test/entity/scene.ts'

const deposit = (amount: number): Command => ({ type: 'deposit', amount })
const withdraw = (amount: number): Command => ({ type: 'withdraw', amount })

function accident(code: string): Accident {
  return new Accident(fault<string>(code, 'as the test wants it'))
}

describe('two activations of one entity', () => {
  test('make one history: the loser reads what it missed and decides again', async () => {
    await using stage = await scene()
    const { earth, entities, journal } = stage
    const other = stage.another()
    await stage.ask('a', deposit(100))
    await earth.until(other.ask(account, 'a', { type: 'look' }))

    const asked = Array.from({ length: 40 }, (_, n) =>
      (n % 2 === 0 ? entities : other).ask(account, 'a', withdraw(3)),
    )
    const answers = await earth.until(Promise.all(asked))

    assert.equal(answers.filter(({ reply }) => reply.ok).length, 33)
    const history = await journal.readStream('account/a')
    assert.deepEqual(
      history.map(({ seq }) => seq),
      Array.from({ length: 34 }, (_, n) => n + 1),
    )
    const versions = answers.filter(({ reply }) => reply.ok).map(({ version }) => version)
    assert.equal(new Set(versions).size, 33)
    assert.ok(entities.metrics().conflicts + other.metrics().conflicts > 0)
    for (const runtime of [entities, other]) {
      const { reply } = await earth.until(runtime.ask(account, 'a', withdraw(2)))
      assert.equal(reply.ok, false)
    }
  })

  test('decide everything behind a conflict again, in order', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    const other = stage.another()
    await stage.ask('a', deposit(10))
    await earth.until(other.ask(account, 'a', withdraw(8)))
    const slow = gate()
    script.commit = slow.hold
    const asked = [
      withdraw(4),
      withdraw(2),
      { type: 'look' } as const,
      deposit(3),
      withdraw(1),
    ].map((command) => entities.ask(account, 'a', command))
    await earth.advance(10)
    slow.open()
    const answers = await earth.until(Promise.all(asked))
    assert.deepEqual(
      answers.map(({ reply: { ok, balance } }) => [ok, balance]),
      [
        [false, 2],
        [true, 0],
        [true, 0],
        [true, 3],
        [true, 2],
      ],
    )
  })

  test('end with entity-contended where the others never let it write', async () => {
    await using stage = await scene()
    const { script } = stage
    await stage.ask('a', deposit(1))
    let conflicts = 0
    script.commit = async () => {
      conflicts++
      return { type: 'conflict', stream: 'account/a', expected: 1, actual: 2 }
    }
    await assert.rejects(stage.ask('a', deposit(1)), {
      code: 'entity-contended',
    })
    assert.equal(conflicts, 32)
    delete script.commit
    assert.equal((await stage.ask('a', deposit(1))).balance, 2)
  })
})

describe('a flood of legs', () => {
  test('cannot keep an entity from its turn', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    for (let n = 0; n < 20; n++) await stage.ask(`rich-${n}`, deposit(1_000))
    await stage.ask('poor', { type: 'look' })
    // Whatever the poor one decides is on its way for so long that others have written meanwhile.
    script.commit = async (go, { streams = [] }) => {
      if (streams[0]?.stream === 'account/poor')
        await new Promise<void>((resolve) =>
          earth.clock.setTimer(earth.clock.monotonic() + 5, resolve),
        )
      return go()
    }
    const flood = new AbortController()
    const floods = Array.from({ length: 20 }, async (_, n) => {
      for (let m = 0; m < 200 && !flood.signal.aborted; m++) {
        await entities.ask(account, `rich-${n}`, { type: 'transfer', amount: 1, to: 'poor' })
        await new Promise<void>((resolve) =>
          earth.clock.setTimer(earth.clock.monotonic() + 1, resolve),
        )
      }
    })
    const own = await earth.until(entities.ask(account, 'poor', deposit(1)))
    flood.abort()
    await earth.until(Promise.all(floods))
    const { conflicts } = entities.metrics()
    assert.ok(own.version > 10)
    assert.ok(conflicts >= 3 && conflicts <= 6, `${conflicts} conflicts`)
  })
})

describe('a commit whose outcome nobody knows', () => {
  for (const tookEffect of [true, false])
    test(`is said to be so, and the truth is read (${tookEffect ? 'it took effect' : 'it did not'})`, async () => {
      await using stage = await scene()
      const { earth, entities, script } = stage
      await stage.ask('a', deposit(1))
      script.commit = async (go) => {
        delete script.commit
        if (tookEffect) await go()
        throw accident('unknown-outcome')
      }
      const first = entities.ask(account, 'a', deposit(10), { requestId: 'r' })
      const behind = entities.ask(account, 'a', deposit(100))
      await earth.until(assert.rejects(first, { code: 'unknown-outcome' }))
      assert.equal((await earth.until(behind)).reply.balance, tookEffect ? 111 : 101)
      const again = await earth.until(entities.ask(account, 'a', deposit(10), { requestId: 'r' }))
      assert.equal(again.replayed, tookEffect)
      assert.equal((await stage.ask('a', { type: 'look' })).balance, 111)
    })

  test('throws the activation away where nobody waits', async () => {
    await using stage = await scene()
    const { entities, script } = stage
    await stage.ask('a', deposit(1))
    script.commit = async () => {
      delete script.commit
      throw new TypeError('no accident of the journal')
    }
    await assert.rejects(stage.ask('a', deposit(10)), { code: 'unknown-outcome' })
    await stage.earth.advance(1)
    assert.deepEqual(entities.list(), [])
    assert.equal((await stage.ask('a', { type: 'look' })).balance, 1)
    assert.deepEqual(stage.earth.deadLetters, [])
  })
})

describe('a journal that takes no batch', () => {
  for (const code of ['read-only', 'journal-overloaded', 'damaged'])
    test(`refuses commands with ${code}, and none of what was decided remains`, async () => {
      await using stage = await scene()
      const { earth, entities, script } = stage
      await stage.ask('a', deposit(5), { requestId: 'granted' })
      script.commit = async () => {
        throw accident(code)
      }
      const asked = [
        entities.ask(account, 'a', deposit(1)),
        entities.ask(account, 'a', deposit(2)),
        entities.ask(account, 'a', deposit(5), { requestId: 'granted' }),
        entities.ask(account, 'a', { type: 'look' }),
      ]
      const answers = await earth.until(Promise.allSettled(asked))
      assert.deepEqual(
        answers
          .slice(0, 3)
          .map((each) => (each.status === 'fulfilled' ? each.value.replayed : each.reason.code)),
        [code, code, true],
      )
      delete script.commit
      assert.equal((await stage.ask('a', { type: 'look' })).balance, 5)
    })
})

describe('a fence', () => {
  test('that somebody took ends the activation with entity-fenced', async () => {
    const earlier = { name: 'accounts', token: 1 }
    await using stage = await scene({ fence: earlier })
    const { earth, entities, journal } = stage
    await journal.takeFence('accounts')
    await stage.ask('a', deposit(5))
    const token = await journal.takeFence('accounts')
    await assert.rejects(stage.ask('a', deposit(5)), { code: 'entity-fenced' })
    await earth.advance(1)
    assert.equal(entities.metrics().active, 0)
    const owner = stage.another({ fence: { name: 'accounts', token } })
    assert.equal((await earth.until(owner.ask(account, 'a', deposit(1)))).reply.balance, 6)
    await assert.rejects(stage.ask('a', deposit(5)), { code: 'entity-fenced' })
  })
})
