import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { receive, setup, type Behavior, type Ref } from '../kernel/index.ts'
import { world } from './world.ts'

/** Tells `to` each of its messages so many milliseconds after it started. */
function later(to: Ref<string>, plan: Readonly<Record<string, number>>): Behavior<string> {
  return setup((ctx) => {
    for (const [message, ms] of Object.entries(plan)) ctx.timers.after(message, ms, message)
    return receive((_ctx, message) => void to.tell(message))
  })
}

describe('an inbox in a world', () => {
  test('turns virtual time until what it expects arrives, and no further', async () => {
    await using w = world()
    const box = w.inbox<string>('box')
    w.system.spawn('sender', later(box, { a: 300, b: 700, c: 5_000 }))

    await box.expect('a', { withinMs: 300 })
    assert.equal(w.clock.monotonic(), 300)
    await box.expect('b')
    assert.equal(w.clock.monotonic(), 700)
    assert.equal(await box.take({ withinMs: 10_000 }), 'c')
    assert.deepEqual(box.messages, [])
  })

  test('gives up when the time is over', async () => {
    await using w = world()
    const box = w.inbox<string>('box')
    w.system.spawn('sender', later(box, { a: 301 }))

    await assert.rejects(box.expect('a', { withinMs: 300 }), {
      code: 'inbox-empty',
      message: "nothing was told to /box; expected 'a'",
    })
    assert.equal(w.clock.monotonic(), 300)
    await box.expect('a', { withinMs: 1 })
    await assert.rejects(box.take(), { code: 'inbox-empty' })
  })

  test('compares what arrives, with a readable difference', async () => {
    await using w = world()
    const box = w.inbox<string>('box')
    w.system.spawn('sender', later(box, { a: 1 }))

    await assert.rejects(box.expect('b'), {
      code: 'unexpected-message',
      message: "/box was told something else:\n  it is 'a', not 'b'",
    })
  })

  test('is empty for as long as it is said to be', async () => {
    await using w = world()
    const box = w.inbox<string>('box')
    w.system.spawn('sender', later(box, { a: 300 }))

    await box.expectEmpty()
    assert.equal(w.clock.monotonic(), 0)
    await box.expectEmpty({ forMs: 299 })
    assert.equal(w.clock.monotonic(), 299)
    await assert.rejects(box.expectEmpty({ forMs: 1 }), { code: 'inbox-not-empty' })
  })

  test('what is on its way at the moment counts', async () => {
    await using w = world()
    const box = w.inbox<string>('box')
    w.system
      .spawn(
        'sender',
        receive<string>((_ctx, m) => void box.tell(m)),
      )
      .tell('now')

    await assert.rejects(box.expectEmpty(), { code: 'inbox-not-empty' })
  })

  test('two can wait at once', async () => {
    await using w = world()
    const [one, other] = [w.inbox<string>('one'), w.inbox<string>('other')]
    w.system.spawn('a', later(one, { a: 400 }))
    w.system.spawn('b', later(other, { b: 300 }))

    await Promise.all([one.expect('a'), other.expect('b')])

    assert.equal(w.clock.monotonic(), 400)
  })

  test('shows in the trace, and can end', async () => {
    await using w = world()
    const box = w.inbox<string>('box')
    const ended: string[] = []
    box.onEnd(({ cause }) => ended.push(cause))
    box.tell('a')
    box.end()

    assert.deepEqual(w.trace.at(-1), {
      seq: 0,
      at: 0,
      actor: '/box',
      type: 'received',
      facts: { message: 'a' },
    })
    assert.equal(box.tell('b')?.code, 'actor-stopped')
    assert.equal(w.trace.length, 1)
    assert.deepEqual(ended, ['stopped'])
  })
})
