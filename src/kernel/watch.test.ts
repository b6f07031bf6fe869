import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, afterIo, random } from '../std/index.ts'
import { inbox, virtualClock } from '../testkit/index.ts'
import {
  createSteppedSystem,
  createSystem,
  receive,
  restart,
  resume,
  setup,
  type Behavior,
  type Context,
  type Ended,
  type Handle,
  type Ref,
  type SpawnOptions,
  type SteppedSystem,
  type Watchable,
} from './index.ts'
import { WATCHES_MAX } from './internal/watch.ts'

type Order = (ctx: Context<Message>) => void
type Message = string | Order | Ended

type Rig = Readonly<{
  system: SteppedSystem
  watcher: Handle<Message>
  /** What the watcher was told. */
  notes: (string | Ended)[]
  run: () => void
  order: (what: Order) => void
}>

/** A watcher that does what it is ordered to and notes everything else. */
function rig(options: SpawnOptions<Message> = {}): Rig {
  const system = createSteppedSystem({ clock: virtualClock(), random: random(1) })
  const notes: (string | Ended)[] = []
  const watcher = system.spawn(
    'watcher',
    receive<Message>((ctx, message) => {
      if (typeof message === 'function') message(ctx)
      else notes.push(message)
    }),
    options,
  )
  const run = (): void => {
    while (system.step());
  }
  return {
    system,
    watcher,
    notes,
    run,
    order(what) {
      watcher.tell(what)
      run()
    },
  }
}

/** Something that can be watched and never ends. */
function eternal(): Ref<never> & Watchable {
  return { path: '/eternal', tell: () => undefined, onEnd: () => () => undefined }
}

const deaf: Behavior<string> = receive<string>(() => undefined)

