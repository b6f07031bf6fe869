import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { nameOf, Scene, sure } from '../../test/broker/scene.ts'
import { isFault } from '../std/index.ts'
import type { NewMessage } from './broker.ts'
import {
  BROKER_BATCH_MAX,
  DEDUP_ID_CHARS_MAX,
  DELAY_MS_MAX,
  GROUP_CHARS_MAX,
  MESSAGE_BYTES_MAX,
  SEND_BYTES_MAX,
} from './limits.ts'

function codes(answers: readonly unknown[]): readonly string[] {
  return answers.map((answer) => (isFault(answer) ? answer.code : 'ok'))
}

describe('a send', () => {
  test('is answered when it is durable, and seen only then', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    scene.hold()
    const sending = scene.broker.send(queue, [{ body: 'x' }])
    await scene.earth.advance(1_000)
    assert.deepEqual(await scene.receive(queue), [])
    scene.release()
    const [sent] = await scene.earth.until(sending)
    assert.ok(sent?.ok)
    assert.deepEqual(await scene.bodies(queue), ['x'])
  })

  test('of several messages becomes durable in one batch, with an answer for each', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { messageBytesMax: 3 })
    scene.batches.length = 0
    const answers = await scene.send(queue, 'one', 'too long', 'two')
    assert.deepEqual(codes(answers), ['ok', 'message-too-large', 'ok'])
    assert.deepEqual(
      scene.batches.map(({ records }) => records?.length),
      [2],
    )
  })

  test('while a batch is being written goes out with the next one', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.send(queue, 'first')
    scene.batches.length = 0
    scene.hold()
    const all = Array.from({ length: 20 }, (_, n) => scene.broker.send(queue, [{ body: `${n}` }]))
    await scene.earth.advance(1)
    scene.release()
    await scene.earth.until(Promise.all(all))
    assert.deepEqual(
      scene.batches.map(({ records }) => records?.length),
      [1, 19],
    )
  })

  const bad: readonly (readonly [string, NewMessage])[] = [
    ['a priority of 256', { body: '', priority: 256 }],
    ['a priority of -1', { body: '', priority: -1 }],
    ['half a priority', { body: '', priority: 1.5 }],
    ['a delay one past the limit', { body: '', delayMs: DELAY_MS_MAX + 1 }],
    ['a negative delay', { body: '', delayMs: -1 }],
    ['no time to live', { body: '', ttlMs: 0 }],
    ['an empty group', { body: '', group: '' }],
    ['a group that is too long', { body: '', group: 'g'.repeat(GROUP_CHARS_MAX + 1) }],
    ['an id that is too long', { body: '', dedupId: 'd'.repeat(DEDUP_ID_CHARS_MAX + 1) }],
    ['half a character', { body: '\ud800' }],
    ['a NUL', { body: 'a\0b' }],
    ['a group of half a character', { body: '', group: '\ud800' }],
  ]
  for (const [what, message] of bad)
    test(`with ${what} is refused`, async () => {
      await using scene = await Scene.open()
      const queue = await scene.queue('a')
      assert.deepEqual(codes(await scene.send(queue, message, 'good')), ['bad-message', 'ok'])
    })

  test('may go to every limit', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    const answers = await scene.send(
      queue,
      { body: '', priority: 255, delayMs: DELAY_MS_MAX },
      { body: 'x', group: 'ü'.repeat(GROUP_CHARS_MAX), dedupId: 'd'.repeat(DEDUP_ID_CHARS_MAX) },
      { body: 'x'.repeat(MESSAGE_BYTES_MAX) },
      { body: 'x'.repeat(MESSAGE_BYTES_MAX + 1) },
    )
    assert.deepEqual(codes(answers), ['ok', 'ok', 'ok', 'message-too-large'])
  })

  test('has so many messages at most', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    const many = Array.from({ length: BROKER_BATCH_MAX }, () => 'x')
    assert.equal(codes(await scene.send(queue, ...many)).includes('bad-message'), false)
    const more = codes(await scene.send(queue, ...many, 'x'))
    assert.deepEqual([...new Set(more)], ['bad-message'])
  })

  test('has so many bytes at most, and what is escaped counts', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    const large = 'x'.repeat(MESSAGE_BYTES_MAX)
    const fitting = Math.floor(SEND_BYTES_MAX / MESSAGE_BYTES_MAX) - 1
    const answers = await scene.send(queue, ...Array.from({ length: fitting + 2 }, () => large))
    assert.deepEqual(codes(answers.slice(0, fitting)).includes('message-too-large'), false)
    assert.equal(codes(answers).at(-1), 'message-too-large')
    const escaped = { a: { type: 'String', text: '\u0001'.repeat(MESSAGE_BYTES_MAX - 100) } }
    const [answer] = await scene.send(queue, { body: 'x', attributes: escaped })
    assert.deepEqual(codes([answer]), ['message-too-large'])
  })

  test('to a queue that is paused for sends is refused, until it goes on', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    await scene.earth.until(scene.broker.pause(queue, { send: true }))
    assert.deepEqual(codes(await scene.send(queue, 'x')), ['queue-paused'])
    await scene.earth.until(scene.broker.pause(queue, { send: false }))
    assert.deepEqual(codes(await scene.send(queue, 'x')), ['ok'])
  })

  test('to no queue is refused', async () => {
    await using scene = await Scene.open()
    assert.deepEqual(codes(await scene.send(nameOf('none'), 'x', 'y')), [
      'no-such-queue',
      'no-such-queue',
    ])
  })

  for (const [said, heard] of [
    ['read-only', 'store-read-only'],
    ['journal-overloaded', 'broker-overloaded'],
    ['damaged', 'unreadable'],
    ['unknown-outcome', 'broker-overloaded'],
  ] as const)
    test(`that the store answers with ${said} has not happened, and says ${heard}`, async () => {
      await using scene = await Scene.open()
      const queue = await scene.queue('a')
      await scene.send(queue, 'before')
      scene.refusals.push(said)
      assert.deepEqual(codes(await scene.send(queue, 'x')), [heard])
      assert.deepEqual(await scene.content(queue), ['ready before'])
      await scene.send(queue, 'after')
      await scene.crash()
      assert.deepEqual(await scene.content(queue), ['ready before', 'ready after'])
    })

  test('of unknown outcome is looked up, and acknowledged if it is there', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a')
    scene.refusals.push('unknown-but-there')
    assert.deepEqual(codes(await scene.send(queue, 'x')), ['ok'])
    await scene.crash()
    assert.deepEqual(await scene.content(queue), ['ready x'])
  })
})

