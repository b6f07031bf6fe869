import assert from 'node:assert/strict'
import { setMaxListeners } from 'node:events'
import { describe, test } from 'node:test'

import { afterIo, random } from '../std/index.ts'
import { virtualClock } from '../testkit/index.ts'
import {
  capacity,
  createSteppedSystem,
  createSystem,
  manual,
  receive,
  resume,
  setup,
  type Behavior,
  type Handle,
  type Ref,
  type Refusal,
  type SpawnOptions,
  type SteppedSystem,
} from './index.ts'
import { OUTBOX_MAX, WAITERS_MAX } from './internal/capacity.ts'
import { MAILBOX_DEFAULT, MAILBOX_MAX } from './internal/options.ts'

type Rig = Readonly<{ system: SteppedSystem; run: () => void }>

function rig(): Rig {
  const system = createSteppedSystem({ clock: virtualClock(), random: random(1) })
  return {
    system,
    run() {
      while (system.step());
    },
  }
}

type Target = Readonly<{ target: Handle<string>; notes: string[] }>

/** An actor that notes what it is told. */
function scribe({ system }: Rig, options: SpawnOptions<string>, name = 'target'): Target {
  const notes: string[] = []
  const target = system.spawn(
    name,
    receive<string>((_ctx, message) => void notes.push(message)),
    options,
  )
  return { target, notes }
}

function letters(system: SteppedSystem): string[] {
  return system.deadLetters.map(({ reason, message }) => `${String(message)} ${reason}`)
}

/** Does in its turn what it is told to. */
const obedient: Behavior<() => void> = receive<() => void>((_ctx, work) => work())

type Pair = Target & Readonly<{ sender: Handle<() => void>; hold: () => void }>

/** A target with two places, held back until `hold` is called, and a sender. */
function pair(stage: Rig, bound = 2): Pair {
  const { target, notes } = scribe(stage, { bound, overflow: 'suspend-sender' })
  const token = target.suspend('external', manual())
  const sender = stage.system.spawn('sender', obedient)
  return { target, notes, sender, hold: () => token.resume() }
}

/** So many actors in a ring, each with one place, full, and about to tell the next. */
function ring(stage: Rig, length: number): (Refusal | undefined)[] {
  const refusals: (Refusal | undefined)[] = []
  const members: Handle<string>[] = []
  for (let n = 0; n < length; n++) {
    members.push(
      stage.system.spawn(
        `member-${n}`,
        receive<string>((_ctx, message) => {
          const next: Ref<string> = members[(n + 1) % length]!
          if (message === 'fill') for (const m of ['x', 'y']) refusals.push(next.tell(m))
        }),
        { bound: 1, overflow: 'suspend-sender' },
      ),
    )
  }
  for (const member of members) member.tell('fill')
  stage.run()
  return refusals
}

function settle(): Promise<void> {
  return new Promise(afterIo)
}

