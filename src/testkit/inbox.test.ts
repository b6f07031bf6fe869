import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { receive, setup, type Ended, type Ref } from '../kernel/index.ts'
import { ExpectationFailure, inbox, type Inbox } from './inbox.ts'
import { stage } from './stage.ts'

type Reply = Readonly<{ type: 'done'; count: number }>

function told(message: string): Inbox<string> {
  const box = inbox<string>()
  box.tell(message)
  return box
}

describe('inbox', () => {
  test('remembers what it is told, in order', () => {
    const box = inbox<number>('box')
    for (const n of [1, 2, 3]) assert.equal(box.tell(n), undefined)

    assert.deepEqual(box.messages, [1, 2, 3])
    assert.equal(box.take(), 1)
    box.expect(2)
    assert.deepEqual(box.messages, [3])
    assert.equal(box.path, '/box')
  })

  test('an undefined message is a message', () => {
    const box = inbox<undefined>()
    box.tell(undefined)

    assert.throws(() => box.expectEmpty(), { code: 'inbox-not-empty' })
    assert.equal(box.take(), undefined)
    box.expectEmpty()
  })

  test('taking from an empty one is refused by name', () => {
    assert.throws(() => inbox('client').take(), {
      name: 'ExpectationFailure',
      code: 'inbox-empty',
      message: 'nothing was told to /client',
    })
    assert.throws(() => inbox<Reply>('client').expect({ type: 'done', count: 1 }), {
      code: 'inbox-empty',
      message: "nothing was told to /client; expected { type: 'done', count: 1 }",
    })
  })

  test('a wrong expectation says what differs, and shows both sides to the runner', () => {
    const box = inbox<Reply>('client')
    box.tell({ type: 'done', count: 2 })

    assert.throws(
      () => box.expect({ type: 'done', count: 3 }),
      (error) => {
        assert.ok(error instanceof ExpectationFailure)
        assert.equal(error.code, 'unexpected-message')
        assert.equal(error.message, '/client was told something else:\n  .count is 2, not 3')
        assert.equal(error.actual, "{ type: 'done', count: 2 }")
        assert.equal(error.expected, "{ type: 'done', count: 3 }")
        return true
      },
    )
  })

  test('a disappointed expectation points at the line of the test', () => {
    for (const disappointed of [
      () => inbox().take(),
      () => inbox<string>().expect('a'),
      () => told('a').expect('b'),
      () => told('a').expectEmpty(),
    ])
      assert.throws(disappointed, (error) => {
        assert.ok(error instanceof Error)
        assert.match(error.stack!, /^[^]*?\n    at .*inbox\.test\.ts/)
        assert.doesNotMatch(error.stack!, /testkit\/inbox\.ts/)
        return true
      })
  })

  test('one that is to be empty shows what came instead', () => {
    const box = inbox<number>('client')
    box.expectEmpty()
    for (let n = 0; n < 8; n++) box.tell(n)

    assert.throws(() => box.expectEmpty(), {
      code: 'inbox-not-empty',
      message: '/client was to be empty and was told:\n  0\n  1\n  2\n  3\n  4\n  and 3 more',
    })
  })

  test('freezes what it is told, unless it is asked not to', () => {
    const message = { list: [1] }
    inbox<typeof message>().tell(message)
    assert.throws(() => message.list.push(2), TypeError)

    const loose = { list: [1] }
    inbox<typeof loose>('box', { freeze: false }).tell(loose)
    loose.list.push(2)
  })

  test('takes as many as its bound, and refuses the next as a full actor would', () => {
    const box = inbox<number>('small', { bound: 2 })

    assert.equal(box.tell(1), undefined)
    assert.equal(box.tell(2), undefined)
    assert.equal(box.tell(3)?.code, 'mailbox-full')
    assert.deepEqual(box.messages, [1, 2])
  })

  test('its end is watched like that of an actor, and refuses what is told later', () => {
    type Message = Readonly<{ type: 'watch'; who: Ref<never> }> | Ended
    const ends: Ended[] = []
    const subject = stage(
      receive<Message>((ctx, message) => {
        if ('cause' in message) ends.push(message)
        else ctx.watch(message.who, (ended) => ended)
      }),
    )
    const box = inbox<string>('worker')
    subject.tell({ type: 'watch', who: box })
    const error = new Error('lost')

    box.end('failed', error)
    box.end('stopped') // it ends once
    subject.run()

    assert.deepEqual(ends, [{ path: '/worker', cause: 'failed', error }])
    assert.equal(box.tell('hello')?.code, 'actor-stopped')
  })

  test('one that has ended tells whoever watches at once, and forgets who no longer does', () => {
    const heard: string[] = []
    const box = inbox<string>()
    const forget = box.onEnd(() => heard.push('forgotten'))
    box.onEnd(() => heard.push('before'))
    forget()

    box.end()
    box.onEnd(({ cause }) => heard.push(cause))()

    assert.deepEqual(heard, ['before', 'stopped'])
  })

  test('stands in for whoever an actor talks to', () => {
    const client = inbox<Reply>('client')
    let count = 0
    const counter = stage(
      setup<Ref<Reply>>(() =>
        receive((_ctx, replyTo) => {
          replyTo.tell({ type: 'done', count: ++count })
        }),
      ),
    )

    counter.tell(client)
    counter.tell(client)

    client.expect({ type: 'done', count: 1 })
    client.expect({ type: 'done', count: 2 })
    client.expectEmpty()
  })
})