describe('a queue that is full', () => {
  test('refuses', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { maxLength: 2 })
    assert.deepEqual(codes(await scene.send(queue, 'a', 'b', 'c')), ['ok', 'ok', 'queue-full'])
  })

  test('of bytes refuses what does not fit, and takes what does', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { maxBytes: 4 })
    assert.deepEqual(codes(await scene.send(queue, 'aaa', 'bb', 'b')), ['ok', 'queue-full', 'ok'])
  })

  for (const bound of [{ maxLength: 2 }, { maxBytes: 2 }])
    test(`of ${Object.keys(bound)[0]} drops the oldest, and no more than it must`, async () => {
      await using scene = await Scene.open()
      const queue = await scene.queue('a', { ...bound, overflow: 'drop-oldest' })
      await scene.send(queue, 'a', 'b')
      assert.deepEqual(codes(await scene.send(queue, 'c')), ['ok'])
      assert.deepEqual(await scene.content(queue), ['ready b', 'ready c'])
      const stats = sure(await scene.earth.until(scene.broker.stats(queue)))
      assert.equal(stats.dropped, 1)
    })

  test('drops nothing if what was to come is not durable', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { maxLength: 1, overflow: 'drop-oldest' })
    await scene.send(queue, 'a')
    scene.refusals.push('read-only')
    assert.deepEqual(codes(await scene.send(queue, 'b')), ['store-read-only'])
    assert.deepEqual(await scene.bodies(queue), ['a'])
  })

  test('moves the oldest to the dead letters', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', {
      maxLength: 1,
      overflow: 'dead-letter-oldest',
      deadLetterQueue: 'dead',
    })
    await scene.send(queue, 'a')
    await scene.send(queue, 'b')
    await scene.earth.advance(10)
    assert.deepEqual(await scene.content(queue), ['ready b'])
    const [letter] = await scene.receive(nameOf('dead'))
    assert.equal(letter?.body, 'a')
    assert.equal(letter.failures[0]?.reason, 'pushed out by a newer message')
  })

  test('lets who sends wait for room, in order, and no longer than it says', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { maxLength: 1, overflow: 'block', blockMs: 1_000 })
    await scene.send(queue, 'a')
    const first = scene.broker.send(queue, [{ body: 'b' }])
    const second = scene.broker.send(queue, [{ body: 'c' }])
    await scene.earth.advance(500)
    const [held] = await scene.receive(queue)
    await scene.settle(queue, { type: 'delete', receipt: held!.receipt })
    assert.deepEqual(codes(await scene.earth.until(first)), ['ok'])
    assert.deepEqual(codes(await scene.earth.until(second)), ['queue-full'])
    assert.deepEqual(await scene.content(queue), ['ready b'])
  })
})

