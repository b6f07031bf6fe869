import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { nameOf, Scene, sure } from '../../test/broker/scene.ts'
import type { QueueName } from './broker.ts'
import type { QueueConfig } from './config.ts'
import { BURIAL_RETRY_MS } from './limits.ts'

const DEAD = nameOf('dead')

async function nackAll(scene: Scene, queue: QueueName, times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    const held = await scene.receive(queue, 100)
    const items = held.map(
      ({ receipt }) => ({ type: 'nack', receipt, reason: `try ${n}` }) as const,
    )
    await scene.settle(queue, ...items)
  }
  await scene.earth.advance(5)
}

function dying(scene: Scene, config: Partial<QueueConfig> = {}): Promise<QueueName> {
  return scene.queue('a', { maxReceives: 2, deadLetterQueue: 'dead', ...config })
}

describe('a dead letter', () => {
  test('has gone from one queue and come to the other in one batch, with all that it had', async () => {
    await using scene = await Scene.open()
    const queue = await dying(scene)
    const attributes = { a: { type: 'String', text: 'v' } }
    const [sent] = await scene.send(queue, { body: 'x', attributes, priority: 3, group: 'g' })
    await nackAll(scene, queue, 2)
    const batch = scene.batches.find(({ records }) =>
      records?.some(({ collection }) => collection === 'broker-m-2'),
    )
    assert.deepEqual(
      batch?.records?.map((record) => [record.collection, 'deleted' in record]),
      [
        ['broker-m-1', true],
        ['broker-m-2', false],
        ['broker-r-1', true],
      ],
    )
    const [letter] = await scene.receive(DEAD)
    assert.ok(sent?.ok)
    assert.equal(letter?.messageId, sent.messageId)
    assert.deepEqual(letter.attributes, attributes)
    assert.deepEqual([letter.priority, letter.group, letter.receives], [3, 'g', 1])
    assert.deepEqual(letter.deadLetterOf, queue)
    assert.deepEqual(
      letter.failures.map(({ reason }) => reason),
      ['try 0', 'try 1'],
    )
    await scene.crash()
    assert.deepEqual([await scene.content(queue), await scene.content(DEAD)], [[], ['ready x']])
  })

  test('dies of leases that end as well', async () => {
    await using scene = await Scene.open()
    const queue = await dying(scene, { visibilityMs: 10 })
    await scene.send(queue, 'x')
    for (let n = 0; n < 2; n++) {
      assert.equal((await scene.receive(queue)).length, 1)
      await scene.earth.advance(20)
    }
    const [letter] = await scene.receive(DEAD)
    assert.deepEqual(
      letter!.failures.map(({ reason }) => reason),
      ['the lease ended', 'the lease ended'],
    )
  })

  test('of a FIFO queue stands in the order of its group, also if texts are read from disk', async () => {
    await using scene = await Scene.open({ bodiesMax: 150 })
    const queue = await scene.queue('a.fifo', {
      maxReceives: 1,
      deadLetterQueue: 'dead.fifo',
      contentDedup: true,
    })
    const all = Array.from({ length: 10 }, (_, n) => ({ body: `${n}`, group: 'g' }))
    await scene.send(queue, ...all)
    await nackAll(scene, queue, 1)
    assert.deepEqual(
      await scene.bodies(nameOf('dead.fifo')),
      all.map(({ body }) => body),
    )
  })

  test('that cannot be moved is kept from everybody, and moved when it can be', async () => {
    await using scene = await Scene.open()
    const queue = await dying(scene, { maxReceives: 1 })
    await scene.queue('dead')
    await scene.send(queue, 'x')
    const [held] = await scene.receive(queue)
    scene.refusals.push('read-only')
    const [answer] = await scene.settle(queue, { type: 'nack', receipt: held!.receipt })
    assert.ok(answer?.ok === false && answer.code === 'store-read-only')
    assert.deepEqual(await scene.bodies(queue), [])
    await scene.earth.advance(BURIAL_RETRY_MS + 5)
    assert.deepEqual([await scene.content(queue), await scene.content(DEAD)], [[], ['ready x']])
  })

  test('finds its queue made anew if that was deleted', async () => {
    await using scene = await Scene.open()
    const queue = await dying(scene, { maxReceives: 1 })
    await scene.queue('dead')
    sure(await scene.earth.until(scene.broker.delete(DEAD)))
    await scene.send(queue, 'x')
    await nackAll(scene, queue, 1)
    assert.deepEqual(await scene.content(DEAD), ['ready x'])
  })

  test('is none where the queue has no queue for them: it is handed out again', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { maxReceives: 1 })
    await scene.send(queue, 'x')
    await nackAll(scene, queue, 5)
    assert.equal((await scene.receive(queue))[0]?.receives, 6)
  })

  test('is made of what was delivered often enough, when the queue is told a smaller number', async () => {
    await using scene = await Scene.open()
    const queue = await dying(scene, { maxReceives: 10 })
    await scene.send(queue, 'x')
    await nackAll(scene, queue, 3)
    await scene.earth.until(scene.broker.update(queue, { maxReceives: 3 }))
    assert.deepEqual(await scene.receive(queue), [])
    await scene.earth.advance(5)
    assert.deepEqual(await scene.content(DEAD), ['ready x'])
  })

  test('does not die again where it is', async () => {
    await using scene = await Scene.open()
    const queue = await dying(scene, { maxReceives: 1 })
    await scene.send(queue, 'x')
    await nackAll(scene, queue, 1)
    await nackAll(scene, DEAD, 20)
    assert.deepEqual(await scene.content(DEAD), ['ready x'])
  })
})

