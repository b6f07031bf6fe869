/* oxlint-disable unicorn/no-thenable -- what is no promise but looks like one is the matter here */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, afterIo, random } from '../std/index.ts'
import { virtualClock, type VirtualClock } from '../testkit/index.ts'
import {
  createSteppedSystem,
  createSystem,
  manual,
  receive,
  restart,
  resume,
  setup,
  type Behavior,
  type SteppedSystem,
} from './index.ts'

type Rig = Readonly<{
  clock: VirtualClock
  system: SteppedSystem
  /** What was thrown. */
  errors: unknown[]
  run: () => void
  settle: () => Promise<void>
}>

function rig(): Rig {
  const clock = virtualClock()
  const system = createSteppedSystem({ clock, random: random(1) })
  const errors: unknown[] = []
  system.trace(({ type, facts }) => type === 'failed' && errors.push(facts['error']))
  const run = (): void => {
    while (system.step());
  }
  return {
    clock,
    system,
    errors,
    run,
    async settle() {
      do {
        run()
        await new Promise<void>(afterIo)
      } while (system.readyDepth > 0)
    },
  }
}

function thenable(then: (ok: (value: unknown) => void) => void): unknown {
  return { then }
}

function accident(error: unknown): Accident {
  assert.ok(error instanceof Accident)
  return error
}

describe('an async handler', () => {
  test('holds the mail of its actor, and nobody else', async () => {
    const { system, settle } = rig()
    const seen: string[] = []
    const pending: (() => void)[] = []
    const slow = system.spawn(
      'slow',
      receive<string>(async (_ctx, message) => {
        seen.push(`begin ${message}`)
        await new Promise<void>((resolve) => pending.push(resolve))
        seen.push(`end ${message}`)
      }),
    )
    const other = system.spawn(
      'other',
      receive<string>((_ctx, message) => void seen.push(message)),
    )
    for (const message of ['a', 'b']) slow.tell(message)
    other.tell('other')
    await settle()
    assert.deepEqual(seen, ['begin a', 'other'])
    assert.equal(system.readyDepth, 0)

    pending.shift()?.()
    await settle()
    pending.shift()?.()
    await settle()
    assert.deepEqual(seen, ['begin a', 'other', 'end a', 'begin b', 'end b'])
  })

  test('may answer everything a plain one may', async () => {
    const { system, settle } = rig()
    const seen: string[] = []
    const last = receive<string>(async (_ctx, message): Promise<'stopped'> => {
      seen.push(`last ${message}`)
      return 'stopped'
    })
    const actor = system.spawn(
      'actor',
      receive<string>(async (_ctx, message) => {
        seen.push(message)
        return message === 'become' ? last : 'same'
      }),
    )
    for (const message of ['a', 'become', 'b', 'c']) actor.tell(message)
    await settle()

    assert.deepEqual(seen, ['a', 'become', 'last b'])
    assert.equal((await actor.ended).cause, 'stopped')
    assert.equal(system.deadLetters[0]?.message, 'c')
  })

  test('that rejects is a failure of its message', async () => {
    const { system, settle, errors } = rig()
    const seen: string[] = []
    const error = new Error('no')
    const actor = system.spawn(
      'actor',
      receive<string>(async (_ctx, message) => {
        if (message === 'fail') throw error
        seen.push(message)
      }),
      { supervision: resume() },
    )
    for (const message of ['fail', 'next']) actor.tell(message)
    await settle()

    assert.deepEqual(errors, [error])
    assert.deepEqual(seen, ['next'])
  })

  test('may suspend its actor: that rests until both are over', async () => {
    const { system, settle } = rig()
    const seen: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const actor = system.spawn(
      'actor',
      receive<string>(async (_ctx, message) => {
        seen.push(message)
        if (message === 'wait') await promise
      }),
    )
    actor.tell('wait')
    await settle()
    const token = actor.suspend('user', manual())
    actor.tell('next')
    resolve()
    await settle()
    assert.deepEqual(seen, ['wait'])

    token.resume()
    await settle()
    assert.deepEqual(seen, ['wait', 'next'])
  })

  test('may be any thenable, also one that throws, lies or answers twice', async () => {
    const error = new Error('no')
    const cases: readonly (readonly [unknown, 'goes on' | 'fails'])[] = [
      [thenable((ok) => ok(undefined)), 'goes on'],
      [thenable((ok) => ok('same')), 'goes on'],
      [
        thenable((ok) => {
          ok(undefined)
          ok('stopped')
        }),
        'goes on',
      ],
      [
        thenable((ok) => {
          ok(undefined)
          throw error
        }),
        'goes on',
      ],
      [
        thenable(() => {
          throw error
        }),
        'fails',
      ],
      [
        {
          get then(): never {
            throw error
          },
        },
        'fails',
      ],
      [{ then: 7 }, 'fails'],
      [
        new Proxy(Promise.resolve(), {
          getPrototypeOf() {
            throw error
          },
        }),
        'fails',
      ],
      [thenable((ok) => ok(7)), 'fails'],
    ]
    for (const [index, [answer, outcome]] of cases.entries()) {
      const { system, settle, errors } = rig()
      const seen: string[] = []
      const actor = system.spawn(
        'actor',
        receive<string>((_ctx, message) => {
          seen.push(message)
          return message === 'odd' ? (answer as never) : 'same'
        }),
        { supervision: resume() },
      )
      for (const message of ['odd', 'next']) actor.tell(message)
      await settle()

      assert.deepEqual(seen, ['odd', 'next'], `case ${index}`)
      assert.equal(errors.length, outcome === 'fails' ? 1 : 0, `case ${index}`)
    }
  })

  test('keeps the order of thousands in a system that runs by itself', async () => {
    await using system = createSystem()
    const seen: number[] = []
    const actor = system.spawn(
      'actor',
      receive<number>(async (_ctx, message) => {
        if (message % 7 === 0) await Promise.resolve()
        seen.push(message)
      }),
      { bound: 5_000 },
    )
    for (let n = 0; n < 5_000; n++) actor.tell(n)
    while (seen.length < 5_000) await new Promise<void>(afterIo)

    assert.deepEqual(seen, [...new Array<undefined>(5_000).keys()])
  })
})

