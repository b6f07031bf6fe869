import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'

import { afterIo, random } from '../std/index.ts'
import { virtualClock, type VirtualClock } from '../testkit/index.ts'
import {
  after,
  all,
  any,
  capacity,
  createSteppedSystem,
  createSystem,
  manual,
  receive,
  settled,
  signal,
  type Handle,
  type ResumeCondition,
  type SteppedSystem,
  type SuspendReason,
  type SuspendToken,
} from './index.ts'

const REASONS: readonly SuspendReason[] = [
  'backpressure',
  'await',
  'rate-limit',
  'supervision',
  'external',
  'user',
]

type Rig = Readonly<{ clock: VirtualClock; system: SteppedSystem; run: () => void }>

function rig(): Rig {
  const clock = virtualClock()
  const system = createSteppedSystem({ clock, random: random(1) })
  const run = (): void => {
    while (system.step());
  }
  return { clock, system, run }
}

type Subject = Readonly<{ actor: Handle<string>; notes: string[] }>

/** An actor that notes what it is told. */
function subject(system: SteppedSystem, name = 'subject'): Subject {
  const notes: string[] = []
  const actor = system.spawn(
    name,
    receive<string>((_ctx, message) => void notes.push(message)),
  )
  return { actor, notes }
}

/** An actor with one message waiting, suspended on the condition. */
function resting(
  { system, run }: Rig,
  condition: ResumeCondition,
  name = 'subject',
): Subject & Readonly<{ token: SuspendToken }> {
  const { actor, notes } = subject(system, name)
  const token = actor.suspend('user', condition)
  actor.tell('work')
  run()
  return { actor, notes, token }
}

/** An actor that cannot go on, its mailbox full. */
function full(stage: Rig, bound: number): Subject & Readonly<{ hold: SuspendToken }> {
  const notes: string[] = []
  const actor = stage.system.spawn(
    'target',
    receive<string>((_ctx, message) => void notes.push(message)),
    { bound },
  )
  const hold = actor.suspend('external', manual())
  for (let n = 0; n < bound; n++) actor.tell(`${n}`)
  return { actor, notes, hold }
}

/** Lets everything that waits for a settled promise go on. */
function settle(): Promise<void> {
  return new Promise(afterIo)
}