describe('a message that is too old', () => {
  test('is gone in time, without anybody asking, also after a restart', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { retentionMs: 1_000 })
    await scene.send(queue, 'x', { body: 'y', ttlMs: 100 })
    await scene.earth.advance(100)
    const rest = await scene.earth.until(scene.journal.readRecords('broker-m-1', ''))
    assert.equal(rest.length, 1)
    await scene.crash()
    await scene.earth.advance(900)
    assert.deepEqual(await scene.earth.until(scene.journal.readRecords('broker-m-1', '')), [])
  })

  test('is not taken from who holds it, and goes when it comes back', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { retentionMs: 100 })
    await scene.send(queue, 'x')
    const [held] = await scene.receive(queue)
    await scene.earth.advance(1_000)
    assert.deepEqual(await scene.content(queue), ['leased x'])
    await scene.settle(queue, { type: 'nack', receipt: held!.receipt })
    await scene.earth.advance(5)
    assert.deepEqual(await scene.content(queue), [])
  })

  test('goes to the dead letters where the queue says so', async () => {
    await using scene = await Scene.open()
    const queue = await dying(scene, { retentionMs: 100, onExpire: 'dead-letter' })
    await scene.send(queue, 'x')
    await scene.earth.advance(110)
    const [letter] = await scene.receive(DEAD)
    assert.deepEqual(
      letter!.failures.map(({ reason }) => reason),
      ['expired'],
    )
    assert.equal(sure(await scene.earth.until(scene.broker.stats(queue))).expired, 1)
  })

  test('goes later if it could not be deleted, and is not handed out meanwhile', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { retentionMs: 100 })
    await scene.send(queue, 'x')
    scene.refusals.push('read-only')
    await scene.earth.advance(110)
    assert.deepEqual(await scene.receive(queue), [])
    await scene.earth.advance(BURIAL_RETRY_MS)
    assert.deepEqual(await scene.content(queue), [])
  })

  test('is so earlier or later when the queue is told another age', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.send(queue, 'x', { body: 'y', ttlMs: 50_000 })
    await scene.earth.until(scene.broker.update(queue, { retentionMs: 100 }))
    await scene.earth.advance(50)
    await scene.earth.until(scene.broker.update(queue, { retentionMs: 1_000 }))
    await scene.earth.advance(100)
    assert.equal((await scene.content(queue)).length, 2)
    await scene.earth.advance(1_000)
    assert.deepEqual(await scene.content(queue), [])
  })
})
