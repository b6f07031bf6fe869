import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, fault } from '../std/index.ts'
import { scene, type Scene } from '../../test/entity/scene.ts'
import { accept, answer, entity, leg, message, type EntityDefinition } from './index.ts'

type Ordered = Readonly<{ type: 'ordered'; item: string; for: string }>
type Order = EntityDefinition<number, Omit<Ordered, 'type'>, Ordered, number>

/** Counts items by name; what it is told twice it counts twice. */
type Shelf = EntityDefinition<
  Readonly<Record<string, number>>,
  Readonly<{ item: string }>,
  Readonly<{ type: 'taken'; item: string }>,
  null
>
const shelf: Shelf = entity({
  type: 'shelf',
  version: 1,
  initial: () => ({}),
  decide: (_counts, { item }) => accept([{ type: 'taken', item }], null),
  evolve: (counts, { item }) => ({ ...counts, [item]: (counts[item] ?? 0) + 1 }),
})

const order: Order = entity({
  type: 'order',
  version: 1,
  initial: () => 0,
  decide: (orders, command) => accept([{ type: 'ordered', ...command }], orders + 1),
  evolve: (orders) => orders + 1,
  react: (event, id) => [
    message(shelf, event.for, { item: event.item }),
    message(shelf, 'all', { item: `${id} ${event.item}` }),
  ],
})

async function taken({ entities }: Scene, id: string): Promise<unknown> {
  return (await entities.read(shelf, id)).state
}

function undelivered({ journal }: Scene): Promise<number> {
  return journal.readRecords('entity-outbox', '').then((records) => records.length)
}

