import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { afterIo } from '../std/index.ts'
import { virtualClock, type VirtualClock } from '../testkit/index.ts'
import {
  ask,
  createSteppedSystem,
  createSystem,
  manual,
  receive,
  withContext,
  type Context,
  type Ref,
  type SteppedSystem,
} from './index.ts'

type Rig = Readonly<{
  clock: VirtualClock
  system: SteppedSystem
  /** Who was told what in which context. */
  seen: string[]
  relay: (name: string, next?: Ref<string>) => Ref<string>
  run: () => void
}>

function rig(): Rig {
  const clock = virtualClock()
  const system = createSteppedSystem({ clock })
  const seen: string[] = []
  return {
    clock,
    system,
    seen,
    relay: (name, next) =>
      system.spawn(
        name,
        receive<string>((ctx, message) => {
          seen.push(`${name} ${message} ${String(ctx.context)}`)
          next?.tell(message)
        }),
      ),
    run() {
      while (system.step());
    },
  }
}

describe('the context of a message', () => {
  test('goes along through as many mailboxes as follow from it', () => {
    const { relay, seen, run } = rig()
    const c = relay('c')
    const b = relay('b', c)
    const a = relay('a', b)
    withContext('trace-1', () => a.tell('hello'))
    run()

    assert.deepEqual(seen, ['a hello trace-1', 'b hello trace-1', 'c hello trace-1'])
  })

  test('goes no further than that: the next message has its own, or none', () => {
    const { relay, seen, run } = rig()
    const b = relay('b')
    const a = relay('a', b)
    a.tell('1')
    withContext('x', () => a.tell('2'))
    a.tell('3')
    withContext('y', () => a.tell('4'))
    a.tell('5')
    run()

    assert.deepEqual(
      seen.filter((each) => each.startsWith('b')),
      ['b 1 undefined', 'b 2 x', 'b 3 undefined', 'b 4 y', 'b 5 undefined'],
    )
  })

  test('may be nested, and what was before comes back', () => {
    const { relay, seen, run } = rig()
    const a = relay('a')
    const answer = withContext('outer', () => {
      a.tell('1')
      withContext('inner', () => a.tell('2'))
      assert.throws(() =>
        withContext('failing', () => {
          throw new Error('no')
        }),
      )
      a.tell('3')
      return 'answer'
    })
    a.tell('4')
    run()

    assert.equal(answer, 'answer')
    assert.deepEqual(seen, ['a 1 outer', 'a 2 inner', 'a 3 outer', 'a 4 undefined'])
  })

  test('may be any value, and is the very same at the other end', () => {
    const { system, run } = rig()
    const deadline = { traceId: 'abc', deadline: 5 }
    let found: unknown
    const a = system.spawn(
      'a',
      receive<string>((ctx) => {
        found = ctx.context
      }),
    )
    withContext(deadline, () => a.tell('hello'))
    run()

    assert.equal(found, deadline)
  })

  test('is not that of a timer set, or a promise piped, within its turn', async () => {
    const { system, run, clock } = rig()
    const seen: unknown[] = []
    const a = system.spawn(
      'a',
      receive<string>((ctx, message) => {
        seen.push([message, ctx.context])
        if (message !== 'go') return
        ctx.timers.after('key', 10, 'timer')
        ctx.pipe(
          Promise.resolve(1),
          () => 'piped',
          () => 'failed',
        )
      }),
    )
    withContext('x', () => a.tell('go'))
    run()
    await new Promise<void>(afterIo)
    run()
    clock.advance(10)
    run()

    assert.deepEqual(seen, [
      ['go', 'x'],
      ['piped', undefined],
      ['timer', undefined],
    ])
  })

  test('ends with a turn that throws', () => {
    const { system, run, relay, seen } = rig()
    const failing = system.spawn(
      'failing',
      receive<string>(() => {
        throw new Error('no')
      }),
    )
    const a = relay('a')
    withContext('x', () => failing.tell('fail'))
    run()
    a.tell('next')
    run()

    assert.deepEqual(seen, ['a next undefined'])
  })

  test('keeps its message in order, also with one that has none and while the actor rests', () => {
    const { system, run } = rig()
    const seen: string[] = []
    const a = system.spawn(
      'a',
      receive<string>((_ctx, message) => void seen.push(message)),
    )
    const token = a.suspend('user', manual())
    for (const [index, message] of ['1', '2', '3', '4'].entries()) {
      if (index % 2 === 0) a.tell(message)
      else withContext('x', () => a.tell(message))
    }
    token.resume()
    run()

    assert.deepEqual(seen, ['1', '2', '3', '4'])
  })

  test('counts as the message it goes with: bound, dead letter and trace show no wrapping', () => {
    const { system, run } = rig()
    const heard: unknown[] = []
    const a = system.spawn(
      'a',
      receive<string>(() => undefined),
      { bound: 1 },
    )
    system.trace(({ type, facts }) => heard.push([type, facts['message']]))
    withContext('x', () => {
      assert.equal(a.tell('1'), undefined)
      assert.equal(a.tell('2')?.code, 'mailbox-full')
    })
    run()

    assert.deepEqual(heard, [
      ['dead-letter', '2'],
      ['received', '1'],
    ])
    assert.equal(system.deadLetters[0]?.message, '2')
  })

  test('goes along in a system that runs by itself, between messages that have none', async () => {
    await using system = createSystem()
    const seen: unknown[] = []
    const end = system.spawn(
      'end',
      receive<number>((ctx, message) => void seen.push([message, ctx.context])),
    )
    const way = system.spawn(
      'way',
      receive<number>((_ctx, message) => void end.tell(message)),
    )
    for (let n = 0; n < 200; n++) {
      if (n % 3 === 0) withContext(`context ${n}`, () => way.tell(n))
      else way.tell(n)
    }
    while (seen.length < 200) await new Promise<void>(afterIo)

    assert.deepEqual(
      seen,
      [...new Array<undefined>(200).keys()].map((n) => [
        n,
        n % 3 === 0 ? `context ${n}` : undefined,
      ]),
    )
  })

  test('goes along with an ask', async () => {
    const { system, run } = rig()
    const a = system.spawn(
      'a',
      receive<Ref<unknown>>(
        (ctx: Context<Ref<unknown>>, replyTo) => void replyTo.tell(ctx.context),
      ),
    )
    const answer = withContext('x', () => ask<Ref<unknown>, unknown>(a, (replyTo) => replyTo))
    run()

    assert.equal(await answer, 'x')
  })
})
