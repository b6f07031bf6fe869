import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { afterIo, lineLog, random } from '../std/index.ts'
import { inbox, virtualClock, type VirtualClock } from '../testkit/index.ts'
import {
  createSteppedSystem,
  escalate,
  manual,
  receive,
  restart,
  setup,
  type Behavior,
  type Context,
  type Ended,
  type Handle,
  type Ref,
  type SteppedSystem,
} from './index.ts'
import { SYSTEM_LANE_MAX } from './internal/system-lane.ts'
import { STOP_MS_DEFAULT } from './system.ts'

const AT_ONCE = { minMs: 0, maxMs: 0, factor: 1, jitter: 0 }

type Rig = Readonly<{
  clock: VirtualClock
  system: SteppedSystem
  /** Lines of the log. */
  lines: string[]
  run: () => void
  /** Runs until nothing is left to do that waits for a promise at most. */
  settle: () => Promise<void>
}>

function rig(): Rig {
  const clock = virtualClock()
  const lines: string[] = []
  const log = lineLog((line) => lines.push(line), { clock })
  const system = createSteppedSystem({ clock, random: random(1), log })
  const run = (): void => {
    while (system.step());
  }
  return {
    clock,
    system,
    lines,
    run,
    async settle() {
      do {
        run()
        await new Promise<void>(afterIo)
      } while (system.readyDepth > 0)
    },
  }
}

type Plan = Readonly<{ [name: string]: Plan }>

/** A tree of actors that say when they end; `onStop` may take its time. */
function tree(
  plan: Plan,
  said: string[],
  onStop: (ctx: Context<string>) => void | PromiseLike<void> = () => undefined,
): Behavior<string> {
  return setup<string>((ctx) => {
    for (const [name, below] of Object.entries(plan)) ctx.spawn(name, tree(below, said, onStop))
    return receive<string>(() => undefined, {
      onStop(own) {
        said.push(own.path)
        return onStop(own)
      },
    })
  })
}

const never = (): Promise<void> => new Promise<void>(() => undefined)

const FAMILY: Plan = { a: { a1: {}, a2: {} }, b: { b1: {} } }
const IN_ORDER = ['/top/b/b1', '/top/b', '/top/a/a2', '/top/a/a1', '/top/a', '/top']

