/* oxlint-disable unicorn/no-thenable -- what follows a retry or a restart is data, not a function */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, afterIo, random } from '../std/index.ts'
import { virtualClock, type VirtualClock } from '../testkit/index.ts'
import {
  createSteppedSystem,
  escalate,
  receive,
  restart,
  resume,
  retry,
  setup,
  stop,
  withContext,
  type Behavior,
  type Ended,
  type Handle,
  type Ref,
  type SteppedSystem,
  type Supervision,
  type TraceEntry,
} from './index.ts'
import {
  BACKOFF_DEFAULT,
  RESTARTS_DEFAULT,
  RESTART_WINDOW_MS_DEFAULT,
  RETRIES_DEFAULT,
  pauseMs,
} from './supervision.ts'

/** The same pause every time. */
const STEADY = { minMs: 100, maxMs: 100, factor: 1, jitter: 0 }
const AT_ONCE = { minMs: 0, maxMs: 0, factor: 1, jitter: 0 }

type Rig = Readonly<{
  clock: VirtualClock
  system: SteppedSystem
  trace: TraceEntry[]
  run: () => void
  /** Moves time, timer by timer, and runs after each. */
  pass: (ms: number) => void
}>

function rig(seed = 1): Rig {
  const clock = virtualClock()
  const system = createSteppedSystem({ clock, random: random(seed) })
  const trace: TraceEntry[] = []
  system.trace((entry) => trace.push(entry))
  const run = (): void => {
    while (system.step());
  }
  return {
    clock,
    system,
    trace,
    run,
    pass(ms) {
      const target = clock.monotonic() + ms
      run()
      for (let due = clock.next; due !== undefined && due <= target; due = clock.next) {
        clock.advance(Math.max(0, due - clock.monotonic()))
        run()
      }
      clock.advance(target - clock.monotonic())
    },
  }
}

type Attempts = Readonly<{ actor: Handle<string>; attempts: string[] }>

/** An actor that fails at each message as often as is said, and notes every attempt with its time. */
function failing(
  { system, clock }: Rig,
  times: Readonly<Record<string, number>>,
  supervision: Supervision,
  handle: 'sync' | 'async' = 'sync',
): Attempts {
  const attempts: string[] = []
  const left = new Map(Object.entries(times))
  const attempt = (message: string): void => {
    attempts.push(`${message} at ${clock.monotonic()}`)
    const more = left.get(message) ?? 0
    if (more === 0) return
    left.set(message, more - 1)
    throw new Error(`no ${message}`)
  }
  const behavior =
    handle === 'sync'
      ? receive<string>((_ctx, message) => attempt(message))
      : receive<string>(async (_ctx, message) => attempt(message))
  return { actor: system.spawn('subject', behavior, { supervision }), attempts }
}

/** Fails at every message. */
function thrower(error: unknown = new Error('no')): Behavior<string> {
  return receive<string>(() => {
    throw error
  })
}

/** A parent and its child, which leaves its failures to the parent. */
function family(
  stage: Rig,
  supervision: Supervision | undefined,
): Readonly<{ parent: Handle<string>; child: () => Ref<string>; seen: string[] }> {
  const seen: string[] = []
  let child: Ref<string> | undefined
  const parent = stage.system.spawn(
    'parent',
    setup<string>((ctx) => {
      seen.push('parent begins')
      child = ctx.spawn(
        'child',
        receive<string>((_ctx, message) => {
          seen.push(`child ${message}`)
          if (message === 'fail') throw new Error('no')
        }),
        { supervision: escalate() },
      )
      return receive<string>((_ctx, message) => void seen.push(`parent ${message}`))
    }),
    supervision === undefined ? {} : { supervision },
  )
  stage.run()
  return {
    parent,
    seen,
    child() {
      assert.ok(child !== undefined)
      return child
    },
  }
}

function settle(): Promise<void> {
  return new Promise(afterIo)
}

function facts(trace: readonly TraceEntry[], type: TraceEntry['type'], fact: string): unknown[] {
  return trace.filter((entry) => entry.type === type).map((entry) => entry.facts[fact])
}