describe('a reaction', () => {
  test('tells others what follows from an event, after the commit and with one effect', async () => {
    await using stage = await scene()
    const { earth, entities } = stage
    for (const item of ['a', 'b', 'a'])
      await earth.until(entities.ask(order, 'o', { item, for: 'front' }))
    await earth.advance(10)
    assert.deepEqual(await taken(stage, 'front'), { a: 2, b: 1 })
    assert.deepEqual(await taken(stage, 'all'), { 'o a': 2, 'o b': 1 })
    assert.equal(await undelivered(stage), 0)
    assert.equal(entities.metrics().reactions, 6)
  })

  test('does not follow from history', async () => {
    await using stage = await scene()
    const { earth, entities, another } = stage
    await earth.until(entities.ask(order, 'o', { item: 'a', for: 'front' }))
    await earth.advance(10)
    await earth.until(entities.passivate({ type: 'order', id: 'o' }))
    const other = another()
    await earth.until(other.ask(order, 'o', { item: 'b', for: 'back' }))
    await earth.until(entities.ask(order, 'o', { item: 'c', for: 'back' }))
    await earth.advance(10)
    assert.deepEqual(await taken(stage, 'front'), { a: 1 })
    assert.deepEqual(await taken(stage, 'back'), { b: 1, c: 1 })
  })

  test('is not told where the event did not become history', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    await earth.until(entities.ask(order, 'o', { item: 'a', for: 'front' }))
    await earth.advance(10)
    script.commit = async () => {
      throw new Accident(fault<string>('read-only', 'full'))
    }
    const refused = entities.ask(order, 'o', { item: 'b', for: 'front' })
    await earth.until(assert.rejects(refused, { code: 'read-only' }))
    delete script.commit
    await earth.advance(60_000)
    assert.deepEqual(await taken(stage, 'front'), { a: 1 })
  })

  test('is told after a crash, and again without a second effect', async () => {
    await using stage = await scene()
    const { earth, entities, another, script } = stage
    let deletes = 0
    // Neither the delivery nor the note of it comes through.
    script.commit = async (go, { streams, records = [] }) => {
      if (streams?.[0]?.stream === 'shelf/front') throw new Accident(fault<string>('read-only', ''))
      if (records.some((write) => 'deleted' in write)) {
        deletes++
        throw new Accident(fault<string>('read-only', ''))
      }
      return go()
    }
    await earth.until(entities.ask(order, 'o', { item: 'a', for: 'front' }))
    await earth.advance(10)
    assert.equal(deletes, 1)
    assert.deepEqual(await taken(stage, 'all'), { 'o a': 1 })
    await earth.until(entities.drain())
    delete script.commit
    assert.equal(await undelivered(stage), 2)

    another({ definitions: [order, shelf] })
    await earth.advance(10)

    assert.deepEqual(await taken(stage, 'front'), { a: 1 })
    assert.deepEqual(await taken(stage, 'all'), { 'o a': 1 })
    assert.equal(await undelivered(stage), 0)
  })

  test('is told again and again while it cannot be delivered', async () => {
    await using stage = await scene()
    const { earth, entities, script } = stage
    script.readStream = async (go, stream) => {
      if (stream === 'shelf/front') throw new Accident(fault<string>('journal-overloaded', ''))
      return go()
    }
    await earth.until(entities.ask(order, 'o', { item: 'a', for: 'front' }))
    await earth.advance(120_000)
    assert.deepEqual(await taken(stage, 'all'), { 'o a': 1 })
    assert.equal(await undelivered(stage), 1)
    delete script.readStream
    await earth.advance(31_000)
    assert.deepEqual(await taken(stage, 'front'), { a: 1 })
    assert.equal(await undelivered(stage), 0)
  })

  test('waits on record for a definition that is not known yet', async () => {
    await using stage = await scene()
    const { earth, entities, journal, another } = stage
    const value = JSON.stringify({ type: 'shelf', id: 'front', command: { item: 'a' } })
    await journal.commit({ records: [{ collection: 'entity-outbox', key: 'k', value }] })
    await earth.until(entities.drain())
    const later = another()
    await earth.advance(10_000)
    assert.equal(await undelivered(stage), 1)
    await earth.until(later.ask(shelf, 'other', { item: 'x' }))
    await earth.advance(31_000)
    assert.deepEqual(await taken(stage, 'front'), { a: 1 })
    assert.equal(await undelivered(stage), 0)
  })

  test('follows from the events of a leg too', async () => {
    const buyer: EntityDefinition<number, string, { type: 'bought' }, null> = entity({
      type: 'buyer',
      version: 1,
      initial: () => 0,
      decide: (_n, item) =>
        accept([], null, [leg(order, 'o', [{ type: 'ordered', item, for: 'front' }])]),
      evolve: (n) => n + 1,
    })
    await using stage = await scene()
    const { earth, entities } = stage
    for (const item of ['a', 'a', 'b']) await earth.until(entities.ask(buyer, 'x', item))
    await earth.advance(10)
    assert.deepEqual(await taken(stage, 'front'), { a: 2, b: 1 })
    assert.equal((await entities.read(order, 'o')).state, 3)
  })

  test('whose command would not come back from JSON as it is refuses the command it follows', async () => {
    type Rung = Readonly<{ type: 'rung' }>
    const bell: EntityDefinition<number, unknown, Rung, null> = entity({
      type: 'bell',
      version: 1,
      initial: () => 0,
      decide: () => accept([{ type: 'rung' }], null),
      evolve: (n) => n + 1,
      react: () => [message(bell, 'b', { who: new Map() })],
    })
    await using stage = await scene()
    const { earth, entities } = stage
    await assert.rejects(earth.until(entities.ask(bell, 'a', 'ring')), {
      code: 'bad-message',
      message: /^the message for the bell b is not JSON at command\.who/,
    })
    assert.equal((await entities.read(bell, 'a')).version, 0)
  })

  test('that cannot be made refuses the command', async () => {
    const bad: EntityDefinition<number, string, { type: 'x' }, null> = entity({
      type: 'bad',
      version: 1,
      initial: () => 0,
      decide: (_n, what) => (what === 'look' ? answer(null) : accept([{ type: 'x' }], null)),
      evolve: (n) => n + 1,
      react: () => {
        throw new Error('no idea')
      },
    })
    await using stage = await scene()
    const { earth, entities } = stage
    await assert.rejects(earth.until(entities.ask(bad, 'a', 'x')), { code: 'decide-failed' })
    assert.equal((await earth.until(entities.ask(bad, 'a', 'look'))).version, 0)
  })
})