describe('stopping', () => {
  test('goes from the youngest to the oldest, each after its children', async () => {
    const { system, settle } = rig()
    const said: string[] = []
    const top = system.spawn('top', tree(FAMILY, said))
    await settle()

    top.stop()
    await settle()

    assert.deepEqual(said, IN_ORDER)
    assert.equal(system.metrics().stopped, 6)
  })

  test('of a system takes the same order over all it has', async () => {
    const { system, settle } = rig()
    const said: string[] = []
    for (const name of ['one', 'two']) system.spawn(name, tree({ x: {} }, said))
    await settle()

    const report = system.stop()
    await settle()

    assert.deepEqual(said, ['/two/x', '/two', '/one/x', '/one'])
    assert.deepEqual(await report, { overdue: [] })
  })

  test('waits for every async onStop before the next one begins', async () => {
    const { system, settle } = rig()
    const said: string[] = []
    const pending: (() => void)[] = []
    const top = system.spawn(
      'top',
      tree(FAMILY, said, () => new Promise<void>((resolve) => pending.push(resolve))),
    )
    await settle()
    top.stop()

    for (let ended = 1; ended <= IN_ORDER.length; ended++) {
      await settle()
      assert.deepEqual(said, IN_ORDER.slice(0, ended))
      pending.shift()?.()
    }
    await settle()

    assert.deepEqual(said, IN_ORDER)
    assert.equal((await top.ended).cause, 'stopped')
  })

  test('goes on where an onStop throws or rejects, and says so', async () => {
    for (const fails of [
      () => {
        throw new Error('no')
      },
      () => Promise.reject(new Error('no')),
    ]) {
      const { system, settle, lines } = rig()
      const said: string[] = []
      const top = system.spawn('top', tree(FAMILY, said, fails))
      await settle()
      top.stop()
      await settle()

      assert.deepEqual(said, IN_ORDER)
      assert.equal((await top.ended).cause, 'stopped')
      assert.equal(lines.length, IN_ORDER.length)
      assert.match(lines[0]!, /"message":"onStop failed".*"actor":"\/top\/b\/b1"/u)
      assert.equal(system.metrics().failures, IN_ORDER.length)
    }
  })

  test('calls each onStop once, also where two children end at the same moment', async () => {
    for (const takesTime of [false, true]) {
      const stage = rig()
      const { promise, resolve } = Promise.withResolvers<void>()
      let calls = 0
      let elder: Ref<string> | undefined
      const parent = stage.system.spawn(
        'parent',
        setup<string>((ctx) => {
          elder = ctx.spawn(
            'elder',
            receive<string>(() => 'stopped'),
          )
          ctx.spawn(
            'younger',
            receive<string>(() => undefined, { onStop: () => promise }),
          )
          return receive<string>(() => undefined, {
            onStop: () => {
              calls += 1
              return takesTime ? new Promise<void>(afterIo) : undefined
            },
          })
        }),
      )
      stage.run()
      elder?.tell('end')
      parent.stop()
      stage.system.step(() => 1) // the parent, which now waits for the younger
      stage.system.step(() => 1) // the younger, which now waits for the promise
      resolve()
      await new Promise<void>(afterIo)
      stage.system.step(() => 0) // the elder, which ends before the parent has its turn
      await stage.settle()

      assert.equal(calls, 1)
      assert.equal((await parent.ended).cause, 'stopped')
    }
  })

  test('calls an onStop once where the children have none and end at once', async () => {
    const { system, settle } = rig()
    let calls = 0
    const parent = system.spawn(
      'parent',
      setup<string>((ctx) => {
        for (let n = 0; n < 3; n++) ctx.spawnAnonymous(receive<string>(() => undefined))
        return receive<string>(() => undefined, { onStop: () => void calls++ })
      }),
    )
    await settle()
    parent.stop()
    await settle()

    assert.equal(calls, 1)
    assert.equal(system.metrics().stopped, 4)
  })

  test('is not confused by an onStop that settles twice', async () => {
    const stage = rig()
    let lives = 0
    const twice = {
      // oxlint-disable-next-line unicorn/no-thenable
      then(settled: () => void) {
        settled()
        settled()
        throw new Error('and then this')
      },
    }
    const actor = stage.system.spawn(
      'actor',
      setup<string>(() => {
        lives += 1
        return receive<string>(
          () => {
            throw new Error('no')
          },
          { onStop: () => twice as PromiseLike<void> },
        )
      }),
      { supervision: restart({ backoff: AT_ONCE }) },
    )
    actor.tell('fail')
    await stage.settle()
    assert.equal(lives, 2)
    assert.equal(stage.system.metrics().restarts, 1)

    actor.stop()
    await stage.settle()
    assert.equal((await actor.ended).cause, 'stopped')
    assert.equal(stage.system.metrics().stopped, 1)
  })

  test('lets onStop tell others, and know who it was', async () => {
    const { system, settle } = rig()
    const heard = inbox<string>()
    const actor = system.spawn(
      'actor',
      receive<string>(() => undefined, {
        onStop(ctx) {
          heard.tell(ctx.path)
        },
      }),
    )
    actor.stop()
    await settle()

    heard.expect('/actor')
  })

  test('refuses new children while it ends', async () => {
    const { system, settle, lines } = rig()
    const actor = system.spawn(
      'actor',
      receive<string>(() => undefined, {
        onStop(ctx) {
          ctx.spawn(
            'late',
            receive<string>(() => undefined),
          )
        },
      }),
    )
    actor.stop()
    await settle()

    assert.match(lines.join('\n'), /can have no more children/u)
    assert.equal((await actor.ended).cause, 'stopped')
  })

  test('aborts the signal and does not wait for the handler that awaits', async () => {
    const { system, run } = rig()
    const seen: string[] = []
    const actor = system.spawn(
      'actor',
      receive<string>(
        async (ctx) => {
          ctx.signal.addEventListener('abort', () => seen.push('aborted'))
          await new Promise(() => undefined)
        },
        { onStop: () => void seen.push('onStop') },
      ),
    )
    actor.tell('wait')
    run()
    actor.stop()
    run()

    assert.deepEqual(seen, ['aborted', 'onStop'])
    assert.equal((await actor.ended).cause, 'stopped')
  })

  test('interrupts a restart that waits for its onStop', async () => {
    const stage = rig()
    const { promise, resolve } = Promise.withResolvers<void>()
    let [lives, onStops] = [0, 0]
    const actor = stage.system.spawn(
      'actor',
      setup<string>(() => {
        lives += 1
        return receive<string>(
          () => {
            throw new Error('no')
          },
          {
            onStop() {
              onStops += 1
              return promise
            },
          },
        )
      }),
      { supervision: restart({ backoff: AT_ONCE }) },
    )
    actor.tell('fail')
    await stage.settle()
    actor.stop()
    await stage.settle()
    resolve()
    await stage.settle()

    assert.deepEqual([lives, onStops], [1, 1])
    assert.equal((await actor.ended).cause, 'stopped')
  })

  test('a child that is stopped by its parent is gone from it', async () => {
    const { system, settle } = rig()
    let context: Context<string> | undefined
    system
      .spawn(
        'parent',
        setup<string>((ctx) => {
          context = ctx
          ctx.spawn('child', tree({ below: {} }, []))
          return receive<string>((own, name) => {
            const child = own.child(name)
            if (child !== undefined) own.stop(child)
          })
        }),
      )
      .tell('child')
    await settle()

    assert.deepEqual(context?.children, [])
    assert.equal(context.child('child'), undefined)
    assert.equal(system.metrics().stopped, 2)
  })

  test('of a parent is the cause its children give', async () => {
    const stage = rig()
    const ends: Ended[] = []
    const heard = (ended: Ended): void => void ends.push(ended)
    const parent = stage.system.spawn(
      'parent',
      setup<string>((ctx) => {
        const named = ctx.spawn('named', tree({}, []))
        const plain = ctx.spawnAnonymous(receive<string>(() => undefined))
        void (named as Handle<string>).ended.then(heard)
        void (plain as Handle<string>).ended.then(heard)
        return receive<string>(() => undefined)
      }),
    )
    void parent.ended.then(heard)
    await stage.settle()
    parent.stop()
    await stage.settle()

    assert.deepEqual(
      ends.map(({ cause }) => cause),
      ['parent-stopped', 'parent-stopped', 'stopped'],
    )
  })

  test('reaches an actor that is suspended for good', async () => {
    const { system, settle } = rig()
    const said: string[] = []
    const top = system.spawn('top', tree({ a: {} }, said))
    await settle()
    const a = system.find('/top/a')
    assert.ok('suspend' in a)
    a.suspend('external', manual())
    top.suspend('external', manual())

    top.stop()
    await settle()

    assert.deepEqual(said, ['/top/a', '/top'])
  })

  test('reaches an actor that is flooded with failures of its children', async () => {
    const { system, settle } = rig()
    const children: Ref<string>[] = []
    const parent = system.spawn(
      'parent',
      setup<string>((ctx) => {
        for (let n = 0; n < SYSTEM_LANE_MAX; n++) {
          const failing = receive<string>(() => {
            throw new Error('no')
          })
          children.push(ctx.spawnAnonymous(failing, { supervision: escalate() }))
        }
        return receive<string>(() => undefined)
      }),
      { supervision: { type: 'resume' } },
    )
    system.step()
    for (const child of children) child.tell('fail')
    // Everybody but the parent has a turn, so that all the failures wait for it at once.
    for (let n = 0; n < children.length; n++) system.step(() => 0)
    parent.stop()
    await settle()

    assert.equal((await parent.ended).cause, 'stopped')
    assert.equal(system.metrics().stopped, children.length + 1)
  })
})

