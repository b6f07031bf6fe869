import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { nameOf, Scene, sure } from '../../test/broker/scene.ts'
import { isFault } from '../std/index.ts'
import {
  BROKER_BATCH_MAX,
  DELAY_MS_MAX,
  FAILURE_REASON_CHARS_MAX,
  FAILURES_MAX,
  VISIBILITY_MS_MAX,
} from './limits.ts'

function said(answer: unknown): string {
  if (isFault(answer)) return answer.code
  return (answer as { effective: boolean }).effective ? 'effective' : 'idle'
}

async function held(scene: Scene, config = {}, ...bodies: readonly string[]) {
  const queue = await scene.queue('a', config)
  await scene.send(queue, ...(bodies.length > 0 ? bodies : ['x']))
  return { queue, deliveries: await scene.receive(queue) }
}

describe('a delete', () => {
  test('is answered when it is durable, and the message never comes back', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene)
    assert.deepEqual(
      (await scene.settle(queue, { type: 'delete', receipt: deliveries[0]!.receipt })).map(said),
      ['effective'],
    )
    await scene.crash()
    assert.deepEqual(await scene.content(queue), [])
  })

  test('twice is one, and the second is not said before the first is durable', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene)
    const item = { type: 'delete', receipt: deliveries[0]!.receipt } as const
    scene.hold()
    const both = [1, 2].map(() => scene.broker.settle(queue, [item]))
    let isAnswered = false
    void both[1]!.then(() => (isAnswered = true))
    await scene.earth.advance(100)
    assert.equal(isAnswered, false)
    scene.release()
    const answers = await scene.earth.until(Promise.all(both))
    assert.deepEqual(answers.flat().map(said), ['effective', 'idle'])
  })

  test('that cannot be written leaves the delivery to who has it', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene)
    const item = { type: 'delete', receipt: deliveries[0]!.receipt } as const
    scene.refusals.push('read-only')
    assert.deepEqual((await scene.settle(queue, item)).map(said), ['store-read-only'])
    assert.deepEqual(await scene.bodies(queue), [])
    assert.deepEqual((await scene.settle(queue, item)).map(said), ['effective'])
  })

  test('after the lease has ended works as long as nobody else has it', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene, { visibilityMs: 100 })
    await scene.earth.advance(100)
    const [other] = await scene.receive(queue)
    const late = { type: 'delete', receipt: deliveries[0]!.receipt } as const
    assert.deepEqual((await scene.settle(queue, late)).map(said), ['idle'])
    await scene.settle(queue, { type: 'release', receipt: other!.receipt })
    assert.deepEqual((await scene.settle(queue, late)).map(said), ['effective'])
    assert.deepEqual(await scene.content(queue), [])
  })

  test('by a receipt of before a crash works as well', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene, {}, 'a', 'b', 'c')
    await scene.crash()
    const late = { type: 'delete', receipt: deliveries[1]!.receipt } as const
    assert.deepEqual((await scene.settle(queue, late)).map(said), ['effective'])
    assert.deepEqual(await scene.content(queue), ['ready a', 'ready c'])
  })

  test('of a FIFO queue is refused once the lease has ended', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a.fifo', { contentDedup: true, visibilityMs: 100 })
    await scene.send(queue, { body: 'x', group: 'g' })
    const [old] = await scene.receive(queue)
    await scene.earth.advance(100)
    const late = { type: 'delete', receipt: old!.receipt } as const
    assert.deepEqual((await scene.settle(queue, late)).map(said), ['stale-receipt'])
    await scene.crash()
    assert.deepEqual((await scene.settle(queue, late)).map(said), ['stale-receipt'])
  })

  test('by a receipt of another queue is refused', async () => {
    await using scene = await Scene.open()
    const { deliveries } = await held(scene)
    const other = await scene.queue('other')
    const item = { type: 'delete', receipt: deliveries[0]!.receipt } as const
    assert.deepEqual((await scene.settle(other, item)).map(said), ['bad-receipt'])
  })

  test('is one of so many at most', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene)
    const item = { type: 'delete', receipt: deliveries[0]!.receipt } as const
    const many = Array.from({ length: BROKER_BATCH_MAX }, () => item)
    assert.equal((await scene.settle(queue, ...many)).map(said).includes('bad-message'), false)
    assert.deepEqual(
      [...new Set((await scene.settle(queue, ...many, item)).map(said))],
      ['bad-message'],
    )
  })
})

