import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Scene, sure } from '../../test/broker/scene.ts'
import { isFault } from '../std/index.ts'
import { PURGE_PAUSE_MS } from './limits.ts'

describe('a purge', () => {
  test('takes everything that nobody holds, in parts, and says how many', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    const all = Array.from({ length: 1_000 }, (_, n) => `${n}`)
    for (let n = 0; n < 3; n++) await scene.send(queue, ...all)
    await scene.send(queue, { body: 'later', delayMs: 10_000 })
    const [held] = await scene.receive(queue, 1)
    scene.batches.length = 0
    const answer = sure(await scene.earth.until(scene.broker.purge(queue)))
    assert.equal(answer.purged, 3_000)
    assert.ok(scene.batches.length >= 3)
    assert.deepEqual(await scene.content(queue), [`leased ${held!.body}`])
    await scene.crash()
    assert.deepEqual(await scene.content(queue), [`ready ${held!.body}`])
  })

  test('takes what is held as well if it is told to', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.send(queue, 'a', 'b')
    const [held] = await scene.receive(queue, 1)
    const purging = scene.broker.purge(queue, { includeLeased: true })
    assert.equal(sure(await scene.earth.until(purging)).purged, 2)
    const [late] = await scene.settle(queue, { type: 'delete', receipt: held!.receipt })
    assert.deepEqual(late, { ok: true, effective: false })
  })

  test('leaves what is sent after it has begun', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.send(queue, ...Array.from({ length: 1_000 }, () => 'x'))
    await scene.send(queue, 'x')
    scene.hold()
    const purging = scene.broker.purge(queue)
    await scene.earth.advance(1)
    const sending = scene.broker.send(queue, [{ body: 'new' }])
    await scene.earth.advance(1)
    scene.release()
    assert.equal(sure(await scene.earth.until(purging)).purged, 1_001)
    await scene.earth.until(sending)
    assert.deepEqual(await scene.content(queue), ['ready new'])
  })

  test('waits for what is about to go or to come back, and takes it if it stays', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { maxLength: 1, overflow: 'drop-oldest' })
    await scene.send(queue, 'a')
    scene.refusals.push('read-only')
    scene.hold()
    const sending = scene.broker.send(queue, [{ body: 'b' }])
    await scene.earth.advance(1)
    const purging = scene.broker.purge(queue)
    await scene.earth.advance(1)
    scene.release()
    assert.ok((await scene.earth.until(sending)).every((answer) => !answer.ok))
    assert.equal(sure(await scene.earth.until(purging)).purged, 1)
    assert.deepEqual(await scene.content(queue), [])
  })

  test('is refused so soon after another', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    const purge = () => scene.earth.until(scene.broker.purge(queue))
    sure(await purge())
    await scene.earth.advance(PURGE_PAUSE_MS - 1)
    const refused = await purge()
    assert.ok(isFault(refused) && refused.code === 'purge-in-progress')
    await scene.earth.advance(1)
    sure(await purge())
  })

  test('that cannot be written says so, and has taken nothing', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.send(queue, 'a')
    scene.refusals.push('read-only')
    const answer = await scene.earth.until(scene.broker.purge(queue))
    assert.ok(isFault(answer) && answer.code === 'store-read-only')
    assert.deepEqual(await scene.bodies(queue), ['a'])
  })
})
