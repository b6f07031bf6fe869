/** Queues beside each other: where nothing happens, and where too much does. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { QueueName } from '../../src/broker/index.ts'
import { nameOf, Scene, sure } from './scene.ts'

const QUEUES = 10_000
const HOUR_MS = 3_600_000
const QUEUE_BYTES_MAX = 16_384

test('ten thousand idle queues take no turn in an hour, awake or asleep, and little memory', async (t) => {
  await using scene = await Scene.open({ freeze: false, stepsMax: 10 ** 9 })
  const names = Array.from({ length: QUEUES }, (_, n) => nameOf(`q${n}`))
  await scene.earth.until(Promise.all(names.map((name) => scene.broker.create(name))))
  const before = used()
  const asked = names.map((name) => scene.broker.stats(name))
  for (const stats of await scene.earth.until(Promise.all(asked))) sure(stats)
  assert.equal(scene.broker.metrics().awakeQueues, QUEUES)
  const bytes = (used() - before) / QUEUES
  t.diagnostic(`${bytes.toFixed(0)} bytes for each queue that is awake`)
  assert.ok(bytes <= QUEUE_BYTES_MAX)

  assert.equal(await turnsInAnHour(scene), 0)

  await scene.restart()
  assert.equal(await turnsInAnHour(scene), 0)
  assert.equal(scene.broker.metrics().awakeQueues, 0)
})

function used(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Who asked has had the answer, and the deadlines of that have passed, before it begins. */
async function turnsInAnHour(scene: Scene): Promise<number> {
  await scene.earth.advance(HOUR_MS)
  const before = scene.earth.steps
  await scene.earth.advance(HOUR_MS)
  return scene.earth.steps - before
}

test('a queue with ten thousand calls in its mail takes one turn for each of another one', async (t) => {
  await using scene = await Scene.open({ freeze: false, stepsMax: 10 ** 9, order: 'arrival' })
  const [loud, own] = [await scene.queue('loud'), await scene.queue('own')]
  await scene.send(loud, 'x')
  await pings(scene, own)
  const alone = p99(await pings(scene, own))
  const flood: Promise<unknown>[] = []
  for (let n = 0; n < 10_000; n++) {
    flood.push(scene.broker.send(loud, [{ body: 'x' }]))
    if (n % 4 === 0) flood.push(scene.broker.receive(loud, { max: 10 }))
  }
  const beside = p99(await pings(scene, own))
  const { ready } = sure(await scene.earth.until(scene.broker.stats(own)))
  t.diagnostic(`p99 of a send and a receive: ${alone} turns alone, ${beside} beside the flood`)
  assert.equal(ready, 0)
  // And one more while each of the two answers is on its way.
  assert.ok(beside <= 2 * alone + 2)
  await scene.earth.until(Promise.all(flood))
})

/** Sends and receives, one after the other; how many turns each took. */
async function pings(scene: Scene, queue: QueueName): Promise<number[]> {
  const took: number[] = []
  for (let n = 0; n < 100; n++) {
    const before = scene.earth.steps
    await scene.send(queue, 'ping')
    const [got] = await scene.receive(queue, 1, { waitMs: 1_000 })
    took.push(scene.earth.steps - before)
    await scene.settle(queue, { type: 'delete', receipt: got!.receipt })
  }
  return took
}

function p99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)]!
}