describe('a mailbox', () => {
  test('that is full rejects, unless said otherwise, and names actor and remedy', () => {
    const stage = rig()
    const { target, notes } = scribe(stage, { bound: 3 })
    for (const message of ['a', 'b', 'c']) assert.equal(target.tell(message), undefined)

    const refusal = target.tell('d')
    assert.equal(refusal?.code, 'mailbox-full')
    assert.equal(refusal.detail['actor'], '/target')
    assert.equal(refusal.detail['bound'], 3)
    assert.ok(refusal.detail['remedy'])
    stage.run()

    assert.deepEqual(notes, ['a', 'b', 'c'])
    assert.deepEqual(letters(stage.system), ['d mailbox-full'])
    assert.equal(target.tell('e'), undefined)
  })

  test('that drops the newest keeps what came first', () => {
    const stage = rig()
    const { target, notes } = scribe(stage, { bound: 3, overflow: 'drop-newest' })
    for (const message of ['a', 'b', 'c', 'd', 'e']) assert.equal(target.tell(message), undefined)
    stage.run()

    assert.deepEqual(notes, ['a', 'b', 'c'])
    assert.deepEqual(letters(stage.system), ['d dropped-newest', 'e dropped-newest'])
  })

  test('that drops the oldest keeps what came last', () => {
    const stage = rig()
    const { target, notes } = scribe(stage, { bound: 3, overflow: 'drop-oldest' })
    for (const message of ['a', 'b', 'c']) assert.equal(target.tell(message), undefined)
    assert.deepEqual(letters(stage.system), [])
    for (const message of ['d', 'e']) assert.equal(target.tell(message), undefined)
    stage.run()

    assert.deepEqual(notes, ['c', 'd', 'e'])
    assert.deepEqual(letters(stage.system), ['a dropped-oldest', 'b dropped-oldest'])
  })

  test('that drops the oldest does not drop what was promised', () => {
    const stage = rig()
    const other = scribe(stage, {}, 'other').target
    const notes: string[] = []
    const target = stage.system.spawn(
      'target',
      setup<string>((ctx) => {
        ctx.watch(other, 'ended')
        return receive<string>((_ctx, message) => void notes.push(message))
      }),
      { bound: 2, overflow: 'drop-oldest' },
    )
    stage.run()
    other.stop()
    for (const message of ['a', 'b', 'c']) target.tell(message)
    stage.run()

    assert.deepEqual(notes, ['ended', 'c'])
    assert.deepEqual(letters(stage.system), ['a dropped-oldest', 'b dropped-oldest'])
  })

  test(`holds ${MAILBOX_DEFAULT} messages unless said otherwise, and not one more`, () => {
    const stage = rig()
    const { target } = scribe(stage, {})
    for (let n = 0; n < MAILBOX_DEFAULT; n++) assert.equal(target.tell('x'), undefined)

    assert.equal(target.tell('one more')?.code, 'mailbox-full')
  })

  test(`may be given a bound up to ${MAILBOX_MAX}, and not one more`, () => {
    const { system } = rig()
    const idle = receive<string>(() => undefined)
    system.spawn('largest', idle, { bound: MAILBOX_MAX })
    system.spawn('smallest', idle, { bound: 1 })

    for (const bound of [MAILBOX_MAX + 1, 0, -1, 1.5, Number.NaN]) {
      assert.throws(() => system.spawn('refused', idle, { bound }), { code: 'bad-option' })
    }
    assert.throws(() => system.spawn('refused', idle, { overflow: 'grow' as 'reject' }), {
      code: 'bad-option',
    })
  })

  test('keeps its bound exactly in a system that runs by itself, on every lane', async () => {
    for (const bound of [1, 2, 63, 64, 65, 127, 128, 129, 200]) {
      for (const overflow of ['reject', 'drop-newest', 'drop-oldest'] as const) {
        await using system = createSystem()
        const notes: number[] = []
        const target = system.spawn(
          'target',
          receive<number>((_ctx, message) => void notes.push(message)),
          { bound, overflow },
        )
        const count = bound + 10
        for (let n = 0; n < count; n++) target.tell(n)
        while (notes.length < bound) await settle()
        await settle()

        const first = overflow === 'drop-oldest' ? 10 : 0
        assert.deepEqual(
          notes,
          [...new Array<undefined>(bound).keys()].map((n) => n + first),
          `${overflow} at ${bound}`,
        )
      }
    }
  })
})