describe('resume', () => {
  test('loses the message and goes on as before', () => {
    const { system, run } = rig()
    let count = 0
    const seen: number[] = []
    const actor = system.spawn(
      'counter',
      receive<string>((_ctx, message) => {
        count += 1
        if (message === 'bad') throw new Error('no')
        seen.push(count)
      }),
      { supervision: resume() },
    )

    for (const message of ['good', 'bad', 'good']) actor.tell(message)
    run()

    assert.deepEqual(seen, [1, 3])
    assert.equal(system.metrics().failures, 1)
  })
})

describe('retry', () => {
  test('runs the same message again before any other, each pause longer than the one before', () => {
    const stage = rig()
    const { actor, attempts } = failing(
      stage,
      { a: 3 },
      retry({ max: 3, backoff: { minMs: 100, maxMs: 10_000, factor: 2, jitter: 0 } }),
    )

    for (const message of ['a', 'b']) actor.tell(message)
    stage.pass(10_000)

    assert.deepEqual(attempts, ['a at 0', 'a at 100', 'a at 300', 'a at 700', 'b at 700'])
    assert.equal(stage.system.metrics().retries, 3)
    assert.deepEqual(facts(stage.trace, 'retried', 'attempt'), [1, 2, 3])
  })

  test('an async handler is retried the same way', async () => {
    const stage = rig()
    const { actor, attempts } = failing(stage, { a: 2 }, retry({ backoff: STEADY }), 'async')

    for (const message of ['a', 'b']) actor.tell(message)
    for (let n = 0; n < 4; n++) {
      stage.run()
      await settle()
      stage.pass(100)
    }

    assert.deepEqual(
      attempts.map((each) => each[0]),
      ['a', 'a', 'a', 'b'],
    )
  })

  test('what arrives during the pause waits its turn', () => {
    const stage = rig()
    const { actor, attempts } = failing(stage, { a: 1 }, retry({ backoff: STEADY }))
    actor.tell('a')
    stage.run()
    actor.tell('b')
    stage.pass(99)
    assert.deepEqual(attempts, ['a at 0'])

    stage.pass(1)
    assert.deepEqual(attempts, ['a at 0', 'a at 100', 'b at 100'])
  })

  test('without a pause it is the very next turn', () => {
    const stage = rig()
    const { actor, attempts } = failing(stage, { a: 3 }, retry({ backoff: AT_ONCE }))
    for (const message of ['a', 'b']) actor.tell(message)
    stage.run()

    assert.deepEqual(attempts, ['a at 0', 'a at 0', 'a at 0', 'a at 0', 'b at 0'])
  })

  test('draws its jitter from the random of the system', () => {
    const backoff = { minMs: 1_000, maxMs: 60_000, factor: 2, jitter: 0.5 }
    const draws = random(42)
    const stage = rig(42)
    const { actor } = failing(stage, { a: 4 }, retry({ max: 4, backoff }))
    actor.tell('a')
    stage.pass(60_000)

    const pauses = facts(stage.trace, 'retried', 'pauseMs')
    assert.deepEqual(
      pauses,
      [1, 2, 3, 4].map((nth) => pauseMs(backoff, nth, draws.next())),
    )
    for (const [index, pause] of pauses.entries()) {
      const whole = 1_000 * 2 ** index
      assert.ok(typeof pause === 'number' && pause > whole / 2 && pause < whole)
    }
  })

  test('counts anew after a success', () => {
    const stage = rig()
    const { actor, attempts } = failing(stage, { a: 2, b: 2 }, retry({ max: 2, backoff: AT_ONCE }))
    for (const message of ['a', 'b', 'c']) actor.tell(message)
    stage.run()

    assert.equal(attempts.length, 7)
    assert.equal(attempts.at(-1), 'c at 0')
    assert.deepEqual(facts(stage.trace, 'retried', 'attempt'), [1, 2, 1, 2])
  })

  test(`goes on ${RETRIES_DEFAULT} times unless said otherwise, and not once more`, async () => {
    for (const [failures, survives] of [
      [RETRIES_DEFAULT, true],
      [RETRIES_DEFAULT + 1, false],
    ] as const) {
      const stage = rig()
      const { actor, attempts } = failing(stage, { a: failures }, retry())
      actor.tell('a')
      stage.pass(60_000)

      assert.equal(attempts.length, RETRIES_DEFAULT + 1)
      assert.equal(actor.tell('b') === undefined, survives)
      if (!survives) assert.equal((await actor.ended).cause, 'failed')
    }
  })

  test('none at all is what follows at once', () => {
    const stage = rig()
    const { actor, attempts } = failing(stage, { a: 1 }, retry({ max: 0, otherwise: resume() }))
    for (const message of ['a', 'b']) actor.tell(message)
    stage.run()

    assert.deepEqual(attempts, ['a at 0', 'b at 0'])
  })

  test('given up, ends in what was said to follow', async () => {
    for (const [otherwise, left, cause] of [
      [resume(), ['b at 0'], undefined],
      [restart({ backoff: AT_ONCE }), ['b at 0'], undefined],
      [stop(), [], 'failed'],
      [escalate(), [], 'failed'],
      [retry({ max: 1, backoff: AT_ONCE, otherwise: resume() }), ['a at 0', 'b at 0'], undefined],
    ] as const) {
      const stage = rig()
      const { actor, attempts } = failing(
        stage,
        { a: 9 },
        retry({ max: 1, backoff: AT_ONCE, otherwise }),
      )
      for (const message of ['a', 'b']) actor.tell(message)
      stage.run()

      assert.deepEqual(attempts, ['a at 0', 'a at 0', ...left], otherwise.type)
      if (cause !== undefined) assert.equal((await actor.ended).cause, cause)
    }
  })

  test('counts whatever the message is, also one that does not equal itself', () => {
    for (const message of [Number.NaN, undefined, 0, 'text']) {
      const { system, run } = rig()
      let attempts = 0
      const actor = system.spawn(
        'subject',
        receive<unknown>(() => {
          if (++attempts > 50) return 'stopped'
          throw new Error('no')
        }),
        { supervision: retry({ max: 2, backoff: AT_ONCE, otherwise: resume() }) },
      )
      actor.tell(message)
      run()

      assert.equal(attempts, 3, String(message))
    }
  })

  test('counts an answer that is no behavior as a failure of the message', async () => {
    for (const answer of [() => 42, () => Promise.resolve(42)]) {
      const stage = rig()
      let attempts = 0
      const actor = stage.system.spawn(
        'subject',
        receive<string>(() => {
          if (++attempts > 50) return 'stopped'
          return answer() as never
        }),
        { supervision: retry({ max: 2, backoff: AT_ONCE, otherwise: resume() }) },
      )
      actor.tell('a')
      for (let n = 0; n < 60; n++) {
        stage.run()
        await settle()
      }

      assert.equal(attempts, 3)
    }
  })

  test('keeps the context of the message', () => {
    const stage = rig()
    const seen: unknown[] = []
    const actor = stage.system.spawn(
      'subject',
      receive<string>((ctx) => {
        seen.push(ctx.context)
        if (seen.length < 3) throw new Error('no')
      }),
      { supervision: retry({ backoff: STEADY }) },
    )
    withContext('trace-1', () => actor.tell('a'))
    stage.pass(1_000)

    assert.deepEqual(seen, ['trace-1', 'trace-1', 'trace-1'])
  })

  test('is not lost when the actor is restarted meanwhile', () => {
    const stage = rig()
    const seen: string[] = []
    let child: Ref<string> | undefined
    const parent = stage.system.spawn(
      'parent',
      setup<string>((ctx) => {
        child = ctx.spawn('child', thrower(), { supervision: escalate() })
        return receive<string>((_ctx, message) => {
          seen.push(message)
          if (seen.length === 1) throw new Error('no')
        })
      }),
      { supervision: retry({ backoff: STEADY, otherwise: restart({ backoff: AT_ONCE }) }) },
    )
    stage.run()
    parent.tell('a')
    stage.run()
    assert.deepEqual(seen, ['a'])

    child?.tell('fail')
    stage.pass(1_000)

    assert.equal(stage.system.metrics().restarts, 1)
    assert.deepEqual(seen, ['a', 'a'])
  })
})