describe('a suspended actor', () => {
  test('is never handed out by the drain, and the ready depth does not count it', () => {
    const { system, run } = rig()
    const subjects = [...new Array<undefined>(100).keys()].map((n) => subject(system, `a${n}`))
    for (const { actor } of subjects) actor.tell('work')
    assert.equal(system.readyDepth, 100)

    const draws = random(3)
    const rests = subjects.filter(() => draws.below(2) === 0)
    const tokens = rests.map(({ actor }) => actor.suspend('external', manual()))
    assert.equal(system.readyDepth, 100 - rests.length)
    run()

    for (const each of subjects) assert.equal(each.notes.length, rests.includes(each) ? 0 : 1)
    for (const { actor } of rests) actor.tell('more')
    assert.equal(system.readyDepth, 0)
    assert.equal(system.step(), false)

    for (const token of tokens) token.resume()
    assert.equal(system.readyDepth, rests.length)
  })

  test('handles everything that came meanwhile, in order, once it is resumed', () => {
    const { system, run } = rig()
    const { actor, notes } = subject(system)
    actor.tell('a')
    const token = actor.suspend('user', manual())
    for (const message of ['b', 'c']) actor.tell(message)
    run()
    assert.deepEqual(notes, [])

    token.resume()
    actor.tell('d')
    run()

    assert.deepEqual(notes, ['a', 'b', 'c', 'd'])
  })

  test('is resumed exactly once, however often its token is', () => {
    const { system, run } = rig()
    const { actor, notes } = subject(system)
    const token = actor.suspend('user', manual())
    const other = actor.suspend('user', manual())
    actor.tell('work')

    for (let n = 0; n < 3; n++) token.resume()
    run()
    assert.deepEqual(notes, [])
    assert.equal(system.metrics().resume_unbalanced, 2)

    other.resume()
    assert.equal(system.readyDepth, 1)
    other.resume()
    assert.equal(system.readyDepth, 1)
    run()
    assert.deepEqual(notes, ['work'])
    assert.equal(system.metrics().resume_count, 2)
  })

  test('waits for the last of its tokens, in whichever order they are resumed', () => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 0, 2],
      [1, 2, 0],
    ]) {
      const { system, run } = rig()
      const { actor, notes } = subject(system)
      const tokens = [1, 2, 3].map(() => actor.suspend('user', manual()))
      actor.tell('work')

      for (const [nth, index] of order.entries()) {
        run()
        assert.deepEqual(notes, [], `before resume number ${nth + 1}`)
        assert.equal(tokens[index]!.active, true)
        tokens[index]!.resume()
        assert.equal(tokens[index]!.active, false)
      }
      run()
      assert.deepEqual(notes, ['work'])
    }
  })

  test('may have suspended itself: it rests after the message, not in the middle of it', () => {
    const { system, run } = rig()
    const notes: string[] = []
    const tokens: SuspendToken[] = []
    const actor = system.spawn(
      'actor',
      receive<string>((ctx, message) => {
        if (message === 'rest') tokens.push(ctx.suspend('rate-limit', manual()))
        notes.push(message)
      }),
    )
    for (const message of ['a', 'rest', 'b']) actor.tell(message)
    run()
    assert.deepEqual(notes, ['a', 'rest'])

    tokens[0]?.resume()
    run()
    assert.deepEqual(notes, ['a', 'rest', 'b'])
  })

  test('may resume itself within the same message, as if nothing had been', () => {
    const { system, run } = rig()
    const notes: string[] = []
    const actor = system.spawn(
      'actor',
      receive<string>((ctx, message) => {
        notes.push(message)
        ctx.suspend('user', manual()).resume()
      }),
    )
    for (const message of ['a', 'b']) actor.tell(message)
    run()

    assert.deepEqual(notes, ['a', 'b'])
  })

  test('takes mail up to its bound, and not one more', () => {
    const { system, run } = rig()
    const notes: string[] = []
    const actor = system.spawn(
      'actor',
      receive<string>((_ctx, message) => void notes.push(message)),
      { bound: 3 },
    )
    const token = actor.suspend('external', manual())
    for (const message of ['a', 'b', 'c']) assert.equal(actor.tell(message), undefined)
    assert.equal(actor.tell('d')?.code, 'mailbox-full')

    token.resume()
    run()
    assert.deepEqual(notes, ['a', 'b', 'c'])
  })

  test('can be stopped, and its tokens go with it', async () => {
    const { system, run, clock } = rig()
    const { actor, notes } = subject(system)
    const tokens = [after(100), signal('key'), manual()].map((on) => actor.suspend('user', on))
    actor.tell('work')

    actor.stop()
    run()

    assert.equal((await actor.ended).cause, 'stopped')
    assert.deepEqual(
      tokens.map(({ active }) => active),
      [false, false, false],
    )
    assert.equal(system.metrics().suspended_now, 0)
    assert.equal(system.metrics().timers_pending, 0)
    assert.equal(system.signal('key'), 0)
    for (const token of tokens) token.resume()
    clock.advance(1_000)
    assert.deepEqual(notes, [])
    assert.equal(system.deadLetters[0]?.message, 'work')
  })

  test('cannot be suspended once it has ended: the token is spent from the start', () => {
    const { system, run } = rig()
    const { actor } = subject(system)
    actor.stop()
    run()

    assert.equal(actor.suspend('user', after(1)).active, false)
    assert.equal(system.metrics().suspended_now, 0)
  })

  test('says why it rests and on what, for every reason', () => {
    const { system } = rig()
    const { actor } = subject(system)
    const heard: unknown[] = []
    system.trace(({ actor: path, type, facts }) => heard.push([path, type, facts['reason']]))

    for (const reason of REASONS) {
      const condition = manual()
      const token = actor.suspend(reason, condition)
      assert.equal(token.reason, reason)
      assert.equal(token.condition, condition)
      token.resume()
    }

    assert.deepEqual(
      heard,
      REASONS.flatMap((reason) => [
        ['/subject', 'suspended', reason],
        ['/subject', 'resumed', reason],
      ]),
    )
  })

  test('is measured: how many, how long, and how soon the first message came', () => {
    const { system, run, clock } = rig()
    const { actor } = subject(system)
    const token = actor.suspend('user', manual())
    const second = actor.suspend('user', manual())
    actor.tell('work')
    assert.equal(system.metrics().suspended_now, 1)

    clock.advance(250)
    token.resume()
    second.resume()
    clock.advance(4)
    run()

    const figures = system.metrics()
    assert.equal(figures.suspend_count, 2)
    assert.equal(figures.resume_count, 2)
    assert.equal(figures.suspended_now, 0)
    assert.equal(figures.suspended_ms_total, 250)
    assert.equal(figures.resume_latency.count, 1)
    assert.equal(figures.resume_latency.maxMs, 4)
    assert.equal(figures.ready_depth, 0)
  })

  test('the latency of a resume counts from the very first moment of the clock', () => {
    const { system, run } = rig()
    const actor = system.spawn(
      'actor',
      receive<string>(() => undefined),
    )
    const token = actor.suspend('user', manual())
    actor.tell('waits')

    token.resume()
    run()

    assert.equal(system.metrics().resume_latency.count, 1)
  })

  test('keeps its order in a system that runs by itself, whatever lane its mail was on', async () => {
    await using system = createSystem()
    const draws = random(11)
    const notes: number[] = []
    const actor = system.spawn(
      'actor',
      receive<number>((_ctx, message) => void notes.push(message)),
      { bound: 100_000 },
    )
    let told = 0
    for (let round = 0; round < 200; round++) {
      const tell = (): void => {
        for (let n = draws.below(100); n > 0; n--) actor.tell(told++)
      }
      tell()
      const token = actor.suspend('user', manual())
      tell()
      if (draws.below(2) === 0) await settle()
      const before = notes.length
      if (draws.below(2) === 0) await settle()
      assert.equal(notes.length, before)
      token.resume()
      tell()
    }
    while (notes.length < told) await settle()

    assert.deepEqual(notes, [...new Array<undefined>(told).keys()])
  })
})

