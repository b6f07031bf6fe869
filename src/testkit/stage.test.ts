import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import {
  ask,
  machine,
  receive,
  restart,
  resume,
  retry,
  setup,
  stay,
  to,
  type Behavior,
  type Ref,
} from '../kernel/index.ts'
import { inbox } from './inbox.ts'
import { stage, type Stage } from './stage.ts'
import { virtualClock } from './virtual-clock.ts'

type DoorMessage = 'open' | 'close' | 'cancel' | 'timed-out'
type DoorState = 'shut' | 'open'
type DoorData = Readonly<{ opened: number }>

/** A door that shuts itself, and tells `bell` what it does on arrival. */
function door(bell: Ref<string>): Behavior<DoorMessage> {
  return machine<DoorState, DoorData, DoorMessage>({
    initial: 'shut',
    data: { opened: 0 },
    states: {
      shut: {
        enter(_ctx, data) {
          bell.tell('shutting')
          return stay(data)
        },
        on: (_ctx, data, message) =>
          message === 'open' ? to('open', { opened: data.opened + 1 }) : stay(data),
      },
      open: {
        enter(ctx, data) {
          bell.tell('opening')
          ctx.timers.after('shut', 5_000, 'timed-out')
          return stay(data)
        },
        on: (_ctx, data, message) =>
          message === 'cancel' ? 'stopped' : message === 'open' ? stay(data) : to('shut', data),
      },
    },
  })
}

function doorOnStage(bell: Ref<string>): Stage<DoorMessage, DoorState, DoorData> {
  return stage<DoorMessage, DoorState, DoorData>(door(bell), { name: 'door' })
}

function typesOf(subject: Stage<never>): string[] {
  return subject.trace.map(({ type }) => type)
}

describe('a behavior on stage', () => {
  test('has started when the stage is there', () => {
    const log = inbox<string>()
    const subject = stage(
      setup<string>((ctx) => {
        ctx
          .spawn(
            'child',
            receive<string>((_ctx, message) => void log.tell(message)),
          )
          .tell('hello')
        return receive(() => undefined)
      }),
    )

    assert.deepEqual(
      subject.children.map(({ path }) => path),
      ['/subject/child'],
    )
    log.expect('hello')
  })

  test('handles what it is told, and everything that follows, before tell returns', () => {
    const log = inbox<number>()
    const subject = stage<number>(
      receive((ctx, n) => {
        log.tell(n)
        if (n > 0) ctx.self.tell(n - 1)
      }),
    )

    subject.tell(3)

    assert.deepEqual(log.messages, [3, 2, 1, 0])
  })

  test('handles what is posted one step at a time', () => {
    const log = inbox<number>()
    const subject = stage<number>(receive((_ctx, n) => void log.tell(n)))
    subject.post(1)
    subject.post(2)
    log.expectEmpty()

    assert.equal(subject.step(), true)
    assert.deepEqual(log.messages, [1])
    assert.equal(subject.step(), true)
    assert.deepEqual(log.messages, [1, 2])
    assert.equal(subject.step(), false)
  })

  test('may be handed to others as a ref, and asked', async () => {
    const subject = stage<Ref<string>>(receive((_ctx, replyTo) => void replyTo.tell('here')))

    const answer = ask<Ref<string>, string>(subject.ref, (replyTo) => replyTo)
    subject.run()

    assert.equal(await answer, 'here')
  })

  test('refuses what it was spawned to refuse', () => {
    const subject = stage<string>(
      receive((_ctx, message) => (message === 'end' ? 'stopped' : undefined)),
      { bound: 1, name: 'small' },
    )

    assert.equal(subject.post('a'), undefined)
    assert.equal(subject.post('b')?.code, 'mailbox-full')
    subject.tell('end')
    subject.run()
    subject.tell('end')

    assert.equal(subject.isStopped, true)
    assert.deepEqual(subject.ended, { path: '/small', cause: 'stopped', error: undefined })
    assert.equal(subject.tell('c')?.code, 'actor-stopped')
    assert.deepEqual(
      subject.deadLetters.map(({ reason, message }) => [reason, message]),
      [
        ['mailbox-full', 'b'],
        ['mailbox-full', 'end'],
        ['stopped', 'c'],
      ],
    )
  })

  test('one that never has nothing to do is given up, and can still be stepped', () => {
    const subject = stage<string>(receive((ctx, message) => void ctx.self.tell(message)))

    assert.throws(() => subject.tell('again'), { code: 'never-idle' })
    assert.equal(subject.step(), true)
  })
})

