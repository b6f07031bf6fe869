import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Scene, sure } from '../../test/broker/scene.ts'
import { isFault } from '../std/index.ts'
import { keyOf } from './message-id.ts'
import {
  PARKED_MAX,
  RECEIVE_BYTES_MAX,
  RECEIVE_MAX,
  VISIBILITY_MS_MAX,
  WAIT_MS_MAX,
} from './limits.ts'

describe('a receive', () => {
  test('gives the highest priority first, and the oldest of it', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.send(
      queue,
      { body: 'low', priority: 0 },
      { body: 'top 1', priority: 255 },
      { body: 'mid', priority: 9 },
      { body: 'top 2', priority: 255 },
    )
    assert.deepEqual(await scene.bodies(queue), ['top 1', 'top 2', 'mid', 'low'])
  })

  test('lets groups take turns', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    for (let n = 0; n < 5; n++) await scene.send(queue, { body: `loud ${n}`, group: 'loud' })
    await scene.send(queue, { body: 'quiet', group: 'quiet' })
    assert.deepEqual(await scene.bodies(queue, 2), ['loud 0', 'quiet'])
  })

  test('does not write: a delivery waits for no disk', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.send(queue, 'x')
    scene.hold()
    assert.deepEqual(await scene.bodies(queue), ['x'])
  })

  test('that waits is handed what is sent, in the order in which they wait', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    const waiting = [1, 2].map(() => scene.broker.receive(queue, { max: 1, waitMs: 10_000 }))
    await scene.earth.advance(1)
    await scene.send(queue, 'for the first', 'for the second')
    const [first, second] = await scene.earth.until(Promise.all(waiting))
    assert.equal(sure(first!)[0]?.body, 'for the first')
    assert.equal(sure(second!)[0]?.body, 'for the second')
  })

  test('goes without when its time is over, and not before', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { waitMs: 500 })
    const before = scene.earth.clock.monotonic()
    assert.deepEqual(await scene.earth.until(scene.broker.receive(queue, { max: 1 })), [])
    assert.equal(scene.earth.clock.monotonic() - before, 500)
    assert.deepEqual(await scene.receive(queue, 1, { waitMs: 20 }), [])
    assert.equal(scene.earth.clock.monotonic() - before, 520)
  })

  test('that is given up takes nothing, and what it was given comes back uncounted', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    const abort = new AbortController()
    const waiting = scene.broker.receive(queue, { max: 1, waitMs: 60_000, signal: abort.signal })
    waiting.catch(() => undefined)
    await scene.earth.advance(1)
    abort.abort(new Error('gone'))
    await assert.rejects(scene.earth.until(waiting), /gone/)
    await scene.send(queue, 'x')
    const [held] = await scene.receive(queue)
    assert.equal(held?.receives, 1)

    const late = new AbortController()
    await scene.settle(queue, { type: 'release', receipt: held.receipt })
    const taken = scene.broker.receive(queue, { max: 1, signal: late.signal })
    taken.catch(() => undefined)
    late.abort(new Error('too late'))
    await assert.rejects(scene.earth.until(taken), /too late/)
    assert.equal((await scene.receive(queue))[0]?.receives, 1)
  })

  test('may ask for so much, and not for more', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.send(queue, 'x')
    const code = async (
      options: Readonly<{ max: number; waitMs?: number; visibilityMs?: number }>,
    ) => {
      const answer = await scene.earth.until(scene.broker.receive(queue, { waitMs: 0, ...options }))
      return isFault(answer) ? answer.code : 'ok'
    }
    for (const [at, past] of [
      [{ max: RECEIVE_MAX }, { max: RECEIVE_MAX + 1 }],
      [{ max: 1 }, { max: 0 }],
      [
        { max: 1, waitMs: WAIT_MS_MAX },
        { max: 1, waitMs: WAIT_MS_MAX + 1 },
      ],
      [
        { max: 1, visibilityMs: VISIBILITY_MS_MAX },
        { max: 1, visibilityMs: VISIBILITY_MS_MAX + 1 },
      ],
    ] as const) {
      assert.equal(await code(at), 'ok')
      assert.equal(await code(past), 'bad-message')
    }
  })

  test('hands out so many bytes at most, and one message whatever it has', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    const large = { body: 'x'.repeat(2 ** 20) }
    for (let n = 0; n < 20; n++) await scene.send(queue, large)
    assert.equal((await scene.receive(queue, 100)).length, RECEIVE_BYTES_MAX / 2 ** 20)
  })

  test('is refused where too many are in flight, and a long poll waits instead', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { inFlightMax: 2 })
    await scene.send(queue, 'a', 'b', 'c')
    const held = await scene.receive(queue)
    assert.equal(held.length, 2)
    const refused = await scene.earth.until(scene.broker.receive(queue, { max: 1 }))
    assert.ok(isFault(refused) && refused.code === 'too-many-in-flight')
    const waiting = scene.broker.receive(queue, { max: 1, waitMs: 1_000 })
    await scene.settle(queue, { type: 'delete', receipt: held[0]!.receipt })
    assert.deepEqual(
      sure(await scene.earth.until(waiting)).map(({ body }) => body),
      ['c'],
    )
  })

  test('of a queue that is paused waits until it goes on', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.send(queue, 'x')
    await scene.earth.until(scene.broker.pause(queue, { receive: true }))
    assert.deepEqual(await scene.receive(queue), [])
    const waiting = scene.broker.receive(queue, { max: 1, waitMs: 10_000 })
    await scene.earth.advance(100)
    await scene.earth.until(scene.broker.pause(queue, { receive: false }))
    assert.equal(sure(await scene.earth.until(waiting)).length, 1)
  })

  test('is one of so many that wait at a queue, and one more is refused', async () => {
    await using scene = await Scene.open({ freeze: false, bound: PARKED_MAX * 2 })
    const queue = await scene.queue('a')
    await scene.receive(queue)
    const aborts = Array.from({ length: PARKED_MAX }, () => new AbortController())
    for (const { signal } of aborts)
      scene.broker.receive(queue, { max: 1, waitMs: 60_000, signal }).catch(() => undefined)
    const refused = scene.broker.receive(queue, { max: 1, waitMs: 60_000 })
    const answer = await scene.earth.until(refused)
    assert.ok(isFault(answer) && answer.code === 'too-many-parked')
    for (const abort of aborts) abort.abort()
    const stats = sure(await scene.earth.until(scene.broker.stats(queue)))
    assert.equal(stats.waiting, 0)
  })

  test('with an attempt id gets the same messages again, while it holds them', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a.fifo', { contentDedup: true })
    await scene.send(queue, { body: 'a', group: 'g' }, { body: 'b', group: 'g' })
    const first = await scene.receive(queue, 1, { attemptId: 'one' })
    assert.deepEqual(await scene.receive(queue, 1, { attemptId: 'one' }), first)
    assert.deepEqual(await scene.receive(queue, 1, { attemptId: 'two' }), [])
    await scene.settle(queue, { type: 'delete', receipt: first[0]!.receipt })
    const next = await scene.receive(queue, 1, { attemptId: 'one' })
    assert.deepEqual(
      next.map(({ body }) => body),
      ['b'],
    )
  })
})

