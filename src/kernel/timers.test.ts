import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Accident, random, TimerQueue } from '../std/index.ts'
import { virtualClock, type VirtualClock } from '../testkit/index.ts'
import {
  createSteppedSystem,
  manual,
  receive,
  restart,
  resume,
  type Context,
  type Handle,
  type SpawnOptions,
  type SteppedSystem,
} from './index.ts'
import { TIMERS_MAX } from './internal/actor-timers.ts'

type Order = (ctx: Context<string | Order>) => void

type Rig = Readonly<{
  clock: VirtualClock
  system: SteppedSystem
  actor: Handle<string | Order>
  /** What the actor was told, with the time. */
  notes: string[]
  run: () => void
  /** Has the actor do something in a turn of its own. */
  order: (what: Order) => void
  /** Moves time, timer by timer, and runs after each. */
  pass: (ms: number) => void
}>

/** An actor that does what it is ordered to and notes everything else. */
function rig(options: SpawnOptions<string | Order> = {}): Rig {
  const clock = virtualClock()
  const system = createSteppedSystem({ clock, random: random(1) })
  const notes: string[] = []
  const actor = system.spawn(
    'actor',
    receive<string | Order>((ctx, message) => {
      if (typeof message === 'function') message(ctx)
      else notes.push(`${message} at ${clock.monotonic()}`)
    }),
    options,
  )
  const run = (): void => {
    while (system.step());
  }
  return {
    clock,
    system,
    actor,
    notes,
    run,
    order(what) {
      actor.tell(what)
      run()
    },
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

function accident(error: unknown): Accident {
  assert.ok(error instanceof Accident)
  return error
}

describe('a timer', () => {
  test('tells its message once, when it is due and not before', () => {
    const { order, pass, notes } = rig()
    order((ctx) => ctx.timers.after('key', 100, 'due'))

    pass(99)
    assert.deepEqual(notes, [])
    pass(1_000)
    assert.deepEqual(notes, ['due at 100'])
  })

  test('of no time at all comes behind what waits already', () => {
    const { order, pass, notes, actor } = rig()
    actor.tell((ctx) => ctx.timers.after('key', 0, 'due'))
    actor.tell('waits')
    order(() => undefined)
    pass(0)

    assert.deepEqual(notes, ['waits at 0', 'due at 0'])
  })

  test('is active until its message has been handled', () => {
    const { order, pass } = rig()
    const seen: boolean[] = []
    const look: Order = (ctx) => seen.push(ctx.timers.isActive('key'))
    order(look)
    order((ctx) => ctx.timers.after('key', 100, 'due'))
    order(look)
    pass(100)
    order(look)

    assert.deepEqual(seen, [false, true, false])
  })

  test('of each key runs by itself, equals in the order they were set', () => {
    const { order, pass, notes } = rig()
    order(({ timers }) => {
      timers.after('b', 20, 'b')
      timers.after('a', 10, 'a')
      timers.after('c', 20, 'c')
    })
    pass(100)

    assert.deepEqual(notes, ['a at 10', 'b at 20', 'c at 20'])
  })

  test('that is cancelled never comes', () => {
    const { order, pass, notes, system } = rig()
    order((ctx) => ctx.timers.after('key', 100, 'due'))
    pass(50)
    order((ctx) => ctx.timers.cancel('key'))
    order((ctx) => ctx.timers.cancel('unknown'))
    pass(1_000)

    assert.deepEqual(notes, [])
    assert.equal(system.metrics().timers_pending, 0)
  })

  test('that is cancelled never comes, even if it has expired and waits in the mailbox', () => {
    const { actor, clock, run, notes, order } = rig()
    order((ctx) => ctx.timers.after('key', 100, 'due'))
    actor.tell((ctx) => ctx.timers.cancel('key'))
    clock.advance(100)
    actor.tell('next')
    run()

    assert.deepEqual(notes, ['next at 100'])
  })

  test('that is set anew comes once, for the new time, even if it waits in the mailbox', () => {
    for (const expired of [false, true]) {
      const { actor, clock, run, notes, order, pass } = rig()
      order((ctx) => ctx.timers.after('key', 100, 'old'))
      actor.tell((ctx) => ctx.timers.after('key', 100, 'new'))
      clock.advance(expired ? 100 : 50)
      run()
      pass(1_000)

      assert.deepEqual(notes, [`new at ${expired ? 200 : 150}`])
    }
  })

  test('may be set anew by the message it told', () => {
    const { order, pass, notes } = rig()
    let left = 3
    const again: Order = (ctx) => {
      notes.push('again')
      if (left-- > 0) ctx.timers.after('key', 10, again)
    }
    order(again)
    pass(100)

    assert.equal(notes.length, 4)
  })

  test('exceeds the bound of the mailbox rather than being lost', () => {
    const { actor, clock, run, notes, order } = rig({ bound: 1 })
    order((ctx) => ctx.timers.after('key', 100, 'due'))
    actor.tell('fills')
    clock.advance(100)
    assert.equal(actor.tell('too much')?.code, 'mailbox-full')
    run()

    assert.deepEqual(notes, ['fills at 100', 'due at 100'])
  })

  test('expires while its actor rests, and is told when that goes on', () => {
    const { actor, pass, notes, order, run } = rig()
    order((ctx) => ctx.timers.after('key', 100, 'due'))
    const token = actor.suspend('user', manual())
    pass(200)
    assert.deepEqual(notes, [])

    token.resume()
    run()
    assert.deepEqual(notes, ['due at 200'])
  })

  test('ends with its actor', () => {
    const { actor, pass, notes, order, run, system, clock } = rig()
    order(({ timers }) => {
      timers.after('once', 100, 'due')
      timers.every('often', 10, 'tick')
    })
    actor.stop()
    run()
    assert.equal(system.metrics().timers_pending, 0)
    pass(1_000)

    assert.deepEqual(notes, [])
    assert.equal(clock.next, undefined)
  })

  test('ends with a restart, also one that has expired', () => {
    const { actor, clock, pass, notes, order, system } = rig({
      supervision: restart({ backoff: { minMs: 0, jitter: 0 } }),
    })
    order(({ timers }) => {
      timers.after('expired', 10, 'expired')
      timers.after('later', 1_000, 'later')
    })
    actor.tell(() => {
      throw new Error('no')
    })
    clock.advance(10)
    pass(5_000)

    assert.equal(system.metrics().restarts, 1)
    assert.deepEqual(notes, [])
  })
})

describe('a repeated timer', () => {
  test('tells its message every so often until it is cancelled', () => {
    const { order, pass, notes } = rig()
    order((ctx) => ctx.timers.every('key', 100, 'tick'))
    pass(350)
    assert.deepEqual(notes, ['tick at 100', 'tick at 200', 'tick at 300'])

    order((ctx) => ctx.timers.cancel('key'))
    pass(1_000)
    assert.equal(notes.length, 3)
  })

  test('does not heap up: a telling that still waits is not repeated', () => {
    const { actor, order, pass, notes, run } = rig()
    order((ctx) => ctx.timers.every('key', 100, 'tick'))
    const token = actor.suspend('user', manual())
    pass(1_050)
    token.resume()
    run()
    assert.deepEqual(notes, ['tick at 1050'])

    pass(100)
    assert.deepEqual(notes, ['tick at 1050', 'tick at 1100'])
  })

  test('stays active, and a timer of the same key replaces it', () => {
    const { order, pass, notes } = rig()
    let active: boolean | undefined
    order((ctx) => ctx.timers.every('key', 100, 'tick'))
    pass(100)
    order((ctx) => {
      active = ctx.timers.isActive('key')
      ctx.timers.after('key', 50, 'once')
    })
    pass(1_000)

    assert.equal(active, true)
    assert.deepEqual(notes, ['tick at 100', 'once at 150'])
  })
})

describe('the limits of timers', () => {
  test(`${TIMERS_MAX} may run at once, and not one more`, () => {
    const { order, pass, notes, system, actor } = rig({ supervision: resume() })
    const errors: unknown[] = []
    order(({ timers }) => {
      for (let n = 0; n < TIMERS_MAX; n++) timers.after(`${n}`, 1_000, 'due')
      timers.after('0', 1_000, 'due') // a key that is there already takes no more room
      try {
        timers.after('one more', 1_000, 'due')
      } catch (error) {
        errors.push(error)
      }
    })
    assert.equal(system.metrics().timers_pending, TIMERS_MAX)
    const { code, detail } = accident(errors[0])
    assert.equal(code, 'too-many-timers')
    assert.equal(detail['actor'], '/actor')
    assert.equal(detail['limit'], TIMERS_MAX)
    assert.ok(detail['remedy'])

    actor.tell('next')
    pass(1_000)
    assert.equal(notes.length, TIMERS_MAX + 1)
    order((ctx) => ctx.timers.after('room again', 1, 'due'))
    pass(1)
    assert.equal(notes.length, TIMERS_MAX + 2)
  })

  test('a time that is none is refused, and nothing is set', () => {
    const { order, system } = rig({ supervision: resume() })
    const refused: unknown[] = []
    order(({ timers }) => {
      const set: (() => void)[] = [
        ...[Number.NaN, Infinity, -1].map((ms) => () => timers.after('key', ms, 'due')),
        ...[Number.NaN, Infinity, -1, 0].map((ms) => () => timers.every('key', ms, 'due')),
      ]
      for (const each of set) {
        try {
          each()
        } catch (error) {
          refused.push(error)
        }
      }
    })

    assert.equal(refused.length, 7)
    for (const error of refused) {
      const { code, detail } = accident(error)
      assert.equal(code, 'bad-option')
      assert.equal(detail['actor'], '/actor')
      assert.ok(detail['remedy'])
    }
    assert.equal(system.metrics().timers_pending, 0)
  })
})

describe('the queue of timers', () => {
  test('arms one timer for all of them, and none when there is nothing to wait for', () => {
    const clock = virtualClock()
    const queue = new TimerQueue(clock)
    const fired: string[] = []
    const entries = [30, 10, 20].map((ms) => queue.after(ms, () => fired.push(`${ms}`)))
    assert.equal(clock.next, 10)

    queue.cancel(entries[1]!)
    clock.advance(10)
    assert.equal(clock.next, 20)
    clock.advance(100)

    assert.deepEqual(fired, ['20', '30'])
    assert.equal(clock.next, undefined)
    assert.equal(queue.size, 0)
    assert.equal(queue.cancel(entries[0]!), false)
  })

  test('is never early, whatever fraction of a millisecond it was', () => {
    const clock = virtualClock()
    clock.pass(0.4)
    const queue = new TimerQueue(clock)
    let firedAt = 0
    queue.after(10.2, () => (firedAt = clock.monotonic()))
    clock.advance(100)

    assert.ok(firedAt >= 10.6 && firedAt < 11.6, `${firedAt}`)
  })

  test('lets a timer set and cancel others while it fires', () => {
    const clock = virtualClock()
    const queue = new TimerQueue(clock)
    const fired: string[] = []
    const doomed = queue.after(10, () => fired.push('doomed'))
    queue.after(5, () => {
      fired.push('first')
      queue.cancel(doomed)
      queue.after(0, () => fired.push('at once'))
      queue.after(1, () => fired.push('soon'))
    })
    clock.advance(100)

    assert.deepEqual(fired, ['first', 'at once', 'soon'])
  })

  test('keeps a timer set anew in its new place', () => {
    const clock = virtualClock()
    const queue = new TimerQueue(clock)
    const fired: number[] = []
    const entry = queue.after(10, () => fired.push(clock.monotonic()))
    queue.set(entry, 50)
    clock.advance(20)
    assert.deepEqual(fired, [])
    clock.advance(100)
    assert.deepEqual(fired, [50])
  })

  test('forgets everything when it is cleared', () => {
    const clock = virtualClock()
    const queue = new TimerQueue(clock)
    queue.after(10, () => assert.fail('it was cleared'))
    queue.clear()
    clock.advance(100)

    assert.equal(queue.size, 0)
    assert.equal(clock.next, undefined)
  })
})