describe('time on stage', () => {
  test('moves only by hand, and timers run in order at their own times', () => {
    const log: string[] = []
    const subject = stage<string>(
      setup((ctx) => {
        ctx.timers.after('b', 200, 'b')
        ctx.timers.after('a', 100, 'a')
        ctx.timers.every('tick', 90, 'tick')
        return receive((_ctx, message) => void log.push(`${message}@${subject.clock.monotonic()}`))
      }),
    )

    subject.advance(99)
    assert.deepEqual(log, ['tick@90'])
    subject.advance(101)
    assert.deepEqual(log, ['tick@90', 'a@100', 'tick@180', 'b@200'])
    assert.equal(subject.clock.monotonic(), 200)
  })

  test('may be shared by two stages', () => {
    const clock = virtualClock()
    const log = inbox<string>()
    const waiting = (name: string): Behavior<string> =>
      setup((ctx) => {
        ctx.timers.after('wake', 10, name)
        return receive((_ctx, message) => void log.tell(message))
      })
    const [one, other] = [stage(waiting('one'), { clock }), stage(waiting('other'), { clock })]

    one.advance(10)
    log.expect('one')
    log.expectEmpty()

    other.run()
    log.expect('other')
  })

  test('a receive timeout comes after the silence', () => {
    const log = inbox<string>()
    const subject = stage<string>(
      setup((ctx) => {
        ctx.receiveTimeout(100, 'silence')
        return receive((_ctx, message) => void log.tell(message))
      }),
    )

    subject.advance(60)
    subject.tell('a')
    subject.advance(99)
    assert.deepEqual(log.messages, ['a'])
    subject.advance(1)
    assert.deepEqual(log.messages, ['a', 'silence'])
  })
})

describe('a machine on stage', () => {
  test('waits in front of its first enter', () => {
    const bell = inbox<string>('bell')
    const subject = doorOnStage(bell)

    assert.equal(subject.state, 'shut')
    bell.expectEmpty()

    subject.run()
    bell.expect('shutting')
  })

  test('can be stopped between a transition and its enter', () => {
    const bell = inbox<string>('bell')
    const subject = doorOnStage(bell)
    subject.run()
    bell.take()

    subject.post('open')
    subject.post('cancel') // queued, and still behind the enter
    subject.step()
    assert.equal(subject.state, 'open')
    assert.deepEqual(subject.data, { opened: 1 })
    assert.deepEqual(subject.trace.at(-1)?.facts, { from: 'shut', to: 'open' })
    bell.expectEmpty()

    subject.step()
    bell.expect('opening')
    assert.equal(subject.isStopped, false)
    assert.deepEqual(typesOf(subject).slice(-3), ['received', 'transition', 'entered'])

    subject.run()
    assert.equal(subject.isStopped, true)
    assert.equal(subject.state, 'open')
  })

  test('can begin in the middle, without the enter that leads there', () => {
    const bell = inbox<string>('bell')
    const subject = doorOnStage(bell)

    subject.place('open', { opened: 7 })
    assert.equal(subject.step(), false)
    subject.tell('close')

    assert.equal(subject.state, 'shut')
    assert.deepEqual(subject.data, { opened: 7 })
    assert.deepEqual(bell.messages, ['shutting'])
  })

  test('can be given an enter alone', () => {
    const bell = inbox<string>('bell')
    const subject = doorOnStage(bell)
    subject.place('open', { opened: 1 })

    subject.enter()
    bell.expect('opening')
    subject.advance(5_000)

    assert.equal(subject.state, 'shut')
    assert.deepEqual(
      subject.trace.filter(({ type }) => type === 'transition').map(({ facts }) => facts),
      [{ from: 'open', to: 'shut' }],
    )
  })

  test('placing keeps what is queued', () => {
    const bell = inbox<string>('bell')
    const subject = doorOnStage(bell)
    subject.post('close')

    subject.place('open', { opened: 1 })
    subject.run()

    assert.equal(subject.state, 'shut')
    assert.deepEqual(bell.messages, ['shutting'])
  })

  test('is not placed where there is no such state, and nothing else is placed', () => {
    const subject = stage<DoorMessage>(door(inbox()))

    assert.throws(() => subject.place('ajar', {}), { code: 'no-such-state' })
    assert.equal(subject.state, 'shut')
    assert.throws(() => stage(receive(() => undefined)).place('open', {}), {
      code: 'not-a-machine',
    })
    assert.equal(stage(receive(() => undefined)).state, undefined)
  })

  test('retries its enter without repeating the transition', () => {
    let attempts = 0
    const subject = stage<string>(
      machine<'off' | 'on', number, string>({
        initial: 'off',
        data: 0,
        states: {
          off: { on: (_ctx, data) => to('on', data + 1) },
          on: {
            enter(_ctx, data) {
              if (++attempts < 3) throw new Error('not yet')
              return stay(data)
            },
            on: (_ctx, data) => stay(data),
          },
        },
      }),
      { supervision: retry({ backoff: { minMs: 100, jitter: 0 } }) },
    )

    subject.tell('go')
    assert.equal(attempts, 1)
    subject.advance(100)
    assert.equal(attempts, 2)
    subject.advance(200)

    assert.equal(attempts, 3)
    assert.equal(subject.state, 'on')
    assert.equal(subject.data, 1)
    assert.equal(typesOf(subject).filter((type) => type === 'transition').length, 1)
  })
})

