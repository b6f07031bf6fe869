import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { ask, receive, retry, setup, type Behavior, type Ref } from '../kernel/index.ts'
import { hop } from './settling.ts'
import { world, type World, type WorldOptions } from './world.ts'

type Ball = Readonly<{ left: number; from: Ref<Ball> }>

/** Sends every ball back until it has been hit often enough. */
function player(): Behavior<Ball> {
  return receive((ctx, { left, from }) => {
    if (left > 0) from.tell({ left: left - 1, from: ctx.self })
  })
}

/** Four players, each serving a ball to the next. */
function tournament(w: World): void {
  const players = ['a', 'b', 'c', 'd'].map((name) => w.system.spawn(name, player()))
  for (const [n, each] of players.entries()) {
    each.tell({ left: 5, from: players[(n + 1) % players.length]! })
  }
}

async function hashOf(options: WorldOptions): Promise<string> {
  await using w = world(options)
  tournament(w)
  await w.run()
  return w.traceHash
}

function ticking(everyMs: number): Behavior<string> {
  return setup((ctx) => {
    ctx.timers.every('tick', everyMs, 'tick')
    return receive(() => undefined)
  })
}

function deferred(): { promise: Promise<string>; resolve: (value: string) => void } {
  const { promise, resolve } = Promise.withResolvers<string>()
  return { promise, resolve }
}

describe('the seed of a world', () => {
  test('decides everything: the same seed and options give the same trace and hash', async () => {
    for (const options of [{}, { seed: 5 }, { seed: 5, order: 'newest', turnMsMax: 3 } as const]) {
      assert.equal(await hashOf(options), await hashOf(options))
    }
  })

  test('of another world gives another order', async () => {
    const hashes = new Set<string>()
    for (let seed = 0; seed < 50; seed++) hashes.add(await hashOf({ seed }))
    assert.ok(hashes.size > 45, `${hashes.size} of 50`)
  })

  test('never changes the order between one sender and one receiver', async () => {
    for (let seed = 0; seed < 50; seed++) {
      await using w = world({ seed })
      const heard: number[] = []
      const sink = w.system.spawn(
        'sink',
        receive<number>((_ctx, n) => void heard.push(n)),
      )
      w.system.spawn('noise', ticking(10))
      const source = w.system.spawn(
        'source',
        receive<number>((ctx, n) => {
          sink.tell(n)
          if (n < 20) ctx.self.tell(n + 1)
        }),
      )
      source.tell(0)
      await w.advance(100)
      assert.deepEqual(heard, [...Array(21).keys()])
    }
  })

  test('finds both ends of a race', async () => {
    const firsts = new Set<string>()
    for (let seed = 0; seed < 20; seed++) {
      await using w = world({ seed })
      const finish = w.inbox<string>('finish')
      for (const name of ['hare', 'tortoise']) {
        const runner = receive<string>((_ctx, message) => void finish.tell(message))
        w.system.spawn(name, runner).tell(name)
      }
      firsts.add(await finish.take())
    }
    assert.deepEqual([...firsts].toSorted(), ['hare', 'tortoise'])
  })

  test('decides the draws of the kernel too, such as the jitter of a back-off', async () => {
    const pauses = new Set<number>()
    for (let seed = 0; seed < 20; seed++) {
      await using w = world({ seed })
      const failing = receive<string>(() => {
        throw new Error('no')
      })
      const supervision = retry({ max: 1, backoff: { minMs: 1_000, jitter: 0.5 } })
      w.system.spawn('failing', failing, { supervision }).tell('go')
      await w.run()
      pauses.add(w.clock.monotonic())
    }
    assert.ok(pauses.size > 10)
  })

  test('gives the scenario draws of its own, which change nothing else', async () => {
    await using one = world({ seed: 3 })
    await using other = world({ seed: 3 })
    assert.equal(one.random.next(), other.random.next())
    one.random.next()
    tournament(one)
    tournament(other)
    await one.run()
    await other.run()
    assert.equal(one.traceHash, other.traceHash)
  })

  test('hashes what was told to inboxes too', async () => {
    const hashes = ['a', 'b'].map((message) => {
      const w = world()
      w.inbox<string>('box').tell(message)
      return w.traceHash
    })
    assert.notEqual(hashes[0], hashes[1])
  })

  test('hashes a trace that grows as one that is read at its end', async () => {
    await using w = world()
    tournament(w)
    assert.notEqual(w.traceHash, '')
    await w.run()
    const end = w.traceHash
    assert.equal(await hashOf({}), end)
  })
})