describe('after', () => {
  test('resumes when its time has come, not a millisecond sooner', () => {
    const stage = rig()
    const { notes, token } = resting(stage, after(100))

    stage.clock.advance(99)
    stage.run()
    assert.deepEqual(notes, [])
    assert.equal(token.active, true)

    stage.clock.advance(1)
    stage.run()
    assert.deepEqual(notes, ['work'])
  })

  test('of nothing is a rest until the next turn of the clock', () => {
    const stage = rig()
    const { notes } = resting(stage, after(0))

    stage.clock.advance(0)
    stage.run()

    assert.deepEqual(notes, ['work'])
  })

  test('costs no timer once it was resumed by hand', () => {
    const stage = rig()
    const { token } = resting(stage, after(100))
    assert.equal(stage.system.metrics().timers_pending, 1)

    token.resume()

    assert.equal(stage.system.metrics().timers_pending, 0)
    assert.equal(stage.clock.next, undefined)
  })

  test('wakes a process that does nothing else, which then ends by itself', async (t) => {
    const door = new URL('./index.ts', import.meta.url).href
    const program = `
      import { after, createSystem, receive } from ${JSON.stringify(door)}
      const system = createSystem()
      const actor = system.spawn('actor', receive((_ctx, m) => void process.stdout.write(m)))
      const start = performance.now()
      actor.suspend('user', after(50))
      actor.tell('awake ')
      process.on('exit', () => process.stdout.write(String(performance.now() - start)))
    `

    for (let tries = 1; ; tries++) {
      const { stdout, stderr } = await promisify(execFile)(
        process.execPath,
        ['--input-type=module', '--eval', program],
        { timeout: 60_000 },
      )

      const [word, tookMs] = stdout.split(' ')
      t.diagnostic(`after ${tookMs} ms`)
      assert.equal(word, 'awake')
      assert.equal(stderr, '')
      assert.ok(Number(tookMs) >= 50, `after ${tookMs} ms`)
      if (Number(tookMs) < 2_000) break
      assert.ok(tries < 5, `after ${tookMs} ms`) // a busy machine is late at times, not each time
    }
  })
})

