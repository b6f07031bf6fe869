import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, fault } from '../std/index.ts'
import { account, decide, evolve, gate, scene, type Command } from '../../test/entity/scene.ts'
import { entity } from './index.ts'

const deposit = (amount: number): Command => ({ type: 'deposit', amount })

describe('activation', () => {
  test('is for 50 at once, and the others wait in line', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    const slow = gate()
    script.snapshots = slow.hold
    const asked = Array.from({ length: 60 }, (_, n) =>
      entities.ask(account, `a-${n}`, { type: 'look' }),
    )
    await earth.advance(100)
    assert.equal(slow.waiting(), 50)
    assert.equal(entities.metrics().activating, 60)
    slow.open()
    await earth.until(Promise.all(asked))
    assert.equal(slow.waiting(), 60)
    assert.equal(entities.metrics().activations, 60)
  })

  test('that hangs is given up after 5 s, and delays nobody else', async () => {
    await using stage = await scene({ activations: 2 })
    const { earth, entities, script } = stage
    const forever = gate()
    script.readStream = (go, stream) => (stream === 'account/bad' ? forever.hold(go) : go())
    const bad = entities.ask(account, 'bad', { type: 'look' })
    const failed = assert.rejects(bad, { code: 'entity-unavailable' })
    for (let n = 0; n < 20; n++) await stage.ask(`good-${n}`, deposit(1))
    assert.equal(earth.clock.monotonic(), 0)
    await earth.until(failed)
    assert.equal(earth.clock.monotonic(), 5_000)
    forever.open()
    await earth.advance(1)
    const report = entities.list().find(({ id }) => id === 'bad')
    assert.deepEqual([report?.phase, report?.fault?.code], ['failed', 'entity-unavailable'])
    assert.deepEqual(earth.deadLetters, [])
  })

  test('that failed is not tried again before its time, which doubles up to 30 s', async () => {
    await using stage = await scene()
    const { earth, script } = stage
    let reads = 0
    script.readStream = async () => {
      reads++
      throw new Accident(fault<string>('journal-overloaded', 'busy'))
    }
    const pauses: number[] = []
    for (let n = 0; n < 12; n++) {
      const error: unknown = await stage.ask('a', { type: 'look' }).catch((caught) => caught)
      assert.ok(error instanceof Accident && error.code === 'entity-unavailable')
      const retryAtMs = Number(error.detail['retryAtMs'])
      pauses.push(retryAtMs - earth.clock.now())
      const before = reads
      await assert.rejects(stage.ask('a', { type: 'look' }), { code: 'entity-unavailable' })
      assert.equal(reads, before)
      await earth.advance(retryAtMs - earth.clock.now())
    }
    for (const [n, pause] of pauses.entries()) {
      const full = Math.min(30_000, 100 * 2 ** n)
      assert.ok(pause >= full * 0.8 - 1 && pause <= full + 1, `pause ${n}: ${pause} of ${full}`)
    }
    delete script.readStream
    assert.equal((await stage.ask('a', { type: 'look' })).ok, true)
    assert.deepEqual(
      stage.entities.list().map(({ phase }) => phase),
      ['running'],
    )
    assert.equal(stage.entities.metrics().activationFailures, 12)
  })

  test('of entities that failed before takes at most half of the permits', async () => {
    await using stage = await scene({ activations: 4, activationMs: 60_000, askMs: 120_000 })
    const { earth, entities, script } = stage
    script.readStream = async () => {
      throw new Accident(fault<string>('journal-overloaded', 'busy'))
    }
    const ids = Array.from({ length: 10 }, (_, n) => `bad-${n}`)
    await earth.until(
      Promise.allSettled(ids.map((id) => entities.ask(account, id, { type: 'look' }))),
    )
    await earth.advance(200)
    const forever = gate()
    script.readStream = (go, stream) => (stream.startsWith('account/bad') ? forever.hold(go) : go())
    const bad = ids.map((id) => entities.ask(account, id, { type: 'look' }))
    await earth.advance(10)
    assert.equal(forever.waiting(), 2)
    await stage.ask('good', { type: 'look' })
    forever.open()
    await earth.until(Promise.all(bad))
  })

  test('refuses all who waited where it fails, and leaves no dead letter', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    const slow = gate()
    script.readStream = () =>
      slow.hold(async () => {
        throw new Accident(fault<string>('journal-closed', 'closed'))
      })
    const asked = Array.from({ length: 10 }, () => entities.ask(account, 'a', { type: 'look' }))
    const settled = Promise.allSettled(asked)
    await earth.advance(1)
    slow.open()
    for (const each of await earth.until(settled)) {
      assert.equal(each.status, 'rejected')
      assert.equal(each.reason.code, 'entity-unavailable')
      assert.equal(each.reason.detail.cause.code, 'journal-closed')
    }
    assert.deepEqual(earth.deadLetters, [])
    assert.deepEqual(earth.failures, [])
  })
})