describe('watch', () => {
  test('tells the watcher its own message, once, when the target ends', () => {
    const { system, order, notes, run } = rig()
    const target = system.spawn('target', deaf)
    order((ctx) => ctx.watch(target, 'it ended'))
    assert.deepEqual(notes, [])

    target.stop()
    run()
    target.stop()
    run()

    assert.deepEqual(notes, ['it ended'])
  })

  test('lets the message be made of the cause', () => {
    const { system, order, notes, run } = rig()
    const error = new Error('no')
    const failing = receive<string>(() => {
      throw error
    })
    const targets: Readonly<Record<string, Handle<string>>> = {
      stopped: system.spawn('stopped', deaf),
      self: system.spawn(
        'self',
        receive<string>(() => 'stopped'),
      ),
      failed: system.spawn('failed', failing),
      limited: system.spawn('limited', failing, { supervision: restart({ max: 0 }) }),
    }
    order((ctx) => {
      for (const target of Object.values(targets)) ctx.watch(target, (ended: Ended) => ended)
    })
    targets['stopped']?.stop()
    for (const name of ['self', 'failed', 'limited']) targets[name]?.tell('go')
    run()

    assert.deepEqual(
      notes.toSorted((a, b) => String(Object(a).path).localeCompare(String(Object(b).path))),
      [
        { path: '/failed', cause: 'failed', error },
        { path: '/limited', cause: 'restart-limit', error },
        { path: '/self', cause: 'stopped', error: undefined },
        { path: '/stopped', cause: 'stopped', error: undefined },
      ],
    )
  })

  test('of somebody who has ended already tells at once, with the cause', () => {
    const { system, order, notes, run } = rig()
    const error = new Error('no')
    const target = system.spawn(
      'target',
      receive<string>(() => {
        throw error
      }),
    )
    target.tell('fail')
    run()

    order((ctx) => ctx.watch(target, (ended: Ended) => ended))
    assert.deepEqual(notes, [{ path: '/target', cause: 'failed', error }])
  })

  test('comes after everything that the one who ended had told', async () => {
    const behavior = (watcher: Ref<Message>): Behavior<string> =>
      receive<string>(() => {
        for (const word of ['one', 'two', 'three']) watcher.tell(word)
        return 'stopped'
      })
    const stage = rig()
    const target = stage.system.spawn('target', behavior(stage.watcher))
    stage.order((ctx) => ctx.watch(target, 'ended'))
    stage.watcher.tell('before')
    target.tell('go')
    stage.run()
    assert.deepEqual(stage.notes, ['before', 'one', 'two', 'three', 'ended'])

    await using system = createSystem()
    const notes: unknown[] = []
    const watcher = system.spawn(
      'watcher',
      receive<Message>((ctx, message) => {
        if (typeof message === 'function') message(ctx)
        else notes.push(message)
      }),
    )
    const other = system.spawn('target', behavior(watcher))
    watcher.tell((ctx) => ctx.watch(other, 'ended'))
    while (notes.length === 0) {
      other.tell('go')
      await new Promise<void>(afterIo)
    }
    while (!notes.includes('ended')) await new Promise<void>(afterIo)
    assert.deepEqual(notes, ['one', 'two', 'three', 'ended'])
  })

  test('exceeds the bound of the mailbox rather than being lost', () => {
    const { system, order, notes, run, watcher } = rig({ bound: 1 })
    const target = system.spawn('target', deaf)
    order((ctx) => ctx.watch(target, 'ended'))
    watcher.tell('fills')
    target.stop()
    run()

    assert.deepEqual(notes, ['fills', 'ended'])
  })

  test('is ended by unwatch', () => {
    const { system, order, notes, run } = rig()
    const target = system.spawn('target', deaf)
    order((ctx) => {
      ctx.watch(target, 'ended')
      ctx.unwatch(target)
      ctx.unwatch(target)
    })
    target.stop()
    run()

    assert.deepEqual(notes, [])
  })

  test('is ended by unwatch even when the end waits in the mailbox', () => {
    const { system, order, notes, run, watcher } = rig()
    const target = system.spawn('target', deaf)
    order((ctx) => ctx.watch(target, 'ended'))
    watcher.tell((ctx) => ctx.unwatch(target))
    target.stop()
    run()

    assert.deepEqual(notes, [])
  })

  test('may be taken up again after unwatch', () => {
    const { system, order, notes, run } = rig()
    const target = system.spawn('target', deaf)
    order((ctx) => {
      ctx.watch(target, 'first')
      ctx.unwatch(target)
      ctx.watch(target, 'second')
    })
    target.stop()
    run()

    assert.deepEqual(notes, ['second'])
  })

  test('of the same target replaces the message', () => {
    const { system, order, notes, run } = rig()
    const target = system.spawn('target', deaf)
    order((ctx) => ctx.watch(target, 'first'))
    order((ctx) => ctx.watch(target, 'second'))
    target.stop()
    run()

    assert.deepEqual(notes, ['second'])
  })

  test('of many by one, and of one by many', () => {
    const stage = rig()
    const targets = ['a', 'b', 'c'].map((name) => stage.system.spawn(name, deaf))
    const heard: string[] = []
    for (let n = 0; n < 3; n++) {
      stage.system.spawnAnonymous(
        setup<string>((ctx) => {
          ctx.watch(targets[0]!, `${n}`)
          return receive<string>((_ctx, message) => void heard.push(message))
        }),
      )
    }
    stage.order((ctx) => {
      for (const target of targets) ctx.watch(target, target.path)
    })
    for (const target of targets) target.stop()
    stage.run()

    assert.deepEqual(new Set(stage.notes), new Set(['/a', '/b', '/c']))
    assert.deepEqual(heard.toSorted(), ['0', '1', '2'])
  })

  test('of a child tells the parent, which may have ended it itself', () => {
    const { order, notes, run } = rig()
    order((ctx) => {
      const child = ctx.spawn('child', deaf)
      ctx.watch(child, (ended: Ended) => ended)
      ctx.stop(child)
    })
    run()

    assert.deepEqual(notes, [{ path: '/watcher/child', cause: 'stopped', error: undefined }])
  })

  test('tells nobody when the watcher has ended before', () => {
    const { system, order, notes, run, watcher } = rig()
    const target = system.spawn('target', deaf)
    order((ctx) => ctx.watch(target, 'ended'))
    watcher.stop()
    run()
    target.stop()
    run()

    assert.deepEqual(notes, [])
    assert.deepEqual(system.deadLetters, [])
  })

  test('outlives a restart of the target, which is no end', () => {
    const { system, order, notes, run } = rig()
    const target = system.spawn(
      'target',
      receive<string>(() => {
        throw new Error('no')
      }),
      { supervision: restart({ backoff: { minMs: 0, jitter: 0 } }) },
    )
    order((ctx) => ctx.watch(target, 'ended'))
    target.tell('fail')
    run()
    assert.deepEqual(notes, [])

    target.stop()
    run()
    assert.deepEqual(notes, ['ended'])
  })

  test('with a maker that throws is a failure of the watcher, supervised there', () => {
    const { system, order, notes, run, watcher } = rig({ supervision: resume() })
    const target = system.spawn('target', deaf)
    order((ctx) =>
      ctx.watch(target, () => {
        throw new Error('no')
      }),
    )
    target.stop()
    watcher.tell('next')
    run()

    assert.deepEqual(notes, ['next'])
    assert.equal(system.metrics().failures, 1)
  })
})

