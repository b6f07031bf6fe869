import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { nameOf, Scene, sure } from '../../test/broker/scene.ts'
import { isFault } from '../std/index.ts'
import type { QueueName } from './broker.ts'
import { createBroker } from './create-broker.ts'
import { LOAD_RETRY_MS, QUEUE_NAME_CHARS_MAX, QUEUE_TAGS_MAX } from './limits.ts'

async function code(scene: Scene, asking: Promise<unknown>): Promise<string> {
  const answer = await scene.earth.until(asking)
  return isFault(answer) ? answer.code : 'ok'
}

describe('a queue', () => {
  test('is there again with its config after a crash, and can be made twice the same', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { visibilityMs: 7 })
    await scene.crash()
    assert.equal(sure(scene.broker.describe(queue)).config.visibilityMs, 7)
    assert.equal(await code(scene, scene.broker.create(queue, { visibilityMs: 7 })), 'ok')
    const other = await scene.earth.until(
      scene.broker.create(queue, { visibilityMs: 8, waitMs: 1 }),
    )
    assert.ok(isFault(other) && other.code === 'queue-exists')
    assert.deepEqual(other.detail['differs'], ['visibilityMs', 'waitMs'])
    await scene.earth.until(scene.broker.create(queue, { visibilityMs: 8 }, { ifExists: 'ignore' }))
    assert.equal(sure(scene.broker.describe(queue)).config.visibilityMs, 7)
    await scene.earth.until(scene.broker.create(queue, { visibilityMs: 8 }, { ifExists: 'update' }))
    assert.equal(sure(scene.broker.describe(queue)).config.visibilityMs, 8)
  })

  test('has a name that is one', async () => {
    await using scene = await Scene.open()
    const create = (name: string, config = {}) =>
      code(scene, scene.broker.create(nameOf(name), config))
    assert.equal(await create('n'.repeat(QUEUE_NAME_CHARS_MAX)), 'ok')
    for (const bad of ['', 'n'.repeat(QUEUE_NAME_CHARS_MAX + 1), 'a b', '../a', 'a.b', 'ä'])
      assert.equal(await create(bad), 'bad-queue-name', bad)
    assert.equal(await create('a', { fifo: true }), 'bad-queue-name')
    assert.equal(await create('a.fifo'), 'ok')
    const place = { account: 'a/b', region: 'r', name: 'x' }
    assert.equal(await code(scene, scene.broker.create(place)), 'bad-queue-name')
  })

  test('has dead letters that go elsewhere, and to its own kind', async () => {
    await using scene = await Scene.open()
    const create = (name: string, deadLetterQueue: string) =>
      code(scene, scene.broker.create(nameOf(name), { deadLetterQueue }))
    assert.equal(await create('a', 'a'), 'bad-queue-config')
    assert.equal(await create('a', 'b.fifo'), 'bad-queue-config')
    assert.equal(await create('a', 'b'), 'ok')
    assert.deepEqual(
      scene.broker.deadLetterSources(nameOf('b')).map(({ name }) => name.name),
      ['a'],
    )
  })

  test('has tags, so many at most', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    const tags = Object.fromEntries(
      Array.from({ length: QUEUE_TAGS_MAX }, (_, n) => [`k${n}`, 'v']),
    )
    assert.equal(await code(scene, scene.broker.tag(queue, { set: tags })), 'ok')
    assert.equal(
      await code(scene, scene.broker.tag(queue, { set: { more: 'v' } })),
      'bad-queue-config',
    )
    await scene.earth.until(scene.broker.tag(queue, { set: { k0: 'w' }, unset: ['k1'] }))
    await scene.crash()
    const info = sure(scene.broker.describe(queue))
    assert.deepEqual([info.tags['k0'], info.tags['k1']], ['w', undefined])
  })

  test('of another account or region is another one', async () => {
    await using scene = await Scene.open()
    const places: readonly QueueName[] = [
      { account: '1', region: 'r', name: 'q' },
      { account: '2', region: 'r', name: 'q' },
      { account: '1', region: 's', name: 'q' },
    ]
    for (const place of places) sure(await scene.earth.until(scene.broker.create(place)))
    await scene.send(places[0]!, 'x')
    assert.deepEqual(await scene.bodies(places[1]!), [])
    assert.deepEqual(await scene.bodies(places[0]!), ['x'])
    assert.equal(scene.broker.list({ account: '1', region: 'r' }).length, 1)
  })

  test('is listed by name, from where one was', async () => {
    await using scene = await Scene.open()
    for (const name of ['b', 'ab', 'aa', 'c']) await scene.queue(name)
    const { account, region } = nameOf('')
    const list = (page?: Readonly<{ prefix?: string; after?: string; limit?: number }>) =>
      scene.broker.list({ account, region }, page).map(({ name }) => name.name)
    assert.deepEqual(list(), ['aa', 'ab', 'b', 'c'])
    assert.deepEqual(list({ prefix: 'a' }), ['aa', 'ab'])
    assert.deepEqual(list({ after: 'ab', limit: 1 }), ['b'])
  })

  test('that is deleted tells who waits, and leaves nothing on disk', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { dedupWindowMs: 1_000 })
    await scene.send(queue, { body: 'x', dedupId: 'd' }, 'y')
    await scene.receive(queue)
    const waiting = scene.broker.receive(queue, { max: 1, waitMs: 60_000 })
    await scene.earth.advance(2_000)
    sure(await scene.earth.until(scene.broker.delete(queue)))
    assert.equal(await code(scene, waiting), 'queue-deleted')
    assert.equal(await code(scene, scene.broker.stats(queue)), 'no-such-queue')
    await scene.earth.advance(10)
    for (const collection of ['broker-m-1', 'broker-r-1', 'broker-d-1'])
      assert.deepEqual(await scene.earth.until(scene.journal.readRecords(collection, '')), [])
    await scene.queue('a')
    assert.deepEqual(await scene.content(queue), [])
    assert.ok(
      !scene.earth.trace.some(({ actor, type }) => type === 'stopped' && actor === '/queues'),
    )
  })

  test('that is being deleted when the power fails is deleted afterwards', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.send(queue, 'x')
    sure(await scene.earth.until(scene.broker.delete(queue)))
    await scene.crash()
    await scene.earth.advance(10)
    assert.equal(await code(scene, scene.broker.stats(queue)), 'no-such-queue')
    assert.deepEqual(await scene.earth.until(scene.journal.readRecords('broker-m-1', '')), [])
    assert.equal(scene.broker.metrics().queues, 0)
  })

  test('changes only if that is durable', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    for (const refusal of ['read-only', 'unknown-outcome']) {
      scene.refusals.push(refusal)
      assert.notEqual(await code(scene, scene.broker.update(queue, { visibilityMs: 5 })), 'ok')
      assert.equal(sure(scene.broker.describe(queue)).config.visibilityMs, 30_000)
    }
    scene.refusals.push('unknown-but-there')
    assert.equal(await code(scene, scene.broker.delete(queue)), 'ok')
    scene.refusals.push('read-only')
    assert.equal(await code(scene, scene.broker.create(nameOf('b'))), 'store-read-only')
    assert.equal(await code(scene, scene.broker.create(nameOf('b'))), 'ok')
  })

  test('that cannot be read says so, and is read when it can be', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.send(queue, 'x')
    scene.readTrouble = 'damaged'
    scene.readTroubleOf = 'broker-m-'
    await scene.restart()
    for (const asking of [
      scene.broker.send(queue, [{ body: 'y' }]).then(([answer]) => answer),
      scene.broker.receive(queue, { max: 1 }),
      scene.broker.purge(queue),
      scene.broker.stats(queue),
      scene.broker.moveTasks(queue),
      scene.broker.redrive(queue),
    ])
      assert.equal(await code(scene, asking), 'unreadable')
    scene.readTrouble = undefined
    assert.equal(await code(scene, scene.broker.stats(queue)), 'unreadable')
    await scene.earth.advance(LOAD_RETRY_MS)
    assert.deepEqual(await scene.bodies(queue), ['x'])
  })
})