describe('quarantine', () => {
  test('is for one entity whose history is not understood, until somebody releases it', async () => {
    await using stage = await scene()
    const { earth, entities, journal } = stage
    await stage.ask('good', deposit(1))
    const event = { type: 'deposited', version: 2, at: 1, data: '{}' }
    await journal.commit({ streams: [{ stream: 'account/bad', expected: 'any', events: [event] }] })

    await assert.rejects(stage.ask('bad', { type: 'look' }), {
      code: 'entity-quarantined',
      message: /release/,
    })

    await earth.advance(600_000)
    await assert.rejects(stage.ask('bad', { type: 'look' }), { code: 'entity-quarantined' })
    assert.equal((await stage.ask('good', deposit(1))).balance, 2)
    assert.equal(entities.metrics().quarantined, 1)
    const report = entities.list().find(({ id }) => id === 'bad')
    assert.deepEqual([report?.phase, report?.fault?.code], ['quarantined', 'entity-quarantined'])

    assert.equal(entities.release({ type: 'account', id: 'bad' }), true)
    assert.equal(entities.release({ type: 'account', id: 'bad' }), false)
    assert.equal(entities.release({ type: 'account', id: 'good' }), false)
    await assert.rejects(stage.ask('bad', { type: 'look' }), { code: 'entity-quarantined' })
  })

  test('is for damaged history too, and ends with the damage', async () => {
    await using stage = await scene()
    const { entities, script } = stage
    await stage.ask('a', deposit(1))
    await stage.earth.until(entities.passivate({ type: 'account', id: 'a' }))
    script.readStream = async () => {
      throw new Accident(fault<string>('damaged', 'event 1 of account/a is damaged'))
    }
    await assert.rejects(stage.ask('a', { type: 'look' }), { code: 'entity-quarantined' })
    delete script.readStream
    await assert.rejects(stage.ask('a', { type: 'look' }), { code: 'entity-quarantined' })
    entities.release({ type: 'account', id: 'a' })
    assert.equal((await stage.ask('a', { type: 'look' })).balance, 1)
  })

  test('is for an entity that meets such an event while it is awake', async () => {
    await using stage = await scene()
    const { entities, journal } = stage
    await stage.ask('a', deposit(1))
    const event = { type: 'deposited', version: 1, at: 1, data: 'no JSON' }
    await journal.commit({ streams: [{ stream: 'account/a', expected: 1, events: [event] }] })
    await assert.rejects(stage.ask('a', deposit(1)), { code: 'entity-quarantined' })
    await stage.earth.advance(1)
    assert.deepEqual(
      entities.list().map(({ phase }) => phase),
      ['quarantined'],
    )
    assert.deepEqual(stage.earth.deadLetters, [])
  })

  test('does not end a fold that throws, and the others of its kind go on', async () => {
    await using stage = await scene()
    const { earth, another } = stage
    await stage.ask('a', deposit(13))
    await stage.ask('b', deposit(1))
    await earth.until(stage.entities.drain())
    const strict = entity({
      type: 'account',
      version: 1,
      initial: () => 0,
      decide,
      evolve: (balance: number, event: Parameters<typeof evolve>[1]) => {
        if (event.amount === 13) throw new RangeError('unlucky')
        return evolve(balance, event)
      },
    })
    const later = another()
    const bad = later.ask(strict, 'a', { type: 'look' })
    await earth.until(assert.rejects(bad, { code: 'entity-quarantined' }))
    assert.equal((await earth.until(later.ask(strict, 'b', { type: 'look' }))).reply.balance, 1)
  })
})