describe('the limit of a handler', () => {
  test('passed, is a failure that names the actor; the signal is aborted', async () => {
    const { system, clock, settle, errors } = rig()
    const seen: string[] = []
    const { promise, resolve } = Promise.withResolvers<'stopped'>()
    const actor = system.spawn(
      'actor',
      receive<string>((ctx, message) => {
        seen.push(message)
        if (message !== 'wait') return 'same'
        ctx.signal.addEventListener('abort', () => seen.push('aborted'))
        return promise
      }),
      { handlerMs: 100, supervision: resume() },
    )
    for (const message of ['wait', 'next']) actor.tell(message)
    await settle()
    clock.advance(99)
    await settle()
    assert.deepEqual([seen, errors], [['wait'], []])

    clock.advance(1)
    await settle()
    assert.deepEqual(seen, ['wait', 'aborted', 'next'])
    const { code, detail } = accident(errors[0])
    assert.equal(code, 'handler-overdue')
    assert.equal(detail['actor'], '/actor')
    assert.equal(detail['handlerMs'], 100)
    assert.ok(detail['remedy'])

    resolve('stopped')
    await settle()
    assert.equal(actor.tell('lives'), undefined)
  })

  test('is for each message anew, and does not matter to one that is done in time', async () => {
    const { system, clock, settle, errors } = rig()
    const pending: (() => void)[] = []
    const actor = system.spawn(
      'actor',
      receive<string>(() => new Promise<void>((resolve) => pending.push(resolve))),
      { handlerMs: 100, supervision: resume() },
    )
    for (let n = 0; n < 5; n++) {
      actor.tell('wait')
      await settle()
      clock.advance(99)
      pending.shift()?.()
      await settle()
    }
    clock.advance(10_000)
    await settle()

    assert.deepEqual(errors, [])
    assert.equal(system.metrics().timers_pending, 0)
  })

  test('gives the next message a signal of its own', async () => {
    const { system, clock, settle } = rig()
    const signals: AbortSignal[] = []
    const actor = system.spawn(
      'actor',
      receive<string>((ctx, message) => {
        signals.push(ctx.signal)
        return message === 'wait' ? new Promise<void>(() => undefined) : undefined
      }),
      { handlerMs: 100, supervision: resume() },
    )
    for (const message of ['wait', 'next']) actor.tell(message)
    await settle()
    clock.advance(100)
    await settle()

    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [true, false],
    )
  })

  test('restarts an actor that hangs, where it is restarted', async () => {
    const { system, clock, settle } = rig()
    let lives = 0
    const actor = system.spawn(
      'actor',
      setup<string>(() => {
        lives += 1
        return receive<string>(() => new Promise<void>(() => undefined))
      }),
      { handlerMs: 100, supervision: restart({ backoff: { minMs: 0, jitter: 0 } }) },
    )
    actor.tell('wait')
    await settle()
    clock.advance(100)
    await settle()

    assert.equal(lives, 2)
  })

  test('must be a time', () => {
    const { system } = rig()
    for (const handlerMs of [0, -1, Number.NaN]) {
      assert.throws(
        () =>
          system.spawn(
            'actor',
            receive<string>(() => undefined),
            { handlerMs },
          ),
        { code: 'bad-option' },
      )
    }
  })
})

describe('an answer that is none', () => {
  test('is a failure that names the actor, and the next message goes on', async () => {
    for (const answer of [42, 'other', {}, null, true, Symbol('x'), () => 1]) {
      for (const late of [false, true]) {
        const { system, settle, errors } = rig()
        const seen: string[] = []
        const actor = system.spawn(
          'actor',
          receive<string>((_ctx, message) => {
            seen.push(message)
            if (message !== 'odd') return 'same'
            return (late ? Promise.resolve(answer) : answer) as never
          }),
          { supervision: resume() },
        )
        for (const message of ['odd', 'next']) actor.tell(message)
        await settle()

        const { code, detail } = accident(errors[0])
        assert.equal(code, 'not-a-behavior')
        assert.equal(detail['actor'], '/actor')
        assert.equal(detail['given'], answer)
        assert.ok(detail['remedy'])
        assert.deepEqual(seen, ['odd', 'next'])
      }
    }
  })

  test('is one that a setup makes as well', async () => {
    for (const made of [undefined, 42, 'same', {}]) {
      const { system, run } = rig()
      const actor = system.spawn(
        'actor',
        setup<string>(() => made as never),
      )
      run()

      const { cause, error } = await actor.ended
      assert.equal(cause, 'failed')
      assert.equal(accident(error).code, 'not-a-behavior')
    }
  })

  test('is a setup within a setup without end', async () => {
    const { system, run } = rig()
    const nested = (depth: number): Behavior<string> =>
      depth === 0 ? receive<string>(() => undefined) : setup<string>(() => nested(depth - 1))
    const deep = system.spawn('deep', nested(16))
    const endless = system.spawn('endless', nested(Infinity))
    run()

    assert.equal(deep.tell('lives'), undefined)
    assert.equal(accident((await endless.ended).error).code, 'not-a-behavior')
  })
})