describe('turning a world', () => {
  test('runs until nobody is ready and no timer waits', async () => {
    await using w = world()
    const log: string[] = []
    w.system.spawn(
      'a',
      setup<string>((ctx) => {
        ctx.timers.after('later', 60_000, 'later')
        return receive((_ctx, message) => void log.push(message))
      }),
    )

    await w.run()

    assert.deepEqual(log, ['later'])
    assert.equal(w.clock.monotonic(), 60_000)
    assert.equal(w.clock.next, undefined)
    assert.ok(w.steps > 0)
  })

  test('nothing moves unless somebody turns it', async () => {
    await using w = world()
    const log: string[] = []
    w.system
      .spawn(
        'a',
        receive<string>((_ctx, message) => void log.push(message)),
      )
      .tell('x')

    await hop()
    assert.deepEqual(log, [])
    await w.run()
    assert.deepEqual(log, ['x'])
  })

  test('advances exactly as far as it is told, with everything on the way', async () => {
    await using w = world()
    const seen: number[] = []
    w.system.spawn(
      'a',
      setup<string>((ctx) => {
        ctx.timers.every('tick', 100, 'tick')
        return receive(() => void seen.push(w.clock.monotonic()))
      }),
    )

    await w.advance(350)
    assert.deepEqual(seen, [100, 200, 300])
    assert.equal(w.clock.monotonic(), 350)
    await w.advance(50)
    assert.deepEqual(seen, [100, 200, 300, 400])
  })

  test('a world that never rests is given up, by time or by turns', async () => {
    await using w = world({ msMax: 10_000, stepsMax: 500 })
    w.system.spawn('clock', ticking(1_000))
    await assert.rejects(w.run(), {
      code: 'still-busy',
      message: /after 10000 ms of virtual time/,
    })
    assert.equal(w.clock.monotonic(), 10_000)

    const loop = w.system.spawn(
      'loop',
      receive<string>((ctx, m) => void ctx.self.tell(m)),
    )
    loop.tell('again')
    await assert.rejects(w.run(), { code: 'still-busy', message: /after 500 turns/ })
    loop.stop()
    await w.advance(1)
  })

  test('until a promise settles, and gives its value or its error', async () => {
    await using w = world()
    const echo = w.system.spawn(
      'echo',
      receive<Ref<string>>((_ctx, to) => void to.tell('here')),
    )
    const mute = w.system.spawn(
      'mute',
      receive<Ref<string>>(() => undefined),
    )

    assert.equal(await w.until(ask<Ref<string>, string>(echo, (to) => to)), 'here')
    await assert.rejects(
      w.until(ask<Ref<string>, string>(mute, (to) => to, { deadlineMs: 2_000 })),
      { code: 'deadline-passed' },
    )
    assert.ok(w.clock.monotonic() >= 2_000 && w.clock.monotonic() < 2_100)
  })

  test('until a condition holds', async () => {
    await using w = world()
    w.system.spawn('clock', ticking(1_000))

    await w.until(() => w.clock.monotonic() >= 5_000)

    assert.equal(w.clock.monotonic(), 5_000)
  })

  test('waiting for what never comes says whether time or work ran out', async () => {
    await using w = world()
    await assert.rejects(w.until(deferred().promise), {
      code: 'not-reached',
      message: /nothing is left to do/,
    })

    w.system.spawn('clock', ticking(1_000))
    await assert.rejects(
      w.until(() => false, { withinMs: 4_500 }),
      {
        code: 'not-reached',
        message: /4500 ms of virtual time are over/,
      },
    )
  })

  test('async handlers go on between turns, as often as they need', async () => {
    await using w = world()
    const log: string[] = []
    const gate = deferred()
    const slow = w.system.spawn(
      'slow',
      receive<string>(async (_ctx, message) => {
        for (let n = 0; n < 10; n++) await Promise.resolve()
        log.push(`${message} ${await gate.promise}`)
        return undefined
      }),
    )
    slow.tell('a')
    slow.tell('b')
    await w.run()
    assert.deepEqual(log, [])

    gate.resolve('open')
    await w.run()
    assert.deepEqual(log, ['a open', 'b open'])
  })

  test('an actor may ask another inside a handler', async () => {
    await using w = world()
    const echo = w.system.spawn(
      'echo',
      receive<Ref<string>>((_ctx, to) => void to.tell('here')),
    )
    const log = w.inbox<string>('log')
    const asker = w.system.spawn(
      'asker',
      receive<string>(async () => {
        log.tell(await ask<Ref<string>, string>(echo, (to) => to))
        return undefined
      }),
    )
    asker.tell('go')

    await log.expect('here')
  })

  test('turns take time where they are said to, and timers come late by it', async () => {
    await using w = world({ turnMsMax: 10 })
    const late: number[] = []
    w.system.spawn(
      'a',
      setup<string>((ctx) => {
        ctx.timers.every('tick', 100, 'tick')
        return receive(() => void late.push(w.clock.monotonic() % 100))
      }),
    )
    await w.advance(10_000)

    assert.ok(late.some((ms) => ms > 0) && late.every((ms) => ms <= 99))
    await using still = world()
    tournament(still)
    await still.run()
    assert.equal(still.clock.monotonic(), 0)
  })
})

