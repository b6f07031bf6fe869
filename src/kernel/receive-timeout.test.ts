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
  type Context,
  type Handle,
  type SpawnOptions,
  type SteppedSystem,
} from './index.ts'

type Order = (ctx: Context<string | Order>) => void

type Rig = Readonly<{
  clock: VirtualClock
  system: SteppedSystem
  actor: Handle<string | Order>
  notes: string[]
  run: () => void
  order: (what: Order) => void
  pass: (ms: number) => void
}>

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

describe('a receive timeout', () => {
  test('comes when nothing has arrived for so long, and again after the same time', () => {
    const { order, pass, notes } = rig()
    order((ctx) => ctx.receiveTimeout(100, 'silence'))
    pass(99)
    assert.deepEqual(notes, [])
    pass(1)
    assert.deepEqual(notes, ['silence at 100'])
    pass(150)
    assert.deepEqual(notes, ['silence at 100', 'silence at 200'])
  })

  test('is put off by every message', () => {
    const { order, pass, notes, actor } = rig()
    order((ctx) => ctx.receiveTimeout(100, 'silence'))
    for (let n = 0; n < 5; n++) {
      pass(60)
      actor.tell('noise')
    }
    pass(99)
    assert.ok(notes.every((note) => note.startsWith('noise')))
    pass(1)
    assert.equal(notes.at(-1), 'silence at 400')
  })

  test('does not come while mail waits that has arrived in time', () => {
    const { order, pass, notes, actor, run } = rig()
    order((ctx) => ctx.receiveTimeout(100, 'silence'))
    const token = actor.suspend('user', manual())
    actor.tell('noise')
    pass(500)
    token.resume()
    run()
    assert.deepEqual(notes, ['noise at 500'])

    pass(100)
    assert.deepEqual(notes, ['noise at 500', 'silence at 600'])
  })

  test('is replaced by another, and ended by undefined', () => {
    const { order, pass, notes, system } = rig()
    order((ctx) => ctx.receiveTimeout(100, 'first'))
    order((ctx) => ctx.receiveTimeout(200, 'second'))
    pass(200)
    assert.deepEqual(notes, ['second at 200'])

    order((ctx) => ctx.receiveTimeout(undefined))
    pass(5_000)
    assert.deepEqual(notes, ['second at 200'])
    assert.equal(system.metrics().timers_pending, 0)
  })

  test('that was ended does not come, even if it waits in the mailbox', async () => {
    const clock = virtualClock()
    const system = createSteppedSystem({ clock })
    const { promise, resolve } = Promise.withResolvers<void>()
    const notes: string[] = []
    const actor = system.spawn(
      'actor',
      receive<string>(async (ctx, message) => {
        notes.push(message)
        if (message !== 'begin') return
        ctx.receiveTimeout(100, 'silence')
        await promise
        ctx.receiveTimeout(undefined)
      }),
    )
    actor.tell('begin')
    while (system.step());
    clock.advance(100) // nothing has arrived meanwhile
    resolve()
    await new Promise<void>(afterIo)
    while (system.step());
    clock.advance(1_000)
    while (system.step());

    assert.deepEqual(notes, ['begin'])
  })

  test('ends with a restart and with the actor', () => {
    const { order, pass, notes, actor, run, system } = rig({
      supervision: restart({ backoff: { minMs: 0, jitter: 0 } }),
    })
    order((ctx) => ctx.receiveTimeout(100, 'silence'))
    order(() => {
      throw new Error('no')
    })
    pass(1_000)
    assert.deepEqual(notes, [])

    order((ctx) => ctx.receiveTimeout(100, 'silence'))
    actor.stop()
    run()
    pass(1_000)
    assert.deepEqual(notes, [])
    assert.equal(system.metrics().timers_pending, 0)
  })

  test('that is no time is refused', () => {
    const { order, system } = rig({ supervision: { type: 'resume' } })
    const refused: unknown[] = []
    order((ctx) => {
      for (const ms of [Number.NaN, Infinity, -1, 0]) {
        try {
          ctx.receiveTimeout(ms, 'silence')
        } catch (error) {
          refused.push(error)
        }
      }
    })

    assert.equal(refused.length, 4)
    for (const error of refused) {
      assert.ok(error instanceof Accident)
      assert.equal(error.code, 'bad-option')
      assert.equal(error.detail['actor'], '/actor')
      assert.ok(error.detail['remedy'])
    }
    assert.equal(system.metrics().timers_pending, 0)
  })

  test('notices messages on the express lane too', async () => {
    const clock = virtualClock()
    await using system = createSystem({ clock })
    const notes: string[] = []
    const actor = system.spawn(
      'actor',
      receive<string>((ctx, message) => {
        if (message === 'begin') ctx.receiveTimeout(100, 'silence')
        else notes.push(message)
      }),
    )
    actor.tell('begin')
    for (let n = 0; n < 5; n++) {
      actor.tell('noise')
      await new Promise<void>(afterIo)
      clock.advance(60)
    }
    while (notes.length < 5) await new Promise<void>(afterIo)
    assert.ok(!notes.includes('silence'))

    clock.advance(100)
    clock.advance(100)
    while (notes.length < 6) await new Promise<void>(afterIo)
    assert.equal(notes.at(-1), 'silence')
    actor.stop()
  })
})
