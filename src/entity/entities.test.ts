import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Batch } from '../journal/index.ts'
import { account, decide, evolve, gate, scene } from '../../test/entity/scene.ts'
import { accept, entity, type EntityDefinition } from './index.ts'

describe('an entity', () => {
  test('decides, and answers when what it decided is durable', async () => {
    await using stage = await scene()
    const { earth, entities, journal, script } = stage
    const slow = gate()
    script.commit = slow.hold
    const asked = entities.ask(account, 'a', { type: 'deposit', amount: 5 })
    await earth.until(() => slow.waiting() === 1)
    assert.equal(await Promise.race([asked, Promise.resolve('nothing yet')]), 'nothing yet')

    slow.open()

    assert.deepEqual(await earth.until(asked), {
      reply: { ok: true, balance: 5 },
      version: 1,
      position: 1,
      replayed: false,
    })
    const [stored] = await journal.readStream('account/a')
    assert.equal(stored?.data, '{"amount":5}')
  })

  test('records who asked, on whose behalf and by which request', async () => {
    await using stage = await scene()
    const options = { requestId: 'r-1', actor: 'mary', trace: 't-1' }
    await stage.ask('a', { type: 'deposit', amount: 5 }, options)
    const [stored] = await stage.journal.readStream('account/a')
    assert.deepEqual(
      [stored?.requestId, stored?.actor, stored?.trace, stored?.at],
      ['r-1', 'mary', 't-1', stage.earth.clock.now()],
    )
  })

  test('is one actor under its type and its id', async () => {
    await using stage = await scene()
    await stage.ask('17/b c', { type: 'look' })
    const { system, trace } = stage.earth
    assert.equal('path' in system.find('/entities/account/17%2Fb%20c'), true)
    assert.ok(trace.some(({ type, actor }) => type === 'received' && actor.endsWith('17%2Fb%20c')))
  })

  test('may have an id that no actor could have as its name', async () => {
    await using stage = await scene()
    const long = 'ä'.repeat(200)
    await stage.ask(`${long}1`, { type: 'deposit', amount: 1 })
    await stage.ask(`${long}2`, { type: 'deposit', amount: 2 })
    assert.equal((await stage.ask(`${long}1`, { type: 'look' })).balance, 1)
    assert.equal(stage.entities.metrics().active, 2)
  })

  test('is suspended while it is being brought back, and takes its commands in order', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    const slow = gate()
    script.snapshots = slow.hold
    const asked = [1, 2, 3].map((amount) => entities.ask(account, 'a', { type: 'deposit', amount }))
    await earth.until(() => slow.waiting() === 1)
    assert.equal(entities.metrics().activating, 1)
    assert.deepEqual(
      entities.list().map(({ phase, pending }) => [phase, pending]),
      [['activating', 3]],
    )

    slow.open()

    const answers = await earth.until(Promise.all(asked))
    assert.deepEqual(
      answers.map(({ reply }) => reply.balance),
      [1, 3, 6],
    )
  })
})