describe('restart', () => {
  test('begins with a new state, and keeps mailbox and address', () => {
    const { system, run } = rig()
    const seen: string[] = []
    let lives = 0
    const actor = system.spawn(
      'counter',
      setup<string>(() => {
        lives += 1
        let count = 0
        return receive<string>((_ctx, message) => {
          count += 1
          if (message === 'bad') throw new Error('no')
          seen.push(`${message} ${count} in life ${lives}`)
        })
      }),
      { supervision: restart({ backoff: AT_ONCE }) },
    )
    const address = system.addressOf(actor)

    for (const message of ['a', 'b', 'bad', 'c']) actor.tell(message)
    run()
    system.tellAt(address, 'd')
    run()

    assert.deepEqual(seen, ['a 1 in life 1', 'b 2 in life 1', 'c 1 in life 2', 'd 2 in life 2'])
    assert.equal(system.find('/counter'), actor)
    assert.equal(system.metrics().restarts, 1)
  })

  test('goes back to the behavior the actor was spawned with', () => {
    const { system, run } = rig()
    const seen: string[] = []
    const second = receive<string>((_ctx, message) => {
      if (message === 'bad') throw new Error('no')
      seen.push(`second ${message}`)
    })
    const first = receive<string>((_ctx, message) => {
      seen.push(`first ${message}`)
      return second
    })
    const actor = system.spawn('actor', first, { supervision: restart({ backoff: AT_ONCE }) })

    for (const message of ['a', 'b', 'bad', 'c', 'd']) actor.tell(message)
    run()

    assert.deepEqual(seen, ['first a', 'second b', 'first c', 'second d'])
  })

  test('ends the children first, youngest first, then itself, then begins anew', () => {
    const { system, run } = rig()
    const order: string[] = []
    const noting = (name: string): Behavior<string> =>
      receive<string>(() => undefined, { onStop: () => void order.push(`${name} ends`) })
    const parent = system.spawn(
      'parent',
      setup<string>((ctx) => {
        order.push('parent begins')
        for (const name of ['a', 'b']) ctx.spawn(name, noting(name))
        return receive<string>(
          () => {
            throw new Error('no')
          },
          { onStop: () => void order.push('parent ends') },
        )
      }),
      { supervision: restart({ backoff: AT_ONCE }) },
    )
    parent.tell('fail')
    run()

    assert.deepEqual(order, ['parent begins', 'b ends', 'a ends', 'parent ends', 'parent begins'])
    assert.equal(system.metrics().stopped, 2)
  })

  test('waits for an async onStop before it begins anew', async () => {
    const stage = rig()
    const { promise, resolve } = Promise.withResolvers<void>()
    const order: string[] = []
    const actor = stage.system.spawn(
      'actor',
      setup<string>(() => {
        order.push('begins')
        return receive<string>(
          (_ctx, message) => {
            order.push(message)
            if (message === 'fail') throw new Error('no')
          },
          { onStop: () => promise },
        )
      }),
      { supervision: restart({ backoff: AT_ONCE }) },
    )
    for (const message of ['fail', 'next']) actor.tell(message)
    stage.run()
    await settle()
    stage.run()
    assert.deepEqual(order, ['begins', 'fail'])

    resolve()
    await settle()
    stage.run()
    assert.deepEqual(order, ['begins', 'fail', 'begins', 'next'])
  })

  test('pauses longer each time', () => {
    const stage = rig()
    const { actor, attempts } = failing(
      stage,
      { a: 1, b: 1, c: 1 },
      restart({ backoff: { minMs: 100, maxMs: 300, factor: 2, jitter: 0 } }),
    )
    for (const message of ['a', 'b', 'c', 'd']) actor.tell(message)
    stage.pass(10_000)

    assert.deepEqual(attempts, ['a at 0', 'b at 100', 'c at 300', 'd at 600'])
  })

  test('happens at most so often within its window', async () => {
    const stage = rig()
    const { actor } = failing(
      stage,
      { a: 9 },
      restart({ max: 2, windowMs: 1_000, backoff: AT_ONCE }),
    )
    for (let n = 0; n < 2; n++) actor.tell('a')
    stage.run()
    stage.pass(1_000)
    for (let n = 0; n < 2; n++) actor.tell('a')
    stage.run()
    assert.equal(actor.tell('b'), undefined)
    assert.equal(stage.system.metrics().restarts, 4)

    stage.pass(999)
    actor.tell('a')
    stage.run()

    const ended = await actor.ended
    assert.equal(ended.cause, 'restart-limit')
    assert.ok(ended.error instanceof Error && ended.error.message === 'no a')
  })

  test(`happens ${RESTARTS_DEFAULT} times in ${RESTART_WINDOW_MS_DEFAULT} ms unless said otherwise`, () => {
    for (const [failures, survives] of [
      [RESTARTS_DEFAULT, true],
      [RESTARTS_DEFAULT + 1, false],
    ] as const) {
      const stage = rig()
      const { actor } = failing(stage, { a: 99 }, restart({ backoff: AT_ONCE }))
      for (let n = 0; n < failures; n++) actor.tell('a')
      stage.run()
      stage.pass(RESTART_WINDOW_MS_DEFAULT - 1)

      assert.equal(actor.tell('b') === undefined, survives)
      assert.equal(stage.system.metrics().restarts, RESTARTS_DEFAULT)
    }
  })

  test('too often, is left to the parent where that was said', async () => {
    const stage = rig()
    const ends: Ended[] = []
    const parent = stage.system.spawn(
      'parent',
      setup<string>((ctx) => {
        const child = ctx.spawn('child', thrower(), {
          supervision: restart({ max: 1, backoff: AT_ONCE, otherwise: escalate() }),
        })
        for (let n = 0; n < 2; n++) child.tell('fail')
        return receive<string>(() => undefined)
      }),
    )
    void parent.ended.then((ended) => ends.push(ended))
    stage.run()
    await settle()

    assert.equal(ends[0]?.cause, 'failed')
    assert.ok(ends[0].error instanceof Accident && ends[0].error.code === 'child-failed')
  })

  test('of an actor that cannot even begin goes on to its limit', async () => {
    const stage = rig()
    let tries = 0
    const actor = stage.system.spawn(
      'actor',
      setup<string>(() => {
        tries += 1
        throw new Error('no')
      }),
      { supervision: restart({ max: 3, backoff: AT_ONCE }) },
    )
    stage.run()

    assert.equal(tries, 4)
    assert.equal((await actor.ended).cause, 'restart-limit')
  })

  test('gives up what its handler awaited: a late settling changes nothing', async () => {
    const stage = rig()
    const { promise, resolve } = Promise.withResolvers<'stopped'>()
    const seen: string[] = []
    let child: Ref<string> | undefined
    const parent = stage.system.spawn(
      'parent',
      setup<string>((ctx) => {
        child = ctx.spawn('child', thrower(), { supervision: escalate() })
        return receive<string>((own, message) => {
          seen.push(message)
          own.signal.addEventListener('abort', () => seen.push('aborted'))
          return message === 'wait' ? promise : 'same'
        })
      }),
      { supervision: restart({ backoff: AT_ONCE }) },
    )
    stage.run()
    for (const message of ['wait', 'next']) parent.tell(message)
    stage.run()
    assert.deepEqual(seen, ['wait'])

    child?.tell('fail')
    stage.run()
    assert.deepEqual(seen, ['wait', 'aborted', 'next'])

    resolve('stopped')
    await settle()
    stage.run()
    assert.equal(parent.tell('lives'), undefined)
    stage.run()
    assert.deepEqual(seen, ['wait', 'aborted', 'next', 'lives'])
  })
})