describe('a deduplication id', () => {
  test('is one message for as long as it is remembered, and then another', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { dedupWindowMs: 1_000 })
    const message = { body: 'x', dedupId: 'id' }
    const [first] = await scene.send(queue, message)
    const [again] = await scene.send(queue, { ...message, body: 'y' })
    assert.ok(first?.ok && again?.ok)
    assert.deepEqual(again, { ...first, duplicate: true })
    await scene.earth.advance(999)
    assert.ok((await scene.send(queue, message)).every((sent) => sent.ok && sent.duplicate))
    await scene.earth.advance(1)
    assert.ok((await scene.send(queue, message)).every((sent) => sent.ok && !sent.duplicate))
  })

  test('is remembered by a queue that was killed, and also if the message is gone', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a.fifo', { fifo: true })
    const message = { body: 'x', dedupId: 'id', group: 'g' }
    const [first] = await scene.send(queue, message)
    const [held] = await scene.receive(queue)
    await scene.settle(queue, { type: 'delete', receipt: held!.receipt })
    await scene.crash()
    const [again] = await scene.send(queue, message)
    assert.deepEqual(again, { ...first, duplicate: true })
    assert.deepEqual(await scene.content(queue), [])
  })

  test('twice in one send is one message, and neither is said before it is durable', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { dedupWindowMs: 1_000 })
    const message = { body: 'x', dedupId: 'id' }
    scene.refusals.push('read-only')
    assert.deepEqual(codes(await scene.send(queue, message, message)), [
      'store-read-only',
      'store-read-only',
    ])
    const answers = await scene.send(queue, message, message)
    assert.deepEqual(
      answers.map((sent) => sent.ok && sent.duplicate),
      [false, true],
    )
  })

  test('can be the content, or be meant within its group', async () => {
    await using scene = await Scene.open()
    const same = await scene.queue('same', { dedupWindowMs: 1_000, contentDedup: true })
    const twice = await scene.send(same, 'x', 'y', 'x')
    assert.deepEqual(
      twice.map((sent) => sent.ok && sent.duplicate),
      [false, false, true],
    )
    const own = await scene.queue('own', { dedupWindowMs: 1_000, dedupScope: 'group' })
    const group = 'ü'.repeat(GROUP_CHARS_MAX)
    const dedupId = 'ü'.repeat(DEDUP_ID_CHARS_MAX)
    const answers = await scene.send(
      own,
      { body: '', dedupId, group },
      { body: '', dedupId, group: 'b' },
      { body: '', dedupId, group },
    )
    assert.deepEqual(
      answers.map((sent) => sent.ok && sent.duplicate),
      [false, false, true],
    )
  })

  test('is forgotten by the disk as well, once its time is over', async () => {
    await using scene = await Scene.open()
    const queue = await scene.queue('a', { dedupWindowMs: 10 })
    await scene.send(queue, { body: 'x', dedupId: 'old' })
    await scene.crash()
    await scene.earth.advance(20)
    await scene.send(queue, { body: 'y', dedupId: 'new' })
    const kept = await scene.earth.until(scene.journal.readRecords('broker-d-1', ''))
    assert.deepEqual(
      kept.map(({ key }) => key),
      ['inew'],
    )
  })
})