describe('the deadline of a stop', () => {
  test('names who had not ended in time, and gives them up', async () => {
    const stage = rig()
    const ends: Ended[] = []
    const slow = stage.system.spawn('slow', tree({ child: {} }, [], never))
    stage.system.spawn('quick', tree({ child: {} }, []))
    void slow.ended.then((ended) => ends.push(ended))
    await stage.settle()

    const report = stage.system.stop({ deadlineMs: 500 })
    await stage.settle()
    stage.clock.advance(499)
    await stage.settle()
    assert.deepEqual(ends, [])

    stage.clock.advance(1)
    await stage.settle()
    assert.deepEqual(await report, { overdue: ['/slow/child', '/slow'] })
    assert.deepEqual(ends, [{ path: '/slow', cause: 'overdue', error: undefined }])
    assert.equal(slow.tell('late')?.code, 'actor-stopped')
    assert.equal(stage.clock.next, undefined)
  })

  test(`is ${STOP_MS_DEFAULT} ms unless said otherwise`, async () => {
    const stage = rig()
    let report: unknown
    stage.system.spawn('slow', tree({}, [], never))
    await stage.settle()
    void stage.system.stop().then((done) => (report = done))
    await stage.settle()

    stage.clock.advance(STOP_MS_DEFAULT - 1)
    await stage.settle()
    assert.equal(report, undefined)
    stage.clock.advance(1)
    await stage.settle()
    assert.deepEqual(report, { overdue: ['/slow'] })
  })

  test('is the earliest where there are several stops, and all of them report the same', async () => {
    const stage = rig()
    stage.system.spawn('slow', tree({}, [], never))
    await stage.settle()
    const reports = [5_000, 100, 300].map((deadlineMs) => stage.system.stop({ deadlineMs }))
    await stage.settle()
    stage.clock.advance(100)
    await stage.settle()

    for (const report of reports) assert.deepEqual(await report, { overdue: ['/slow'] })
    assert.deepEqual(await stage.system.stop(), { overdue: ['/slow'] })
  })

  test('leaves nothing behind when a late onStop settles after all', async () => {
    const stage = rig()
    const { promise, resolve } = Promise.withResolvers<void>()
    stage.system.spawn(
      'slow',
      tree({}, [], () => promise),
    )
    await stage.settle()
    const report = stage.system.stop({ deadlineMs: 10 })
    await stage.settle()
    stage.clock.advance(10)
    await report

    resolve()
    await stage.settle()

    assert.equal(stage.system.metrics().stopped, 2)
    assert.equal(stage.system.readyDepth, 0)
  })
})