describe('offer', () => {
  test('tells at once where there is room', async () => {
    const stage = rig()
    const { target, notes } = scribe(stage, { bound: 1 })
    assert.equal(await target.offer('a'), undefined)
    stage.run()

    assert.deepEqual(notes, ['a'])
  })

  test('waits for room, and then tells, first come first served', async () => {
    const stage = rig()
    const { target, notes } = scribe(stage, { bound: 2 })
    const done: string[] = []
    for (const message of ['a', 'b']) target.tell(message)
    for (const message of ['c', 'd', 'e']) {
      void target.offer(message).then(() => done.push(message))
    }
    await settle()
    assert.deepEqual(done, [])

    stage.run()
    await settle()
    stage.run()
    await settle()
    assert.deepEqual(done, ['c', 'd', 'e'])
    assert.deepEqual(notes, ['a', 'b', 'c', 'd', 'e'])
    assert.deepEqual(letters(stage.system), [])
  })

  test('does not overtake one that waits already', async () => {
    const stage = rig()
    const { target, notes } = scribe(stage, { bound: 4 })
    for (const message of ['a', 'b', 'c', 'd']) target.tell(message)
    const first = target.offer('e')
    stage.system.step() // room for one, but the door opens only at half
    const second = target.offer('f')
    stage.run()
    await Promise.all([first, second])
    stage.run()

    assert.deepEqual(notes, ['a', 'b', 'c', 'd', 'e', 'f'])
  })

  test('is answered with the refusal of an actor that ends meanwhile, or has ended', async () => {
    const stage = rig()
    const { target } = scribe(stage, { bound: 1 })
    target.tell('a')
    const offered = target.offer('b')
    target.stop()
    stage.run()

    assert.equal((await offered)?.code, 'actor-stopped')
    assert.equal((await target.offer('c'))?.code, 'actor-stopped')
    assert.deepEqual(letters(stage.system), ['a stopped', 'b stopped', 'c stopped'])
  })

  test('is given up by its signal: before, meanwhile, and not afterwards', async () => {
    const reason = new Error('enough')
    const stage = rig()
    const { target, notes } = scribe(stage, { bound: 1 })
    await assert.rejects(target.offer('never', { signal: AbortSignal.abort(reason) }), reason)

    target.tell('a')
    const controller = new AbortController()
    const offered = target.offer('b', { signal: controller.signal })
    const other = target.offer('c')
    controller.abort(reason)
    await assert.rejects(offered, reason)
    stage.run()
    assert.equal(await other, undefined)
    stage.run()

    const late = new AbortController()
    assert.equal(await target.offer('d', { signal: late.signal }), undefined)
    late.abort(reason)
    stage.run()
    assert.deepEqual(notes, ['a', 'c', 'd'])
  })

  test('is let in when the message that made room failed', async () => {
    const stage = rig()
    const target = stage.system.spawn(
      'target',
      receive<string>(() => {
        throw new Error('no')
      }),
      { bound: 1, supervision: resume() },
    )
    target.tell('a')
    const offered = target.offer('b')
    stage.run()

    assert.equal(await offered, undefined)
  })

  test('is let in on the express lane too', async () => {
    for (const bound of [1, 64, 127, 128, 129, 256]) {
      await using system = createSystem()
      const notes: number[] = []
      const target = system.spawn(
        'target',
        receive<number>((_ctx, message) => void notes.push(message)),
        { bound },
      )
      for (let n = 0; n < bound; n++) target.tell(n)
      assert.equal(await target.offer(bound), undefined)
      while (notes.length <= bound) await settle()
      assert.equal(notes.at(-1), bound)
    }
  })

  test(`may be one of ${WAITERS_MAX} that wait, and not one more`, async () => {
    const stage = rig()
    const { target, notes } = scribe(stage, { bound: 1 })
    target.tell('first')
    const offers: Promise<Refusal | undefined>[] = []
    for (let n = 0; n < WAITERS_MAX; n++) offers.push(target.offer('x'))

    const refusal = await target.offer('one more')
    assert.equal(refusal?.code, 'mailbox-full')
    assert.equal(refusal.detail['actor'], '/target')
    assert.ok(refusal.detail['remedy'])

    stage.run()
    const refused = (await Promise.all(offers)).filter((each) => each !== undefined)
    assert.equal(refused.length, 0)
    stage.run()
    assert.equal(notes.length, WAITERS_MAX + 1)
  })
})

describe('waiting for room', () => {
  test('that was given up makes room for others who wait', async () => {
    const stage = rig()
    const { target, notes } = scribe(stage, { bound: 1 })
    target.tell('first')
    const controller = new AbortController()
    setMaxListeners(0, controller.signal)
    const given: Promise<unknown>[] = []
    const patient = target.offer('patient')
    for (let n = 1; n < WAITERS_MAX; n++) {
      given.push(assert.rejects(target.offer('impatient', { signal: controller.signal })))
    }
    controller.abort(new Error('enough'))
    await Promise.all(given)

    const next = target.offer('next')
    stage.run()
    assert.deepEqual(await Promise.all([patient, next]), [undefined, undefined])
    stage.run()
    assert.deepEqual(notes, ['first', 'patient', 'next'])
  })

  test('is refused to a suspension too where too many wait', () => {
    const stage = rig()
    const { target } = scribe(stage, { bound: 1 })
    target.tell('first')
    for (let n = 0; n < WAITERS_MAX; n++) void target.offer('x')
    const actor = stage.system.spawn('actor', obedient)

    assert.throws(() => actor.suspend('backpressure', capacity(target)), {
      code: 'mailbox-full',
      message: /\/target/u,
    })
    assert.equal(stage.system.metrics().suspended_now, 0)
  })
})

