import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { nameOf, Scene, sure } from '../../test/broker/scene.ts'
import { isFault } from '../std/index.ts'
import type { MoveTask, QueueName, RedriveOptions } from './broker.ts'
import { BROKER_BATCH_MAX, MOVE_TASKS_MAX } from './limits.ts'

const DEAD = nameOf('dead')

/** A queue, and so many of its dead letters. */
async function withDead(scene: Scene, bodies: readonly string[]): Promise<QueueName> {
  const queue = await scene.queue('a', { maxReceives: 1, deadLetterQueue: 'dead' })
  for (let n = 0; n < bodies.length; n += 100) {
    await scene.send(queue, ...bodies.slice(n, n + 100))
    const held = await scene.receive(queue, 100)
    const items = held.map(({ receipt }) => ({ type: 'reject', receipt, reason: 'r' }) as const)
    await scene.settle(queue, ...items)
  }
  return queue
}

async function redrive(scene: Scene, options: RedriveOptions = {}): Promise<MoveTask> {
  return sure(await scene.earth.until(scene.broker.redrive(DEAD, options)))
}

async function tasks(scene: Scene): Promise<readonly MoveTask[]> {
  return sure(await scene.earth.until(scene.broker.moveTasks(DEAD)))
}

describe('a redrive', () => {
  test('takes dead letters back to where they died, in order, as if they had not been received', async () => {
    await using scene = await Scene.open()
    const queue = await withDead(scene, ['a', 'b', 'c'])
    const { toMove, state } = await redrive(scene)
    assert.deepEqual([toMove, state], [3, 'running'])
    await scene.earth.advance(10)
    const [task] = await tasks(scene)
    assert.deepEqual([task?.state, task?.moved], ['completed', 3])
    const back = await scene.receive(queue)
    assert.deepEqual(
      back.map(({ body, receives }) => [body, receives]),
      [
        ['a', 1],
        ['b', 1],
        ['c', 1],
      ],
    )
    assert.deepEqual(
      back[0]!.failures.map(({ reason }) => reason),
      ['r'],
    )
    assert.deepEqual(await scene.content(DEAD), [])
  })

  test('takes those that are named, or those that have something in them, or moves them elsewhere', async () => {
    await using scene = await Scene.open()
    const queue = await withDead(scene, ['apple', 'pear', 'plum', 'fig'])
    const { messages } = sure(await scene.earth.until(scene.broker.browse(DEAD, { limit: 9 })))
    await redrive(scene, { ids: [messages[3]!.messageId, 'nonsense'] })
    await scene.earth.advance(10)
    assert.deepEqual(await scene.content(queue), ['ready fig'])
    await redrive(scene, { search: 'pl' })
    await scene.earth.advance(10)
    assert.deepEqual(await scene.content(queue), ['ready fig', 'ready apple', 'ready plum'])
    const other = await scene.queue('other')
    await redrive(scene, { to: other })
    await scene.earth.advance(10)
    assert.deepEqual(await scene.content(other), ['ready pear'])
  })

  test('keeps to its rate', async () => {
    await using scene = await Scene.open()
    await withDead(
      scene,
      Array.from({ length: 50 }, (_, n) => `${n}`),
    )
    await redrive(scene, { ratePerSecond: 5 })
    await scene.earth.advance(2_000)
    const [task] = await tasks(scene)
    assert.ok(task!.moved >= 10 && task!.moved <= 11, `${task!.moved} moved`)
    await scene.earth.advance(10_000)
    assert.equal((await tasks(scene))[0]?.state, 'completed')
  })

  test('goes on after a crash, and its count is right', async () => {
    await using scene = await Scene.open()
    const queue = await withDead(
      scene,
      Array.from({ length: 30 }, (_, n) => `${n}`),
    )
    const { handle } = await redrive(scene, { ratePerSecond: 10 })
    await scene.earth.advance(1_000)
    await scene.crash()
    const [halfway] = await tasks(scene)
    assert.equal(halfway?.state, 'running')
    assert.ok(halfway.moved >= 10 && halfway.moved <= 12)
    await scene.earth.advance(5_000)
    const [task] = await tasks(scene)
    assert.deepEqual([task?.handle, task?.state, task?.moved], [handle, 'completed', 30])
    assert.equal((await scene.content(queue)).length, 30)
    await scene.crash()
    assert.deepEqual(await tasks(scene), [task])
  })

  test('can be cancelled, once', async () => {
    await using scene = await Scene.open()
    await withDead(scene, ['a', 'b', 'c'])
    const { handle } = await redrive(scene, { ratePerSecond: 1 })
    await scene.earth.advance(10)
    const cancelled = sure(await scene.earth.until(scene.broker.cancelMoveTask(handle)))
    assert.equal(cancelled.state, 'cancelling')
    await scene.earth.advance(2_000)
    assert.deepEqual(
      (await tasks(scene)).map(({ state, moved }) => [state, moved]),
      [['cancelled', 1]],
    )
    for (const unknown of [handle, 'nonsense']) {
      const answer = await scene.earth.until(scene.broker.cancelMoveTask(unknown))
      assert.ok(isFault(answer) && answer.code === 'no-such-task')
    }
  })

  test('is one at a time', async () => {
    await using scene = await Scene.open()
    await withDead(scene, ['a', 'b'])
    await redrive(scene, { ratePerSecond: 1 })
    const second = await scene.earth.until(scene.broker.redrive(DEAD))
    assert.ok(isFault(second) && second.code === 'task-running')
  })

  test('says that it has failed where messages have nowhere to go', async () => {
    await using scene = await Scene.open()
    const queue = await withDead(scene, ['a'])
    sure(await scene.earth.until(scene.broker.delete(queue)))
    await redrive(scene)
    await scene.earth.advance(10)
    const [task] = await tasks(scene)
    assert.deepEqual([task?.state, task?.moved], ['failed', 0])
    assert.deepEqual(await scene.content(DEAD), ['ready a'])
  })

  test('says that it has failed where the store refuses, and nothing is lost', async () => {
    await using scene = await Scene.open()
    await withDead(scene, ['a'])
    scene.refusals.push(undefined, 'read-only')
    await redrive(scene)
    await scene.earth.advance(2_000)
    assert.equal((await tasks(scene))[0]?.state, 'failed')
    assert.deepEqual(await scene.content(DEAD), ['ready a'])
  })

  test('is refused where it makes no sense', async () => {
    await using scene = await Scene.open()
    await withDead(scene, ['a'])
    const code = async (options: RedriveOptions): Promise<string> => {
      const answer = await scene.earth.until(scene.broker.redrive(DEAD, options))
      return isFault(answer) ? answer.code : 'ok'
    }
    assert.equal(await code({ to: nameOf('none') }), 'no-such-queue')
    assert.equal(await code({ to: DEAD }), 'bad-message')
    assert.equal(await code({ ratePerSecond: 0 }), 'bad-message')
    const ids = Array.from({ length: BROKER_BATCH_MAX + 1 }, () => 'x')
    assert.equal(await code({ ids }), 'bad-message')
    assert.equal(await code({ ids: ids.slice(1) }), 'ok')
    const none = await scene.earth.until(scene.broker.redrive(nameOf('none')))
    assert.ok(isFault(none) && none.code === 'no-such-queue')
  })

  test('is remembered with the last so many', async () => {
    await using scene = await Scene.open()
    await withDead(scene, ['a'])
    for (let n = 0; n < MOVE_TASKS_MAX + 3; n++) {
      await redrive(scene, { search: 'nothing has this' })
      await scene.earth.advance(5)
    }
    const before = await tasks(scene)
    assert.equal(before.length, MOVE_TASKS_MAX)
    await scene.crash()
    assert.deepEqual(await tasks(scene), before)
  })
})