describe('stop', () => {
  test('is what happens unless said otherwise, and the watcher learns why', () => {
    const { system, run } = rig()
    const error = new Error('no')
    const ends: Ended[] = []
    const target = system.spawn('target', thrower(error))
    system.spawn(
      'watcher',
      setup<Ended>((ctx) => {
        ctx.watch(target, (ended) => ended)
        return receive<Ended>((_ctx, ended) => void ends.push(ended))
      }),
    )
    run()
    target.tell('fail')
    run()

    assert.deepEqual(ends, [{ path: '/target', cause: 'failed', error }])
  })
})

describe('escalate', () => {
  test('lets the child go on where the parent resumes', () => {
    const stage = rig()
    const { child, parent, seen } = family(stage, resume())
    for (const message of ['fail', 'next']) child().tell(message)
    parent.tell('next')
    stage.run()

    assert.deepEqual(seen.toSorted(), ['child fail', 'child next', 'parent begins', 'parent next'])
    assert.equal(stage.system.metrics().escalations, 1)
  })

  test('restarts parent and child where the parent restarts', () => {
    const stage = rig()
    const { child, seen } = family(stage, restart({ backoff: AT_ONCE }))
    const first = child()
    for (const message of ['fail', 'lost']) first.tell(message)
    stage.run()

    assert.deepEqual(seen, ['parent begins', 'child fail', 'parent begins'])
    assert.equal(first.tell('old')?.code, 'actor-stopped')
    child().tell('new')
    stage.run()
    assert.equal(seen.at(-1), 'child new')
  })

  test('ends both where the parent stops, and the cause is told', async () => {
    const stage = rig()
    const { child, parent } = family(stage, undefined)
    child().tell('fail')
    stage.run()

    const { cause, error } = await parent.ended
    assert.equal(cause, 'failed')
    assert.ok(error instanceof Accident)
    assert.equal(error.code, 'child-failed')
    assert.equal(error.detail['actor'], '/parent')
    assert.equal(error.detail['child'], '/parent/child')
    assert.ok(error.cause instanceof Error && error.cause.message === 'no')
  })

  test('is no message that the parent could run again: its retry is passed over', () => {
    const stage = rig()
    const { child, seen } = family(stage, retry({ otherwise: resume() }))
    for (const message of ['fail', 'next']) child().tell(message)
    stage.run()

    assert.deepEqual(seen, ['parent begins', 'child fail', 'child next'])
    assert.equal(stage.system.metrics().retries, 0)
  })

  test('lets the child rest until the parent has decided', () => {
    const stage = rig()
    const { child, seen } = family(stage, resume())
    for (const message of ['fail', 'next']) child().tell(message)
    stage.system.step()
    assert.equal(seen.at(-1), 'child fail')

    assert.equal(stage.system.readyDepth, 1)
    stage.system.step(() => 0)
    assert.equal(seen.at(-1), 'child fail')
    stage.run()
    assert.equal(seen.at(-1), 'child next')
  })

  test('at the top of the tree ends the actor', async () => {
    const { system, run } = rig()
    const error = new Error('no')
    const actor = system.spawn('actor', thrower(error), { supervision: escalate() })
    const other = system.spawn('other', thrower())
    actor.tell('fail')
    run()

    assert.deepEqual(await actor.ended, { path: '/actor', cause: 'failed', error })
    assert.equal(other.tell('lives'), undefined)
  })

  test('goes up as far as somebody decides', async () => {
    const stage = rig()
    const seen: string[] = []
    const level = (depth: number): Behavior<string> =>
      setup<string>((ctx) => {
        seen.push(ctx.path)
        if (depth === 0) return thrower()
        const child = ctx.spawn('below', level(depth - 1), { supervision: escalate() })
        return receive<string>((_ctx, message) => void child.tell(message))
      })
    const top = stage.system.spawn('top', level(3), {
      supervision: restart({ max: 1, backoff: AT_ONCE }),
    })
    stage.run()
    const begun = seen.length
    assert.equal(begun, 4)

    top.tell('fail')
    stage.run()
    assert.equal(seen.length, 2 * begun)
    assert.equal(stage.system.metrics().escalations, 3)

    top.tell('fail')
    stage.run()
    const { cause, error } = await top.ended
    assert.equal(cause, 'restart-limit')
    const causes: unknown[] = []
    for (let at: unknown = error; at instanceof Error; at = at.cause) causes.push(at.message)
    assert.equal(causes.length, 4)
    assert.equal(causes.at(-1), 'no')
  })
})

describe('the pause of a back-off', () => {
  test('grows by its factor up to its maximum', () => {
    const backoff = { minMs: 10, maxMs: 100, factor: 3, jitter: 0 }

    assert.deepEqual(
      [1, 2, 3, 4, 50].map((attempt) => pauseMs(backoff, attempt, 0.5)),
      [10, 30, 90, 100, 100],
    )
  })

  test('is shortened by up to its jitter, never lengthened', () => {
    const backoff = { minMs: 1_000, maxMs: 1_000, factor: 1, jitter: 0.2 }

    assert.equal(pauseMs(backoff, 1, 0), 1_000)
    assert.equal(pauseMs(backoff, 1, 0.5), 900)
    assert.ok(pauseMs(backoff, 1, 1 - Number.EPSILON) >= 800)
  })

  test('unless said otherwise begins at a tenth of a second and ends at ten', () => {
    assert.equal(pauseMs(BACKOFF_DEFAULT, 1, 0), 100)
    assert.equal(pauseMs(BACKOFF_DEFAULT, 7, 0), 6_400)
    assert.equal(pauseMs(BACKOFF_DEFAULT, 8, 0), 10_000)
    assert.equal(pauseMs(BACKOFF_DEFAULT, 1_000, 0), 10_000)
  })
})