describe('failing on stage', () => {
  const failing = receive<string>((_ctx, message) => {
    if (message !== 'fine') throw new RangeError(message)
  })

  test('ends the actor as its supervision says, and is kept for the test', () => {
    const subject = stage(failing)

    subject.tell('bad')

    assert.equal(subject.ended?.cause, 'failed')
    assert.deepEqual(subject.failures, [
      { actor: '/subject', error: new RangeError('bad'), message: 'bad' },
    ])
  })

  test('leaves it alive where supervision resumes or restarts it', () => {
    const resumed = stage(failing, { supervision: resume() })
    resumed.tell('bad')
    resumed.tell('fine')
    assert.equal(resumed.isStopped, false)
    assert.equal(resumed.failures.length, 1)

    const restarted = stage(failing, {
      supervision: restart({ backoff: { minMs: 100, jitter: 0 } }),
    })
    restarted.tell('bad')
    restarted.advance(100)
    assert.deepEqual(typesOf(restarted).slice(-1), ['resumed'])
    assert.ok(typesOf(restarted).includes('restarted'))
  })

  test('a start that throws ends the actor before the stage is handed over', () => {
    const subject = stage(
      setup(() => {
        throw new Error('no start')
      }),
    )

    assert.equal(subject.isStopped, true)
    assert.deepEqual(
      subject.failures.map(({ error }) => error),
      [new Error('no start')],
    )
  })

  test('an assertion inside the actor fails the test', () => {
    const subject = stage<number>(receive((_ctx, n) => assert.equal(n, 1)))

    subject.tell(1)
    assert.throws(() => subject.tell(2), { name: 'AssertionError' })
    subject.run() // said once
  })

  test('an expectation inside the actor fails the test', () => {
    const box = inbox<number>()
    const subject = stage<number>(receive(() => box.expect(1)))

    assert.throws(() => subject.tell(2), { code: 'inbox-empty' })
  })

  test('changing a message fails the test by name, unless messages are left unfrozen', () => {
    const greedy = receive<{ items: number[] }>((_ctx, message) => void message.items.push(0))

    assert.throws(() => stage(greedy).tell({ items: [] }), {
      code: 'message-mutated',
      message: /^\/subject changed what it was told: Cannot add property 0/,
    })

    const loose = stage(greedy, { freeze: false })
    loose.tell({ items: [] })
    assert.deepEqual(loose.failures, [])
  })

  test('a child that changes what its parent told it is found too', () => {
    const child = receive<{ n: number }>((_ctx, message) => void message.n++)
    const subject = stage<{ n: number }>(
      setup((ctx) => {
        const below = ctx.spawn('child', child)
        return receive((_ctx, message) => void below.tell({ n: message.n }))
      }),
    )

    assert.throws(() => subject.tell({ n: 1 }), { code: 'message-mutated' })
    assert.equal(subject.failures[0]?.actor, '/subject/child')
  })

  test('a type error of another kind is an ordinary failure', () => {
    const subject = stage<string>(
      receive(() => {
        throw new TypeError('x is not a function')
      }),
    )

    subject.tell('go')

    assert.equal(subject.failures.length, 1)
  })
})

describe('async handlers on stage', () => {
  test('go on when they are let settle, and keep the order of the mail', async () => {
    const log = inbox<string>()
    const subject = stage<string>(
      receive(async (_ctx, message) => {
        log.tell(`begin ${message}`)
        await Promise.resolve()
        await Promise.resolve()
        log.tell(`end ${message}`)
        return undefined
      }),
    )

    subject.tell('a')
    subject.tell('b')
    assert.deepEqual(log.messages, ['begin a'])
    await subject.settle()

    assert.deepEqual(log.messages, ['begin a', 'end a', 'begin b', 'end b'])
  })

  test('fail the test by an assertion after an await', async () => {
    const subject = stage<number>(
      receive(async (_ctx, n) => {
        await Promise.resolve()
        assert.equal(n, 1)
        return undefined
      }),
    )

    subject.tell(2)

    await assert.rejects(subject.settle(), { name: 'AssertionError' })
  })

  test('that never settle are overdue by virtual time', () => {
    const subject = stage<string>(
      receive(
        (ctx) =>
          new Promise<undefined>((resolve) => {
            ctx.signal.addEventListener('abort', () => resolve(undefined))
          }),
      ),
      { handlerMs: 1_000 },
    )
    subject.tell('go')

    subject.advance(999)
    assert.equal(subject.isStopped, false)
    subject.advance(1)

    assert.equal(subject.ended?.cause, 'failed')
    assert.match(String(subject.failures[0]?.error), /did not settle within 1000 ms/)
  })

  test('piped promises arrive as messages', async () => {
    const log = inbox<string>()
    const subject = stage<string>(
      receive((ctx, message) => {
        if (message !== 'fetch') return void log.tell(message)
        ctx.pipe(
          Promise.resolve('value'),
          (value) => `got ${value}`,
          () => 'failed',
        )
      }),
    )

    subject.tell('fetch')
    await subject.settle()

    log.expect('got value')
  })
})