describe('what a world shows', () => {
  test('an assertion inside an actor fails whoever turns the world', async () => {
    await using w = world()
    const strict = w.system.spawn(
      'strict',
      receive<number>((_ctx, n) => assert.equal(n, 1)),
    )
    strict.tell(2)

    await assert.rejects(w.run(), { name: 'AssertionError' })
  })

  test('changing a message fails it too, unless messages are left unfrozen', async () => {
    const greedy = receive<{ n: number }>((_ctx, message) => void message.n++)
    await using w = world()
    w.system.spawn('greedy', greedy).tell({ n: 1 })
    await assert.rejects(w.run(), { code: 'message-mutated', message: /^\/greedy changed/ })

    await using loose = world({ freeze: false })
    loose.system.spawn('greedy', greedy).tell({ n: 1 })
    await loose.run()
  })

  test('other failures and dead letters are kept', async () => {
    await using w = world()
    const failing = w.system.spawn(
      'failing',
      receive<string>(() => {
        throw new Error('no')
      }),
    )
    failing.tell('a')
    failing.tell('b')
    await w.run()

    assert.deepEqual(w.failures, [{ actor: '/failing', error: new Error('no'), message: 'a' }])
    assert.deepEqual(
      w.deadLetters.map(({ reason, message }) => [reason, message]),
      [['stopped', 'b']],
    )
  })

  test('its mailboxes are as small as it says', async () => {
    await using w = world({ bound: 2 })
    const child = receive<number>(() => undefined)
    const refusals = w.inbox<string | undefined>('refusals')
    w.system.spawn(
      'parent',
      setup<string>((ctx) => {
        const small = ctx.spawn('child', child)
        const roomy = ctx.spawn('roomy', child, { bound: 3 })
        for (let n = 0; n < 3; n++) refusals.tell(small.tell(n)?.code)
        for (let n = 0; n < 3; n++) refusals.tell(roomy.tell(n)?.code)
        return receive(() => undefined)
      }),
    )
    await w.run()

    assert.deepEqual(refusals.messages, [
      undefined,
      undefined,
      'mailbox-full',
      undefined,
      undefined,
      undefined,
    ])
  })

  test('a link is as bad as the options say, and what it loses is in the trace', async () => {
    await using w = world({ seed: 1, lossShare: 0.5, repeatShare: 0.5, delayMsMax: 50 })
    const heard: number[] = []
    const sink = w.link(
      w.system.spawn(
        'sink',
        receive<number>((_ctx, n) => void heard.push(n)),
      ),
    )
    for (let n = 0; n < 100; n++) sink.tell(n)
    await w.run()

    const lost = w.trace.filter(({ facts }) => facts['reason'] === 'lost-on-link').length
    assert.ok(lost > 30 && lost < 70)
    assert.equal(new Set(heard).size, 100 - lost)
    assert.ok(heard.length > 100 - lost)
    assert.ok(w.clock.monotonic() > 0)
    assert.deepEqual(
      heard,
      heard.toSorted((a, b) => a - b),
    )
  })
})

describe('the end of a world', () => {
  test('ends its actors, also those that take their time', async () => {
    const log: string[] = []
    {
      await using w = world()
      w.system.spawn(
        'slow',
        receive<string>(() => undefined, {
          async onStop() {
            await Promise.resolve()
            log.push('ended')
          },
        }),
      )
      w.system.spawn('clock', ticking(10))
    }
    assert.deepEqual(log, ['ended'])
  })

  test('abandons an actor that never ends, and names it', async () => {
    const w = world()
    w.system.spawn(
      'stuck',
      receive<string>(() => undefined, { onStop: () => new Promise<void>(() => undefined) }),
    )

    assert.deepEqual(await w.stop(), { overdue: ['/stuck'] })
    assert.equal(w.clock.monotonic(), 10_000)
  })

  test('is the end of one world only', async () => {
    await using one = world()
    await using other = world()
    const log = other.inbox<string>('log')
    const survivor = other.system.spawn(
      'a',
      receive<string>((_ctx, m) => void log.tell(m)),
    )
    one.system.spawn(
      'a',
      receive<string>(() => undefined),
    )

    await one.stop()
    survivor.tell('alive')

    await log.expect('alive')
  })
})