describe('a nack', () => {
  test('gives the message back to its old place, with what went wrong', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene, {}, 'a', 'b')
    const [a, b] = deliveries
    await scene.settle(queue, { type: 'release', receipt: b!.receipt })
    const nack = {
      type: 'nack',
      receipt: a!.receipt,
      reason: 'r'.repeat(300),
      consumer: 'me',
    } as const
    assert.deepEqual((await scene.settle(queue, nack)).map(said), ['effective'])
    const again = await scene.receive(queue)
    assert.deepEqual(
      again.map(({ body, receives }) => [body, receives]),
      [
        ['a', 2],
        ['b', 1],
      ],
    )
    const [failure] = again[0]!.failures
    assert.equal(failure?.reason.length, FAILURE_REASON_CHARS_MAX)
    assert.equal(failure.consumer, 'me')
  })

  test('is seen again after its delay, also if there is a crash in between', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene)
    const nack = { type: 'nack', receipt: deliveries[0]!.receipt, delayMs: 5_000 } as const
    await scene.settle(queue, nack)
    await scene.earth.advance(3_000)
    await scene.crash()
    assert.deepEqual(await scene.bodies(queue), [])
    await scene.earth.advance(2_000)
    const [again] = await scene.receive(queue)
    assert.equal(again?.receives, 2)
  })

  test('has a pause that grows with every failure, up to a limit', async () => {
    await using scene = await Scene.open()
    const backoff = { baseMs: 100, factor: 3, maxMs: 500, jitter: 0 }
    const queue = await scene.queue('a', { backoff, maxReceives: Infinity })
    await scene.send(queue, 'x')
    const pauses: number[] = []
    for (let n = 0; n < 4; n++) {
      const [own] = await scene.receive(queue, 1, { waitMs: 60_000 })
      const at = scene.earth.clock.monotonic()
      await scene.settle(queue, { type: 'nack', receipt: own!.receipt })
      const [next] = await scene.receive(queue, 1, { waitMs: 60_000 })
      pauses.push(scene.earth.clock.monotonic() - at)
      await scene.settle(queue, { type: 'release', receipt: next!.receipt })
    }
    assert.deepEqual(pauses, [100, 300, 500, 500])
  })

  test('remembers the last so many failures', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { maxReceives: Infinity })
    await scene.send(queue, 'x')
    for (let n = 0; n < FAILURES_MAX + 3; n++) {
      const [own] = await scene.receive(queue)
      await scene.settle(queue, { type: 'nack', receipt: own!.receipt, reason: `${n}` })
    }
    const [last] = await scene.receive(queue)
    assert.deepEqual(
      last!.failures.map(({ reason }) => Number(reason)),
      [3, 4, 5, 6, 7, 8, 9, 10],
    )
  })

  test('of a delivery that is over is refused', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene, { visibilityMs: 100 })
    await scene.earth.advance(100)
    const late = { type: 'nack', receipt: deliveries[0]!.receipt } as const
    assert.deepEqual((await scene.settle(queue, late)).map(said), ['not-in-flight'])
    await scene.receive(queue)
    assert.deepEqual((await scene.settle(queue, late)).map(said), ['stale-receipt'])
  })

  test('may be put off so long, and no longer', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene)
    const nack = { type: 'nack', receipt: deliveries[0]!.receipt } as const
    const past = { ...nack, delayMs: DELAY_MS_MAX + 1 }
    assert.deepEqual((await scene.settle(queue, past)).map(said), ['bad-message'])
    const at = { ...nack, delayMs: DELAY_MS_MAX }
    assert.deepEqual((await scene.settle(queue, at)).map(said), ['effective'])
  })

  test('is not forgotten in a crash: what comes back has its count on record', async () => {
    await using scene = await Scene.open()
    const { queue } = await held(scene, {
      maxReceives: 3,
      deadLetterQueue: 'dead',
      visibilityMs: 1,
    })
    for (let n = 0; n < 2; n++) {
      await scene.earth.advance(1)
      const [own] = await scene.receive(queue)
      assert.equal(own?.receives, n + 2)
    }
    await scene.earth.advance(10)
    await scene.crash()
    await scene.earth.advance(10)
    assert.deepEqual(await scene.content(queue), [])
    assert.equal((await scene.receive(nameOf('dead')))[0]?.failures.length, 3)
  })
})

