import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { nameOf, Scene, sure } from '../../test/broker/scene.ts'
import { isFault } from '../std/index.ts'
import type { BrowseOptions, QueueName } from './broker.ts'

async function browse(scene: Scene, queue: QueueName, options: BrowseOptions) {
  return sure(await scene.earth.until(scene.broker.browse(queue, options)))
}

describe('browsing', () => {
  test('shows each message in its state, and changes nothing', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.send(queue, 'held', 'ready', { body: 'later', delayMs: 1_000 })
    await scene.receive(queue, 1)
    const before = scene.batches.length
    assert.deepEqual(await scene.content(queue), ['leased held', 'ready ready', 'delayed later'])
    assert.equal(scene.batches.length, before)
    assert.equal((await scene.receive(queue))[0]?.receives, 1)
  })

  test('goes on where it was, page by page, whatever happens in between', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    const all = Array.from({ length: 250 }, (_, n) => `${n}`)
    await scene.send(queue, ...all)
    const seen: string[] = []
    for (let after: number | undefined; ;) {
      const page = await browse(scene, queue, { limit: 20, ...(after !== undefined && { after }) })
      seen.push(...page.messages.map(({ body }) => body))
      if (page.next === undefined) break
      after = page.next
      const [gone] = await scene.receive(queue, 1)
      await scene.settle(queue, { type: 'delete', receipt: gone!.receipt })
    }
    assert.deepEqual(seen, all)
  })

  test('finds what has something in it, and what is in a state', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    const attributes = { colour: { type: 'String', text: 'green' } }
    await scene.send(queue, 'apple', { body: 'pear', attributes }, { body: 'plum', delayMs: 10 })
    const bodies = async (options: Omit<BrowseOptions, 'limit'>) =>
      (await browse(scene, queue, { limit: 9, ...options })).messages.map(({ body }) => body)
    assert.deepEqual(await bodies({ search: 'green' }), ['pear'])
    assert.deepEqual(await bodies({ search: 'p', state: 'delayed' }), ['plum'])
  })

  test('of an empty queue, and of none', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    assert.deepEqual(await browse(scene, queue, { limit: 1 }), { ok: true, messages: [] })
    for (const answer of [
      await scene.earth.until(scene.broker.browse(nameOf('none'), { limit: 1 })),
      await scene.earth.until(scene.broker.get(nameOf('none'), 'x')),
    ])
      assert.ok(isFault(answer) && answer.code === 'no-such-queue')
  })
})

describe('a message', () => {
  test('is had by its id, also where it was moved to', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { deadLetterQueue: 'dead' })
    const [sent] = await scene.send(queue, 'x')
    assert.ok(sent?.ok)
    const get = (from: QueueName, id: string) => scene.earth.until(scene.broker.get(from, id))
    const found = await get(queue, sent.messageId)
    assert.ok(found !== undefined && !isFault(found) && found.body === 'x')
    const [held] = await scene.receive(queue)
    await scene.settle(queue, { type: 'reject', receipt: held!.receipt })
    assert.equal(await get(queue, sent.messageId), undefined)
    const dead = await get(nameOf('dead'), sent.messageId)
    assert.ok(dead !== undefined && !isFault(dead) && dead.messageId === sent.messageId)
    assert.equal(await get(queue, 'nonsense'), undefined)
  })
})