describe('signal', () => {
  test('wakes all who wait for it, and says how many', () => {
    const stage = rig()
    const waiting = ['a', 'b', 'c'].map((name) => resting(stage, signal('go'), name))
    const other = resting(stage, signal('elsewhere'), 'other')

    assert.equal(stage.system.signal('go'), 3)
    stage.run()

    for (const { notes } of waiting) assert.deepEqual(notes, ['work'])
    assert.deepEqual(other.notes, [])
    assert.equal(stage.system.signal('go'), 0)
  })

  test('sent before anybody waits, is forgotten', () => {
    const stage = rig()
    assert.equal(stage.system.signal('go'), 0)

    assert.deepEqual(resting(stage, signal('go')).notes, [])
  })

  test('if sticky, is kept for the next to wait, and for nobody after', () => {
    const stage = rig()
    stage.system.signal('go', { sticky: true })
    stage.system.signal('go', { sticky: true })

    assert.deepEqual(resting(stage, signal('go'), 'first').notes, ['work'])
    assert.deepEqual(resting(stage, signal('go'), 'second').notes, [])
  })

  test('if sticky and awaited, is used up at once', () => {
    const stage = rig()
    const first = resting(stage, signal('go'), 'first')
    assert.equal(stage.system.signal('go', { sticky: true }), 1)
    stage.run()

    assert.deepEqual(first.notes, ['work'])
    assert.deepEqual(resting(stage, signal('go'), 'second').notes, [])
  })

  test('does not count who was resumed otherwise', () => {
    const stage = rig()
    const { token } = resting(stage, signal('go'))
    token.resume()

    assert.equal(stage.system.signal('go'), 0)
  })

  test('wakes whoever waited when it was sent, not who begins to wait because of it', () => {
    const stage = rig()
    const { actor, notes } = resting(stage, signal('go'))
    stage.system.trace(({ type }) => {
      if (type === 'resumed') actor.suspend('user', signal('go'))
    })

    assert.equal(stage.system.signal('go'), 1)
    stage.run()
    assert.deepEqual(notes, [])
    assert.equal(stage.system.metrics().suspended_now, 1)
  })

  test('may be waited for again by whom it wakes', () => {
    const stage = rig()
    const { actor, notes, token } = resting(stage, signal('go'))
    stage.system.signal('go')
    stage.run()
    assert.equal(token.active, false)

    actor.suspend('user', signal('go'))
    actor.tell('again')
    stage.run()
    assert.deepEqual(notes, ['work'])
    assert.equal(stage.system.signal('go'), 1)
    stage.run()
    assert.deepEqual(notes, ['work', 'again'])
  })
})

describe('capacity', () => {
  test('watches the mailbox: while that is full, nobody is resumed', () => {
    const stage = rig()
    const { actor: target } = full(stage, 4)
    const { notes, token } = resting(stage, capacity(target))

    stage.run()
    stage.clock.advance(60_000)
    stage.run()

    assert.deepEqual(notes, [])
    assert.equal(token.active, true)
  })

  test('resumes when the mailbox is half empty', () => {
    const stage = rig()
    const { actor: target, hold, notes: taken } = full(stage, 4)
    const { notes, token } = resting(stage, capacity(target))

    hold.resume()
    while (token.active) assert.equal(stage.system.step(), true)
    assert.equal(taken.length, 2)
    stage.run()
    assert.deepEqual(notes, ['work'])
  })

  test('waits for as much room as was asked for', () => {
    const stage = rig()
    const { actor: target, hold, notes: taken } = full(stage, 4)
    const { token } = resting(stage, capacity(target, 3))

    hold.resume()
    while (token.active) assert.equal(stage.system.step(), true)
    assert.equal(taken.length, 3)
  })

  test('waits for an empty mailbox where more room was asked for than there is', () => {
    const stage = rig()
    const { actor: target, hold, notes: taken } = full(stage, 4)
    const { token } = resting(stage, capacity(target, 100))

    hold.resume()
    while (token.active) assert.equal(stage.system.step(), true)
    assert.equal(taken.length, 4)
  })

  test('is there at once where there is room, or nobody to be full', () => {
    const stage = rig()
    const { actor: target } = subject(stage.system, 'target')
    assert.deepEqual(resting(stage, capacity(target), 'a').notes, ['work'])

    target.stop()
    stage.run()
    assert.deepEqual(resting(stage, capacity(target), 'b').notes, ['work'])

    const wall = { path: '/wall', tell: () => undefined }
    assert.deepEqual(resting(stage, capacity(wall), 'c').notes, ['work'])
  })

  test('comes with the end of the one that was full', () => {
    const stage = rig()
    const { actor: target } = full(stage, 2)
    const { notes } = resting(stage, capacity(target))
    target.stop()
    stage.run()

    assert.deepEqual(notes, ['work'])
  })

  test('comes too when the message that made room failed', () => {
    const stage = rig()
    const target = stage.system.spawn(
      'target',
      receive<string>(() => {
        throw new Error('no')
      }),
      { bound: 1, supervision: { type: 'resume' } },
    )
    target.tell('fails')
    const { token } = resting(stage, capacity(target))
    stage.run()

    assert.equal(token.active, false)
  })

  test('comes too when what made room was a timer that had been cancelled', () => {
    const stage = rig()
    const target = stage.system.spawn(
      'target',
      receive<string>((ctx, message) => {
        if (message === 'start') ctx.timers.after('key', 10, 'expired')
        else ctx.timers.cancel('key')
      }),
      { bound: 1 },
    )
    target.tell('start')
    stage.run()
    target.tell('cancel')
    stage.clock.advance(10)
    const waiting = subject(stage.system)
    const token = waiting.actor.suspend('user', capacity(target))
    stage.run()

    assert.equal(token.active, false)
  })

  test('is given to whoever waits, first come first served', () => {
    const stage = rig()
    const { actor: target, hold } = full(stage, 2)
    const order: string[] = []
    stage.system.trace(({ type, actor }) => {
      if (type === 'resumed' && actor !== '/target') order.push(actor)
    })
    for (const name of ['a', 'b', 'c']) resting(stage, capacity(target), name)

    hold.resume()
    stage.run()

    assert.deepEqual(order, ['/a', '/b', '/c'])
  })

  test('that is no longer waited for lets the others go first', () => {
    const stage = rig()
    const { actor: target, hold } = full(stage, 2)
    const [a, b] = ['a', 'b'].map((name) => resting(stage, capacity(target), name))
    a!.token.resume()

    hold.resume()
    stage.run()

    assert.deepEqual(b!.notes, ['work'])
    assert.equal(stage.system.metrics().resume_unbalanced, 0)
  })
})