describe('a sender that tells a full mailbox which suspends senders', () => {
  test('is suspended after its turn, and nothing is lost', () => {
    const stage = rig()
    const { target, notes, sender, hold } = pair(stage)
    let later = 0
    const refusals: unknown[] = []
    sender.tell(() => {
      for (const message of ['a', 'b', 'c', 'd', 'e']) refusals.push(target.tell(message))
    })
    sender.tell(() => void later++)
    stage.run()

    assert.deepEqual(refusals, [undefined, undefined, undefined, undefined, undefined])
    assert.equal(later, 0)
    assert.equal(stage.system.metrics().blocked_senders, 1)
    assert.equal(stage.system.metrics().suspended_now, 2)

    hold()
    stage.run()
    assert.deepEqual(notes, ['a', 'b', 'c', 'd', 'e'])
    assert.equal(later, 1)
    assert.equal(stage.system.metrics().blocked_senders, 0)
    assert.equal(stage.system.metrics().suspended_now, 0)
    assert.deepEqual(letters(stage.system), [])
  })

  test('goes on when the mailbox is half empty, not at every place', () => {
    const stage = rig()
    const { target, notes, sender, hold } = pair(stage, 8)
    sender.tell(() => {
      for (let n = 0; n < 9; n++) target.tell(`${n}`)
    })
    stage.run()
    hold()
    while (stage.system.metrics().blocked_senders > 0) assert.ok(stage.system.step())

    assert.equal(notes.length, 4)
  })

  test('keeps its order to each of several targets', () => {
    const stage = rig()
    const one = scribe(stage, { bound: 1, overflow: 'suspend-sender' }, 'one')
    const two = scribe(stage, { bound: 1, overflow: 'suspend-sender' }, 'two')
    const tokens = [one, two].map(({ target }) => target.suspend('external', manual()))
    const sender = stage.system.spawn('sender', obedient)
    sender.tell(() => {
      for (const message of ['a', 'b', 'c']) {
        one.target.tell(message)
        two.target.tell(message)
      }
    })
    stage.run()
    for (const token of tokens.toReversed()) {
      token.resume()
      stage.run()
    }

    for (const { notes } of [one, two]) assert.deepEqual(notes, ['a', 'b', 'c'])
  })

  test('may go on by itself after an await, and still nothing is overtaken', async () => {
    const stage = rig()
    const { target, notes, hold } = pair(stage, 4)
    const { promise, resolve } = Promise.withResolvers<void>()
    const refusals: (Refusal | undefined)[] = []
    const sender = stage.system.spawn(
      'patient',
      receive<string>(async () => {
        for (const message of ['a', 'b', 'c', 'd', 'e']) refusals.push(target.tell(message))
        await promise
        refusals.push(target.tell('f'))
      }),
    )
    sender.tell('go')
    stage.run()
    hold()
    stage.system.step() // one place is free now, but `e` is held back for it
    resolve()
    await settle()
    stage.run()

    const refused = refusals.at(-1) !== undefined
    assert.deepEqual(notes, ['a', 'b', 'c', 'd', 'e', ...(refused ? [] : ['f'])])
    if (refused) assert.equal(refusals.at(-1)?.code, 'mailbox-full')
  })

  test('from outside cannot be suspended and is refused', () => {
    const stage = rig()
    const { target } = pair(stage)
    for (const message of ['a', 'b']) target.tell(message)

    assert.equal(target.tell('c')?.code, 'mailbox-full')
  })

  test('hears of the end of its target, and goes on', () => {
    const stage = rig()
    const { target, sender } = pair(stage)
    let later = 0
    sender.tell(() => {
      for (const message of ['a', 'b', 'c']) target.tell(message)
    })
    sender.tell(() => void later++)
    stage.run()
    target.stop()
    stage.run()

    assert.equal(later, 1)
    assert.deepEqual(letters(stage.system), ['a stopped', 'b stopped', 'c stopped'])
  })

  test('that ends takes nothing along: what it held back is a dead letter', () => {
    const stage = rig()
    const { target, notes, sender, hold } = pair(stage)
    sender.tell(() => {
      for (const message of ['a', 'b', 'c']) target.tell(message)
    })
    stage.run()
    sender.stop()
    stage.run()
    hold()
    stage.run()

    assert.deepEqual(notes, ['a', 'b'])
    assert.deepEqual(letters(stage.system), ['c stopped'])
    assert.equal(stage.system.metrics().blocked_senders, 0)
  })

  test('may still say good-bye in its onStop', () => {
    const stage = rig()
    const { target, notes, hold } = pair(stage)
    const sender = stage.system.spawn(
      'polite',
      receive<string>(
        () => {
          for (const message of ['a', 'b', 'c']) target.tell(message)
        },
        { onStop: () => void target.tell('good-bye') },
      ),
    )
    sender.tell('go')
    stage.run()
    sender.stop()
    stage.run()
    hold()
    stage.run()

    assert.deepEqual(notes, ['a', 'b', 'good-bye'])
    assert.deepEqual(letters(stage.system), ['c stopped'])
    assert.equal(stage.system.metrics().blocked_senders, 0)
  })

  test(`may hold back ${OUTBOX_MAX} messages of one turn, and not one more`, () => {
    const stage = rig()
    const { target, notes, sender, hold } = pair(stage, 1)
    const refusals: (Refusal | undefined)[] = []
    sender.tell(() => {
      for (let n = 0; n < 1 + OUTBOX_MAX + 1; n++) refusals.push(target.tell(`${n}`))
    })
    stage.run()

    assert.equal(refusals.filter((refusal) => refusal === undefined).length, 1 + OUTBOX_MAX)
    const last = refusals.at(-1)
    assert.equal(last?.code, 'mailbox-full')
    assert.equal(last.detail['actor'], '/target')
    assert.ok(last.detail['remedy'])
    assert.deepEqual(letters(stage.system), [`${OUTBOX_MAX + 1} outbox-full`])

    hold()
    stage.run()
    assert.deepEqual(
      notes,
      [...new Array<undefined>(OUTBOX_MAX + 1).keys()].map((n) => `${n}`),
    )
  })

  test(`may be one of ${WAITERS_MAX}; whoever comes after is refused and not suspended`, () => {
    const stage = rig()
    const { target, notes, hold } = pair(stage, 1)
    target.tell('first')
    let goesOn = 0
    const refusals: (Refusal | undefined)[] = []
    for (let n = 0; n < WAITERS_MAX + 1; n++) {
      const sender = stage.system.spawnAnonymous(obedient)
      sender.tell(() => void refusals.push(target.tell('x')))
      sender.tell(() => void goesOn++)
    }
    stage.run()

    assert.equal(goesOn, 1)
    const refused = refusals.filter((refusal) => refusal !== undefined)
    assert.equal(refused.length, 1)
    assert.equal(refused[0]?.code, 'mailbox-full')
    assert.equal(refused[0].detail['actor'], '/target')

    hold()
    stage.run()
    assert.equal(notes.length, 1 + WAITERS_MAX)
    assert.equal(goesOn, WAITERS_MAX + 1)
    assert.equal(stage.system.metrics().blocked_senders, 0)
  })
})

describe('senders that wait for each other', () => {
  for (const length of [1, 2, 3, 10]) {
    test(`in a circle of ${length} end in a fault for the last, not in a hang`, () => {
      const stage = rig()
      const refusals = ring(stage, length).filter((each) => each !== undefined)

      assert.ok(refusals.length > 0)
      for (const { code, detail } of refusals) {
        assert.equal(code, 'backpressure-cycle')
        assert.match(String(detail['actor']), /^\/member-\d+$/u)
        assert.ok(detail['remedy'])
        assert.ok(Array.isArray(detail['cycle']))
        assert.equal(detail['cycle'].at(0), detail['cycle'].at(-1))
      }
      const figures = stage.system.metrics()
      assert.equal(figures.backpressure_cycles, figures.dead_letters['backpressure-cycle'])
      assert.equal(figures.blocked_senders, 0)
      assert.equal(figures.suspended_now, 0)
      assert.equal(stage.system.readyDepth, 0)
    })
  }
})
