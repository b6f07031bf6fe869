/** Defects that the model found, each as the smallest program that showed it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import {
  any,
  capacity,
  createSteppedSystem,
  createSystem,
  escalate,
  manual,
  receive,
  restart,
  resume,
  retry,
  setup,
  signal,
  withContext,
  type Handle,
  type SuspendToken,
  type System,
} from '../../src/kernel/index.ts'
import { afterIo, silentLog } from '../../src/std/index.ts'
import { HandClock } from './hand-clock.ts'

/** Long enough for the few messages of these tests, however little a drain may do. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise<void>(afterIo)
}

function fullTarget(system: System): Handle<string> {
  const options = { bound: 1, overflow: 'suspend-sender' } as const
  const target = system.spawn(
    'target',
    receive<string>(() => undefined),
    options,
  )
  target.suspend('user', manual())
  target.tell('first')
  return target
}

function throwing(): void {
  throw new Error('as planned')
}

test('a watcher is run though it was given the mailbox of the actor whose end it learns of', async () => {
  await using system = createSystem({ log: silentLog })
  const seen: string[] = []
  const target = system.spawn(
    'target',
    receive<string>(() => undefined, { onStop: () => undefined }),
  )
  const watcher = system.spawn(
    'watcher',
    receive<string>((ctx, message) => {
      seen.push(message)
      if (message === 'watch') ctx.watch(target, 'ended')
    }),
  )
  watcher.tell('watch')
  await quiet()

  target.stop()
  await quiet()

  assert.deepEqual(seen, ['watch', 'ended'])
})

test('a turn keeps its mailbox though the last who waited for room in it gives up', async () => {
  await using system = createSystem({ log: silentLog })
  const strange: string[] = []
  // Again and again: whether the turn goes on after its last message depends on the fuel that is left.
  for (let round = 0; round < 100; round++) {
    const other = system.spawnAnonymous(receive<string>(() => undefined))
    const waiter = system.spawnAnonymous(receive<string>(() => undefined))
    const target = system.spawnAnonymous(
      receive<string>((_, message) => {
        if (message === 'for other') strange.push(message)
        if (message !== 'last') return
        wait.resume() // nobody waits any more, and nothing is left: the mailbox could go
        other.suspend('user', manual())
        other.tell('for other')
      }),
      { bound: 128 },
    )
    const rest = target.suspend('user', manual())
    for (const message of ['first', 'last']) target.tell(message)
    const wait = waiter.suspend('user', capacity(target, 128))
    rest.resume()
    await quiet()
  }

  assert.deepEqual(strange, [])
})

test('a message that waits for its retry when its actor stops is a dead letter', () => {
  const system = createSteppedSystem({ clock: new HandClock(), log: silentLog })
  const actor = system.spawn('actor', receive<string>(throwing), {
    supervision: retry({ backoff: { minMs: 10 } }),
  })
  actor.tell('again')
  while (system.step());

  actor.stop()
  while (system.step());

  assert.deepEqual(
    system.deadLetters.map(({ message, reason }) => [message, reason]),
    [['again', 'stopped']],
  )
})

test('a stop that comes while the onStop of a restart is on its way drops the tokens too', async () => {
  const system = createSteppedSystem({ clock: new HandClock(), log: silentLog })
  const { promise, resolve } = Promise.withResolvers<void>()
  const actor = system.spawn('actor', receive<string>(throwing, { onStop: () => promise }), {
    supervision: restart(),
  })
  actor.tell('fail')
  while (system.step());
  const token = actor.suspend('user', manual())

  actor.stop()
  resolve()
  await quiet()
  while (system.step());

  assert.equal(token.active, false)
  assert.equal(system.metrics().suspended_now, 0)
})

test('the last words of an actor that was held up before arrive when there is room', () => {
  const system = createSteppedSystem({ clock: new HandClock(), log: silentLog })
  const seen: string[] = []
  const note = receive<string>((_, message) => void seen.push(message))
  const target = system.spawn('target', note, { bound: 1, overflow: 'suspend-sender' })
  const sender = system.spawn(
    'sender',
    receive<string>((_, message) => void target.tell(message), {
      onStop: () => void target.tell('farewell'),
    }),
  )
  const rest = target.suspend('user', manual())
  target.tell('first')
  sender.tell('held back')
  while (system.step());

  sender.stop()
  while (system.step());
  rest.resume()
  while (system.step());

  assert.deepEqual(seen, ['first', 'farewell'])
  assert.deepEqual(
    system.deadLetters.map(({ message }) => message),
    ['held back'],
  )
})

describe('what the code of an actor tells outside its handlers is told by that actor', () => {
  test('by the onStop of a restart, with somebody else next on the express lane', async () => {
    await using system = createSystem({ log: silentLog })
    const target = fullTarget(system)
    const seen: string[] = []
    const onStop = (): void => void target.tell('farewell')
    const failing = system.spawn('failing', receive<string>(throwing, { onStop }), {
      supervision: restart({ backoff: { minMs: 0 } }),
    })
    const innocent = system.spawn(
      'innocent',
      receive<string>((_, message) => void seen.push(message)),
    )

    failing.tell('fail')
    for (const message of ['a', 'b']) innocent.tell(message)
    await quiet()

    assert.deepEqual(seen, ['a', 'b'])
    assert.equal(system.metrics().blocked_senders, 1)
  })

  test('by the start of the behavior a handler has answered with', async () => {
    await using system = createSystem({ log: silentLog })
    const target = fullTarget(system)
    const seen: string[] = []
    const next = setup<string>(() => {
      target.tell('hello')
      return receive<string>(() => undefined)
    })
    const becoming = system.spawn(
      'becoming',
      receive<string>(() => next),
    )
    const innocent = system.spawn(
      'innocent',
      receive<string>((_, message) => void seen.push(message)),
    )

    becoming.tell('become')
    for (const message of ['a', 'b']) innocent.tell(message)
    await quiet()

    assert.deepEqual(seen, ['a', 'b'])
    assert.equal(system.metrics().blocked_senders, 1)
  })

  test('by the onStop of a restart after a promise was rejected', async () => {
    await using system = createSystem({ log: silentLog })
    const target = fullTarget(system)
    const answers: unknown[] = []
    const failing = system.spawn(
      'failing',
      receive<string>(() => Promise.reject(new Error('as planned')), {
        onStop: () => void answers.push(target.tell('farewell')?.code),
      }),
      { supervision: restart({ backoff: { minMs: 0 } }) },
    )

    failing.tell('fail')
    await quiet()

    assert.deepEqual(answers, [undefined])
    assert.equal(system.metrics().blocked_senders, 1)
  })
})

test('a message that was put aside comes back with its context', () => {
  const system = createSteppedSystem({ clock: new HandClock(), log: silentLog })
  const seen: unknown[] = []
  const actor = system.spawn(
    'actor',
    receive<string>((ctx, message) => {
      seen.push([message, ctx.context])
      if (message === 'back') ctx.unstash()
      else if (seen.length === 1) ctx.stash(message)
    }),
  )
  withContext('trace 7', () => actor.tell('aside'))
  actor.tell('back')
  while (system.step());

  assert.deepEqual(seen, [
    ['aside', 'trace 7'],
    ['back', undefined],
    ['aside', 'trace 7'],
  ])
})

test('one who has given up waiting does not hold the door open for the next', () => {
  const system = createSteppedSystem({ clock: new HandClock(), log: silentLog })
  const target = system.spawn(
    'target',
    receive<string>(() => undefined),
    {
      bound: 4,
      overflow: 'suspend-sender',
    },
  )
  const rest = target.suspend('user', manual())
  for (const message of ['a', 'b', 'c', 'd']) target.tell(message)
  const pass = receive<string>((_, message) => void target.tell(message))
  const [first, second] = ['first', 'second'].map((name) => system.spawn(name, pass))
  first?.tell('of the first')
  while (system.step());
  second?.tell('of the second')
  while (system.step());
  first?.stop()
  while (system.step());

  rest.resume()
  system.step()

  assert.equal(system.metrics().blocked_senders, 1) // a quarter is free, not half
})

test('a newborn that has had a turn already keeps count of its mail', async () => {
  await using system = createSystem({ log: silentLog })
  const seen: string[] = []
  let child: Handle<string> | undefined
  const parent = system.spawn(
    'parent',
    receive<string>((ctx, message) => {
      if (message === 'tell') child?.tell('first')
      if (message !== 'spawn') return
      const born = setup<string>(() => receive<string>((_, told) => void seen.push(told)))
      const ref = ctx.spawn('child', born)
      child = ref as Handle<string>
    }),
  )
  parent.tell('spawn')
  await quiet()
  parent.tell('tell')
  await quiet()

  for (const message of ['a', 'b', 'c']) child?.tell(message)
  const rest = child?.suspend('user', manual())
  await quiet()
  rest?.resume()
  await quiet()

  assert.deepEqual(seen, ['first', 'a', 'b', 'c'])
  assert.equal(system.metrics().ready_depth, 0)
})

test('an actor that restarts is not in the ready queue, whatever it told itself before', async () => {
  await using system = createSystem({ log: silentLog })
  const { promise, resolve } = Promise.withResolvers<void>()
  const idle = receive<string>(() => undefined, { onStop: () => promise })
  const actor = system.spawn(
    'actor',
    receive<string>((ctx, message) => {
      if (message !== 'fail') return
      ctx.spawn('child', idle)
      withContext('any', () => ctx.self.tell('later'))
      depths.push(system.metrics().ready_depth)
      throw new Error('as planned')
    }),
    { supervision: restart({ backoff: { minMs: 0 } }) },
  )
  const depths: number[] = []
  const observer = system.spawn(
    'observer',
    receive<string>(() => void depths.push(system.metrics().ready_depth)),
  )

  actor.tell('fail')
  observer.tell('look')
  await quiet()
  resolve()

  assert.deepEqual(depths, [3, 2]) // the observer, itself, and a child that is asked to stop
})

test('a newborn that is suspended before its first turn does not count as ready', async () => {
  await using system = createSystem({ log: silentLog })
  const depths: number[] = []
  const parent = system.spawn(
    'parent',
    receive<string>((ctx) => {
      const child = ctx.spawn(
        'child',
        receive<string>(() => undefined),
      )
      child.tell('first')
      const before = system.metrics().ready_depth
      const token = (child as Handle<string>).suspend('user', manual())
      depths.push(before - system.metrics().ready_depth)
      token.resume()
      depths.push(before - system.metrics().ready_depth)
    }),
  )

  parent.tell('go')
  await quiet()

  assert.deepEqual(depths, [1, 0])
})

test('nobody is refused because of one who has given up waiting', () => {
  const system = createSteppedSystem({ clock: new HandClock(), log: silentLog })
  const target = system.spawn(
    'target',
    receive<string>(() => undefined),
    {
      bound: 3,
      overflow: 'suspend-sender',
    },
  )
  target.suspend('user', manual())
  for (const message of ['a', 'b']) target.tell(message)
  const waiter = system.spawn(
    'waiter',
    receive<string>((ctx, message) => {
      ctx.suspend('user', capacity(target, 2))
      target.tell(message) // behind itself: somebody waits already
    }),
  )
  waiter.tell('held back')
  while (system.step());

  waiter.stop()
  while (system.step());

  assert.equal(target.tell('c'), undefined)
  assert.equal(target.tell('d')?.code, 'mailbox-full')
})

test('the failure of a child does not give a message that is retried further attempts', () => {
  const clock = new HandClock()
  const system = createSteppedSystem({ clock, log: silentLog })
  let attempts = 0
  const child = receive<string>(throwing)
  const parent = system.spawn(
    'parent',
    receive<string>((ctx) => {
      attempts++
      ctx.spawnAnonymous(child, { supervision: escalate() }).tell('fail')
      throwing()
    }),
    { supervision: retry({ max: 2, backoff: { minMs: 1, jitter: 0 }, otherwise: resume() }) },
  )

  parent.tell('again')
  for (let round = 0; round < 10; round++) {
    while (system.step());
    clock.advance(10)
  }

  assert.equal(attempts, 3)
})

test('any condition that has come true leaves the kept signals of the rest alone', () => {
  const system = createSteppedSystem({ clock: new HandClock(), log: silentLog })
  const actor = system.spawnAnonymous(receive<string>(() => undefined))
  for (const key of ['first', 'second']) system.signal(key, { sticky: true })

  const token = actor.suspend('user', any([signal('first'), signal('second')]))

  assert.equal(token.active, false)
  assert.equal(actor.suspend('user', signal('second')).active, false)
})

test('a child that left its failure to a parent which restarts has no further turn', () => {
  const system = createSteppedSystem({ clock: new HandClock(), log: silentLog })
  const seen: string[] = []
  const failing = receive<string>((_, message) => {
    seen.push(message)
    if (message === 'fail') throwing()
  })
  const slow = receive<string>(() => undefined, {
    onStop: () => new Promise<void>(() => undefined),
  })
  const parent = system.spawn(
    'parent',
    receive<string>((ctx) => {
      const elder = ctx.spawn('elder', failing, { supervision: escalate() })
      ctx.spawn('younger', slow) // ends first, and takes its time
      for (const message of ['fail', 'after']) elder.tell(message)
    }),
    { supervision: restart({ backoff: { minMs: 0 } }) },
  )

  parent.tell('go')
  while (system.step());

  assert.deepEqual(seen, ['fail'])
})

test('a stop comes before the news that the children of a restart have ended', async () => {
  await using system = createSystem({ log: silentLog })
  const active: (boolean | undefined)[] = []
  let token: SuspendToken | undefined
  const actor = system.spawn(
    'actor',
    receive<string>(
      (ctx) => {
        ctx.spawnAnonymous(receive<string>(() => undefined))
        throwing()
      },
      { onStop: () => void active.push(token?.active) },
    ),
    { supervision: restart({ backoff: { minMs: 0 } }) },
  )
  const other = system.spawn(
    'other',
    receive<string>(() => {
      token = actor.suspend('user', manual())
      actor.stop()
    }),
  )

  actor.tell('fail')
  other.tell('stop it')
  await quiet()

  assert.deepEqual(active, [undefined, false]) // for the restart; and no token outlives the end
})