describe('a release', () => {
  test('does not count, and gives the message back at once', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene)
    await scene.earth.advance(2_000) // its count has been written
    await scene.settle(queue, { type: 'release', receipt: deliveries[0]!.receipt })
    assert.deepEqual(
      (await scene.receive(queue)).map(({ receives }) => receives),
      [1],
    )
  })
})

describe('an extension', () => {
  test('hides the message from then on, longer or shorter', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene, { visibilityMs: 1_000 })
    const { receipt } = deliveries[0]!
    await scene.earth.advance(900)
    await scene.settle(queue, { type: 'extend', receipt, visibilityMs: 1_000 })
    await scene.earth.advance(999)
    assert.deepEqual(await scene.bodies(queue), [])
    await scene.settle(queue, { type: 'extend', receipt, visibilityMs: 5 })
    await scene.earth.advance(5)
    assert.deepEqual(await scene.bodies(queue), ['x'])
  })

  test('by nothing gives it back', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene)
    const { receipt } = deliveries[0]!
    await scene.settle(queue, { type: 'extend', receipt, visibilityMs: 0 })
    assert.deepEqual(
      (await scene.receive(queue)).map(({ receives }) => receives),
      [2],
    )
  })

  test('makes no lease longer than twelve hours in all', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene)
    const { receipt } = deliveries[0]!
    const extend = async (visibilityMs: number): Promise<string> =>
      said((await scene.settle(queue, { type: 'extend', receipt, visibilityMs }))[0])
    assert.equal(await extend(VISIBILITY_MS_MAX + 1), 'bad-message')
    assert.equal(await extend(VISIBILITY_MS_MAX), 'effective')
    await scene.earth.advance(10_000)
    assert.equal(await extend(VISIBILITY_MS_MAX), 'bad-message')
    assert.equal(await extend(VISIBILITY_MS_MAX - 10_000 + 1), 'bad-message')
    assert.equal(await extend(VISIBILITY_MS_MAX - 10_000), 'effective')
  })
})

describe('a reject', () => {
  test('moves the message to the dead letters at once, and says why', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene, { deadLetterQueue: 'dead' })
    const item = { type: 'reject', receipt: deliveries[0]!.receipt, reason: 'poison' } as const
    assert.deepEqual((await scene.settle(queue, item)).map(said), ['effective'])
    const [letter] = await scene.receive(nameOf('dead'))
    assert.deepEqual(
      letter!.failures.map(({ reason }) => reason),
      ['poison'],
    )
  })

  test('is refused where there are no dead letters', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene)
    const item = { type: 'reject', receipt: deliveries[0]!.receipt } as const
    assert.deepEqual((await scene.settle(queue, item)).map(said), ['no-dead-letters'])
    assert.equal(sure(await scene.earth.until(scene.broker.stats(queue))).leased, 1)
  })
})

describe('a count', () => {
  test('is written a second after the delivery if nothing else is, and goes with the message', async () => {
    await using scene = await Scene.open()
    const { queue, deliveries } = await held(scene)
    const notes = async (): Promise<readonly string[]> =>
      (await scene.earth.until(scene.journal.readRecords('broker-r-1', ''))).map(
        ({ value }) => value,
      )
    await scene.earth.advance(999)
    assert.deepEqual(await notes(), [])
    await scene.earth.advance(10)
    assert.deepEqual(
      (await notes()).map((value) => (JSON.parse(value) as { n: number }).n),
      [1],
    )
    await scene.settle(queue, { type: 'delete', receipt: deliveries[0]!.receipt })
    assert.deepEqual(await notes(), [])
  })

  test('rides with what is written before, if the delivery has lasted', async () => {
    await using scene = await Scene.open()
    const { queue } = await held(scene)
    await scene.earth.advance(200)
    scene.batches.length = 0
    await scene.send(queue, 'y')
    assert.deepEqual(
      scene.batches[0]?.records?.map(({ collection }) => collection),
      ['broker-m-1', 'broker-r-1'],
    )
  })

  test('is written when the broker closes', async () => {
    await using scene = await Scene.open()
    const { queue } = await held(scene)
    await scene.restart()
    assert.equal((await scene.receive(queue))[0]?.receives, 2)
  })
})