describe('watching other things', () => {
  test('whatever says when it ends can be watched', () => {
    const { order, notes, run } = rig()
    const box = inbox<string>('box')
    order((ctx) => ctx.watch(box, (ended: Ended) => ended))
    box.end('failed', 'why')
    run()

    assert.deepEqual(notes, [{ path: '/box', cause: 'failed', error: 'why' }])
  })

  test('what ends twice is told once', () => {
    const { order, notes, run } = rig()
    const box = inbox<string>('box')
    const twice = {
      path: '/twice',
      tell: () => undefined,
      onEnd(listener: (ended: Ended) => void) {
        for (let n = 0; n < 2; n++) box.onEnd(listener)
        return () => undefined
      },
    }
    order((ctx) => ctx.watch(twice, 'ended'))
    box.end()
    run()

    assert.deepEqual(notes, ['ended'])
  })

  test('what does not is refused, and nothing else is lost', () => {
    const { order, notes, system, watcher, run } = rig({ supervision: resume() })
    const errors: unknown[] = []
    system.trace(({ type, facts }) => type === 'failed' && errors.push(facts['error']))
    order((ctx) => ctx.watch({ path: '/wall', tell: () => undefined }, 'ended'))
    watcher.tell('next')
    run()

    const [error] = errors
    assert.ok(error instanceof Accident)
    assert.equal(error.code, 'not-watchable')
    assert.equal(error.detail['actor'], '/wall')
    assert.ok(error.detail['remedy'])
    assert.deepEqual(notes, ['next'])
  })
})

describe('the limit of watches', () => {
  test(`${WATCHES_MAX} at once, and not one more`, () => {
    const { order, notes, system, run } = rig()
    const last = system.spawn('last', deaf)
    const refused: unknown[] = []
    order((ctx) => {
      for (let n = 1; n < WATCHES_MAX; n++) ctx.watch(eternal(), 'ended')
      ctx.watch(last, 'first')
      ctx.watch(last, 'second') // replaces, and takes no more room
      try {
        ctx.watch(eternal(), 'ended')
      } catch (error) {
        refused.push(error)
      }
    })
    const [error] = refused
    assert.equal(refused.length, 1)
    assert.ok(error instanceof Accident)
    assert.equal(error.code, 'too-many-watches')
    assert.equal(error.detail['actor'], '/watcher')
    assert.equal(error.detail['limit'], WATCHES_MAX)
    assert.ok(error.detail['remedy'])

    last.stop()
    run()
    assert.deepEqual(notes, ['second'])
    order((ctx) => ctx.watch(eternal(), 'ended'))
    assert.equal(system.metrics().failures, 0, 'an end that was told takes no room any more')
  })
})