describe('texts that are not in memory', () => {
  test('are read when they are handed out, many at a time', async () => {
    await using scene = await Scene.open({ bodiesMax: 200 })
    const queue = await scene.queue('a')
    const all = Array.from({ length: 300 }, (_, n) => `message ${n}`)
    for (let n = 0; n < 300; n += 100) await scene.send(queue, ...all.slice(n, n + 100))
    scene.reads = 0
    const got: string[] = []
    for (;;) {
      const some = await scene.receive(queue, 10)
      if (some.length === 0) break
      got.push(...some.map(({ body }) => body))
      await scene.settle(
        queue,
        ...some.map(({ receipt }) => ({ type: 'delete', receipt }) as const),
      )
    }
    assert.deepEqual(got, all)
    assert.ok(scene.broker.metrics().textChars === 0)
  })

  test('that cannot be read now are tried again, and no delivery is counted', async () => {
    await using scene = await Scene.open({ bodiesMax: 0 })
    const queue = await scene.queue('a')
    await scene.send(queue, 'x')
    scene.readTrouble = 'journal-overloaded'
    const answer = await scene.earth.until(scene.broker.receive(queue, { max: 1 }))
    assert.ok(isFault(answer) && answer.code === 'unreadable')
    scene.readTrouble = undefined
    await scene.earth.advance(1_000)
    assert.equal((await scene.receive(queue))[0]?.receives, 1)
  })

  test('that are damaged take no others with them', async () => {
    await using scene = await Scene.open({ bodiesMax: 0 })
    const queue = await scene.queue('a')
    await scene.send(queue, 'a', 'b', 'c')
    const [, second] = sure(
      await scene.earth.until(scene.broker.browse(queue, { limit: 9 })),
    ).messages
    scene.damaged.add(keyOf(second!.seq))
    assert.deepEqual(await scene.bodies(queue), ['a', 'c'])
    const stats = sure(await scene.earth.until(scene.broker.stats(queue)))
    assert.deepEqual([stats.leased, stats.delayed], [2, 1])
  })
})

function inGroup(body: string) {
  return { body, group: body.slice(0, 1) }
}

describe('a FIFO queue', () => {
  test('gives nothing of a group before what was taken of it is settled', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a.fifo', { contentDedup: true })
    await scene.send(queue, inGroup('a1'), inGroup('b1'), inGroup('a2'))
    const [a1] = await scene.receive(queue, 1)
    assert.equal(a1?.body, 'a1')
    assert.deepEqual(await scene.bodies(queue), ['b1'])
    await scene.settle(queue, { type: 'delete', receipt: a1.receipt })
    assert.deepEqual(await scene.bodies(queue), ['a2'])
  })

  test('lets nothing overtake what failed and waits', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a.fifo', { contentDedup: true })
    await scene.send(queue, { body: 'a1', group: 'a' }, { body: 'a2', group: 'a' })
    const [a1] = await scene.receive(queue, 1)
    await scene.settle(queue, { type: 'nack', receipt: a1!.receipt, delayMs: 1_000 })
    assert.deepEqual(await scene.bodies(queue), [])
    await scene.earth.advance(1_000)
    assert.deepEqual(await scene.bodies(queue), ['a1', 'a2'])
  })
})