describe('a promise', () => {
  test('resumes when it settles, either way', async () => {
    for (const outcome of ['resolve', 'reject'] as const) {
      const stage = rig()
      const { promise, ...settles } = Promise.withResolvers<unknown>()
      const { notes } = resting(stage, settled(promise))
      await settle()
      stage.run()
      assert.deepEqual(notes, [])

      settles[outcome](new Error('no'))
      await settle()
      stage.run()
      assert.deepEqual(notes, ['work'], outcome)
    }
  })

  test('that is none, but throws when asked to be, fails the caller and holds nobody', async () => {
    const stage = rig()
    const { actor, notes } = subject(stage.system)
    const liar = {
      // oxlint-disable-next-line unicorn/no-thenable
      then(): never {
        throw new Error('no')
      },
    }
    try {
      actor.suspend('user', settled(liar))
    } catch {
      // Either answer will do, as long as the actor is not left behind.
    }
    actor.tell('work')
    await settle()
    stage.run()

    assert.deepEqual(notes, ['work'])
  })
})

describe('all and any', () => {
  test('all waits for every one of them', () => {
    for (const last of ['a', 'b', 'time']) {
      const stage = rig()
      const { notes } = resting(stage, all([signal('a'), after(100), signal('b')]))
      const come: Record<string, () => void> = {
        a: () => void stage.system.signal('a'),
        b: () => void stage.system.signal('b'),
        time: () => stage.clock.advance(100),
      }
      for (const name of Object.keys(come).filter((each) => each !== last)) come[name]!()
      stage.run()
      assert.deepEqual(notes, [], last)

      come[last]!()
      stage.run()
      assert.deepEqual(notes, ['work'], last)
    }
  })

  test('any takes the first and gives up the others', () => {
    for (const first of ['a', 'time']) {
      const stage = rig()
      const { notes } = resting(stage, any([signal('a'), after(100), signal('b')]))

      if (first === 'a') stage.system.signal('a')
      else stage.clock.advance(100)
      stage.run()

      assert.deepEqual(notes, ['work'])
      assert.equal(stage.system.signal('b'), 0)
      assert.equal(stage.system.metrics().timers_pending, 0)
      assert.equal(stage.system.metrics().resume_unbalanced, 0)
    }
  })

  test('they nest', () => {
    const stage = rig()
    const { notes } = resting(
      stage,
      all([any([signal('a'), signal('b')]), any([after(1_000), signal('c')])]),
    )

    stage.system.signal('b')
    stage.run()
    assert.deepEqual(notes, [])
    stage.system.signal('c')
    stage.run()
    assert.deepEqual(notes, ['work'])
    assert.equal(stage.system.metrics().timers_pending, 0)
  })

  test('all of none is there at once; any of none comes only by hand', () => {
    const stage = rig()
    assert.deepEqual(resting(stage, all([]), 'a').notes, ['work'])

    const { notes, token } = resting(stage, any([]), 'b')
    assert.deepEqual(notes, [])
    token.resume()
    stage.run()
    assert.deepEqual(notes, ['work'])
  })

  test('resumed by hand, give up everything they waited for', () => {
    for (const combine of [all, any]) {
      const stage = rig()
      const { token } = resting(stage, combine([signal('a'), after(100)]))
      token.resume()

      assert.equal(stage.system.signal('a'), 0)
      assert.equal(stage.system.metrics().timers_pending, 0)
    }
  })

  test('any is there at once where one of them is, and arms no more', () => {
    const stage = rig()
    stage.system.signal('a', { sticky: true })
    const { notes } = resting(stage, any([signal('a'), after(100)]))

    assert.deepEqual(notes, ['work'])
    assert.equal(stage.system.metrics().timers_pending, 0)
  })
})