describe('a pipeline of turns', () => {
  test('has one batch in flight, and what was decided meanwhile in the next', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await stage.ask('a', { type: 'look' })
    const batches: Batch[] = []
    const slow = gate()
    script.commit = (go, batch) => {
      batches.push(batch)
      return slow.hold(go)
    }
    const asked = [1, 2, 3, 4].map((amount) =>
      entities.ask(account, 'a', { type: 'deposit', amount }),
    )
    await earth.advance(100)
    assert.equal(batches.length, 1)
    slow.open()
    const answers = await earth.until(Promise.all(asked))
    assert.deepEqual(
      batches.map(({ streams }) =>
        streams?.map(({ expected, events }) => [expected, events.length]),
      ),
      [[[0, 1]], [[1, 3]]],
    )
    assert.deepEqual(
      answers.map(({ reply, version }) => [reply.balance, version]),
      [
        [1, 1],
        [3, 2],
        [6, 3],
        [10, 4],
      ],
    )
  })

  test('answers nothing from a state that is not durable yet', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await stage.ask('a', { type: 'look' })
    const slow = gate()
    script.commit = slow.hold
    const order: string[] = []
    void entities
      .ask(account, 'a', { type: 'deposit', amount: 5 })
      .then(() => order.push('deposit'))
    const look = entities.ask(account, 'a', { type: 'look' })
    void look.then(() => order.push('look'))
    await earth.advance(100)
    assert.deepEqual(order, [])

    slow.open()

    assert.equal((await earth.until(look)).reply.balance, 5)
    assert.deepEqual(order, ['deposit', 'look'])
  })

  test('is full at 256 commands, and the actor is suspended until there is room', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await stage.ask('a', { type: 'look' })
    const sizes: number[] = []
    const slow = gate()
    script.commit = (go, { streams = [] }) => {
      sizes.push(streams[0]!.events.length)
      return slow.hold(go)
    }
    const asked = Array.from({ length: 600 }, () =>
      entities.ask(account, 'a', { type: 'deposit', amount: 1 }),
    )
    await earth.advance(100)
    assert.deepEqual(sizes, [1])
    assert.equal(entities.list()[0]?.pending, 600)
    const suspension = earth.trace.findLast(({ type }) => type === 'suspended')
    assert.equal(suspension?.actor, '/entities/account/a')
    assert.equal(suspension.facts['reason'], 'backpressure')

    slow.open()

    const answers = await earth.until(Promise.all(asked))
    assert.deepEqual(sizes.slice(0, 2), [1, 256])
    assert.ok(Math.max(...sizes) <= 256)
    assert.equal(answers.at(-1)?.reply.balance, 600)
  })

  test('begins another batch before the journal would refuse one as too large', async () => {
    const wordy: EntityDefinition<number, string, { type: 'said'; text: string }, number> = entity({
      type: 'wordy',
      version: 1,
      initial: () => 0,
      decide: (said, text) => accept([{ type: 'said', text }], said + 1),
      evolve: (said) => said + 1,
    })
    await using stage = await scene()
    const { earth, entities } = stage
    const text = 'x'.repeat(3_000_000)
    const answers = await earth.until(
      Promise.all(Array.from({ length: 8 }, () => entities.ask(wordy, 'a', text))),
    )
    assert.equal(answers.at(-1)?.reply, 8)
  })

  test('refuses the one command that no batch can hold, and carries out the others', async () => {
    const wordy: EntityDefinition<number, string, { type: 'said'; text: string }, number> = entity({
      type: 'wordy',
      version: 1,
      initial: () => 0,
      decide: (said, text) => accept([{ type: 'said', text }], said + 1),
      evolve: (said) => said + 1,
    })
    await using stage = await scene()
    const { earth, entities } = stage
    const texts = ['a', 'b', 'x'.repeat(4_200_000), 'c', 'd']
    const answers = await earth.until(
      Promise.allSettled(texts.map((text) => entities.ask(wordy, 'a', text))),
    )
    assert.deepEqual(
      answers.map((each) => (each.status === 'fulfilled' ? each.value.reply : each.reason.code)),
      [1, 2, 'bad-batch', 3, 4],
    )
  })
})