describe('a broker', () => {
  test('sees after a start to what is due in queues that nobody asks', async () => {
    await using scene = await Scene.open()
    const late = await scene.queue('late', { retentionMs: 5_000 })
    await scene.queue('empty')
    const often = await scene.queue('often', { maxReceives: 1, deadLetterQueue: 'dead' })
    await scene.send(late, 'old')
    await scene.send(often, 'x')
    await scene.receive(often)
    await scene.earth.advance(2_000) // its count is on record
    await scene.crash()
    await scene.earth.advance(5_000)
    const left = async (id: number): Promise<number> =>
      (await scene.earth.until(scene.journal.readRecords(`broker-m-${id}`, ''))).length
    assert.deepEqual([await left(1), await left(3), await left(4)], [0, 0, 1])
    assert.equal(scene.broker.metrics().awakeQueues, 3) // late, often and its dead letters
  })

  test('whose fence was taken by another says so to everybody, and writes no more', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.send(queue, 'x')
    const waiting = scene.broker.receive(await scene.queue('b'), { max: 1, waitMs: 60_000 })
    await scene.earth.until(scene.journal.takeFence('broker'))
    assert.equal(
      await code(
        scene,
        scene.broker.send(queue, [{ body: 'y' }]).then(([a]) => a),
      ),
      'broker-closed',
    )
    assert.equal(await code(scene, waiting), 'broker-closed')
    assert.equal(await code(scene, scene.broker.create(nameOf('c'))), 'broker-closed')
    assert.equal(await code(scene, scene.broker.receive(queue, { max: 1 })), 'broker-closed')
  })

  test('that closes lets what was begun become durable, and takes nothing more', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.send(queue, 'x')
    const [held] = await scene.receive(queue)
    const waiting = scene.broker.receive(queue, { max: 1, waitMs: 60_000 })
    scene.hold()
    const deleting = scene.broker.settle(queue, [{ type: 'delete', receipt: held!.receipt }])
    await scene.earth.advance(1)
    const closing = scene.broker.close()
    assert.equal(
      await code(
        scene,
        scene.broker.send(queue, [{ body: 'y' }]).then(([a]) => a),
      ),
      'broker-closed',
    )
    scene.release()
    await scene.earth.until(closing)
    assert.deepEqual(await scene.earth.until(deleting), [{ ok: true, effective: true }])
    assert.equal(await code(scene, waiting), 'broker-closed')
    await scene.start()
    assert.deepEqual(await scene.content(queue), [])
  })

  test('that cannot begin leaves nothing behind', async () => {
    await using scene = await Scene.open()
    await scene.earth.until(scene.broker.close())
    scene.readTrouble = 'damaged'
    const { system } = scene.earth
    await assert.rejects(scene.earth.until(createBroker({ system, journal: scene.journal })))
    scene.readTrouble = undefined
    await scene.start()
  })

  test('has a secret of its own, the same after every start', async () => {
    await using scene = await Scene.open()
    const { secret } = scene.broker
    assert.ok(secret.length > 20)
    await scene.crash()
    assert.equal(scene.broker.secret, secret)
  })

  test('counts what happens, over all queues', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { maxReceives: 1, deadLetterQueue: 'dead' })
    await scene.send(queue, 'a', 'b')
    const [a, b] = await scene.receive(queue)
    await scene.settle(
      queue,
      { type: 'delete', receipt: a!.receipt },
      { type: 'nack', receipt: b!.receipt },
    )
    const { queues, sent, received, deleted, nacked, deadLettered } = scene.broker.metrics()
    assert.deepEqual(
      { queues, sent, received, deleted, nacked, deadLettered },
      { queues: 2, sent: 2, received: 2, deleted: 1, nacked: 1, deadLettered: 1 },
    )
  })
})