describe('a command', () => {
  test('is refused unless the entity has the expected version', async () => {
    await using stage = await scene()
    await stage.ask('a', { type: 'deposit', amount: 1 }, { expected: 0 })
    await stage.ask('a', { type: 'deposit', amount: 1 }, { expected: 1 })
    await assert.rejects(stage.ask('a', { type: 'deposit', amount: 1 }, { expected: 1 }), {
      code: 'version-mismatch',
      detail: {
        type: 'account',
        id: 'a',
        expected: 1,
        actual: 2,
        remedy: 'read the entity again and decide whether the command still makes sense',
      },
    })
  })

  test('that the entity throws over has no effect, and the next one is carried out', async () => {
    await using stage = await scene()
    await stage.ask('a', { type: 'deposit', amount: 1 })
    await assert.rejects(stage.ask('a', { type: 'break' }), { code: 'decide-failed' })
    assert.equal((await stage.ask('a', { type: 'look' })).balance, 1)
    assert.deepEqual(stage.earth.failures, [])
  })

  test('whose events cannot be folded or written has no effect', async () => {
    type Odd = Readonly<{ type: 'odd'; what: unknown }>
    const odd: EntityDefinition<number, unknown, Odd, number> = entity({
      type: 'odd',
      version: 1,
      initial: () => 0,
      decide: (n, what) =>
        accept(
          [
            { type: 'odd', what: 1 },
            { type: 'odd', what },
          ],
          n + 1,
        ),
      evolve: (n, { what }) => {
        if (what === 'unfoldable') throw new Error('no')
        return n + 1
      },
    })
    await using stage = await scene()
    const { earth, entities } = stage
    const asked = [1, 'unfoldable', 10n, 2].map((what) => entities.ask(odd, 'a', what))
    const answers = await earth.until(Promise.allSettled(asked))
    assert.deepEqual(
      answers.map((each) => (each.status === 'fulfilled' ? each.value.version : each.reason.code)),
      [2, 'unknown-event', 'bad-event', 4],
    )
    assert.deepEqual((await entities.read(odd, 'a')).state, 4)
  })

  test('whose events, or reply to be kept, would not come back from JSON has no effect', async () => {
    type Said = Readonly<{ type: 'said'; what: unknown }>
    type Say = Readonly<{ what: unknown; reply: unknown }>
    const diary: EntityDefinition<number, Say, Said, unknown> = entity({
      type: 'diary',
      version: 1,
      initial: () => 0,
      decide: (_said, { what, reply }) => accept([{ type: 'said', what }], reply),
      evolve: (said) => said + 1,
    })
    await using stage = await scene()
    const { earth, entities } = stage
    const say = (command: Say, requestId?: string): Promise<Readonly<{ reply: unknown }>> =>
      earth.until(
        entities.ask(
          diary,
          'a',
          command,
          requestId === undefined ? {} : { requestId, content: {} },
        ),
      )
    for (const lost of [new Set([1]), Number.NaN, new Map(), [undefined]]) {
      await assert.rejects(say({ what: lost, reply: null }), { code: 'bad-event' })
      await assert.rejects(say({ what: 1, reply: [lost] }, 'r'), { code: 'bad-reply' })
    }
    assert.equal((await entities.read(diary, 'a')).version, 0)
    // Without a request id nobody is told it a second time.
    assert.deepEqual((await say({ what: 1, reply: new Set([1]) })).reply, new Set([1]))
  })

  test('is refused where its options or its entity cannot be', async () => {
    await using stage = await scene()
    for (const [id, options, code] of [
      ['', {}, 'bad-entity-id'],
      ['\ud800', {}, 'bad-entity-id'],
      ['x'.repeat(600), {}, 'bad-entity-id'],
      ['a', { deadlineMs: 0 }, 'bad-option'],
      ['a', { deadlineMs: Infinity }, 'bad-option'],
      ['a', { expected: -1 }, 'bad-option'],
      ['a', { requestId: '' }, 'bad-option'],
      ['a', { requestId: 'x'.repeat(513) }, 'bad-option'],
      ['a', { actor: '\0' }, 'bad-option'],
      ['a', { trace: '\udfff' }, 'bad-option'],
    ] as const)
      await assert.rejects(stage.ask(id, { type: 'look' }, options), { code })
    await stage.ask('a', { type: 'look' }, { requestId: 'x'.repeat(512) })
  })

  test('of a type that another definition has is refused', async () => {
    await using stage = await scene()
    await stage.ask('a', { type: 'look' })
    const impostor = entity({ type: 'account', version: 1, initial: () => 0, decide, evolve })
    await assert.rejects(stage.entities.ask(impostor, 'a', { type: 'look' }), {
      code: 'entity-redefined',
    })
  })

  test('is refused when 1 000 others wait for the entity, and not before', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    const slow = gate()
    script.snapshots = slow.hold
    const asked = Array.from({ length: 1_000 }, () => entities.ask(account, 'a', { type: 'look' }))
    await assert.rejects(earth.until(entities.ask(account, 'a', { type: 'look' })), {
      code: 'entity-overloaded',
    })
    await stage.ask('b', { type: 'look' }, { deadlineMs: 1 }).catch(() => undefined)
    slow.open()
    assert.equal((await earth.until(Promise.all(asked))).length, 1_000)
  })
})

describe('the deadline of an ask', () => {
  test('drops a command that has not begun', async () => {
    await using stage = await scene()
    const { earth, script } = stage
    const slow = gate()
    script.snapshots = slow.hold
    await assert.rejects(stage.ask('a', { type: 'deposit', amount: 1 }, { deadlineMs: 100 }), {
      code: 'deadline-passed',
      message: /was dropped/,
    })
    assert.equal(earth.clock.monotonic(), 100)
    slow.open()
    assert.equal((await stage.ask('a', { type: 'look' })).balance, 0)
  })

  test('lets a command go on that has begun, and its request id tells the result', async () => {
    await using stage = await scene()
    const { script } = stage
    await stage.ask('a', { type: 'look' })
    const slow = gate()
    script.commit = slow.hold
    const deposit = { type: 'deposit', amount: 1 } as const
    await assert.rejects(stage.ask('a', deposit, { deadlineMs: 100, requestId: 'r' }), {
      code: 'deadline-passed',
      message: /same request id/,
    })
    slow.open()
    const again = await stage.earth.until(
      stage.entities.ask(account, 'a', deposit, { requestId: 'r' }),
    )
    assert.deepEqual([again.reply.balance, again.version], [1, 1])
    assert.equal((await stage.journal.readStream('account/a')).length, 1)
  })

  test('is 10 s unless the ask or the runtime says otherwise', async () => {
    await using stage = await scene({ activationMs: 60_000 })
    stage.script.snapshots = gate().hold
    await assert.rejects(stage.ask('a', { type: 'look' }), { code: 'deadline-passed' })
    assert.equal(stage.earth.clock.monotonic(), 10_000)
  })
})
