import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { afterIo, afterTurn, clockOver, systemClock, type ClockHost } from './clock.ts'

const DAY_MS = 86_400_000

/** A host whose time moves only when told; `earlyMs` makes its timers fire that much too soon. */
class HandTurnedHost implements ClockHost {
  readonly delays: number[] = []
  readonly earlyMs: number
  #monotonic = 0.25
  #armed: { dueMs: number; callback: () => void } | undefined

  constructor(options: { earlyMs?: number } = {}) {
    this.earlyMs = options.earlyMs ?? 0
  }

  now(): number {
    return 1_000_000 + this.#monotonic
  }

  monotonic(): number {
    return this.#monotonic
  }

  arm(delayMs: number, callback: () => void): () => void {
    assert.equal(this.#armed, undefined, 'one timer arms the host once at a time')
    this.delays.push(delayMs)
    const armed = { dueMs: this.#monotonic + delayMs - this.earlyMs, callback }
    this.#armed = armed
    return () => {
      if (this.#armed === armed) this.#armed = undefined
    }
  }

  get isArmed(): boolean {
    return this.#armed !== undefined
  }

  /** Fires whatever comes due until `untilMs`. */
  turn(untilMs: number): void {
    while (this.#armed !== undefined && this.#armed.dueMs <= untilMs) {
      const { dueMs, callback } = this.#armed
      this.#armed = undefined
      this.#monotonic = Math.max(this.#monotonic, dueMs)
      callback()
    }
    this.#monotonic = untilMs
  }
}

describe('clock', () => {
  test('a timer runs once, when it is due and not before', () => {
    const host = new HandTurnedHost()
    const firedAt: number[] = []
    clockOver(host).setTimer(100, () => firedAt.push(host.monotonic()))

    host.turn(99.9)
    assert.deepEqual(firedAt, [])
    host.turn(5_000)
    assert.equal(firedAt.length, 1)
    assert.ok(firedAt[0]! >= 100)
    assert.equal(host.isArmed, false)
  })

  test('a host that fires too early is armed again', () => {
    const host = new HandTurnedHost({ earlyMs: 0.7 })
    const firedAt: number[] = []
    clockOver(host).setTimer(100, () => firedAt.push(host.monotonic()))

    host.turn(200)

    assert.equal(firedAt.length, 1)
    assert.ok(firedAt[0]! >= 100)
    assert.ok(host.delays.length > 1)
  })

  test('a delay longer than the host can count is gone in steps', () => {
    const host = new HandTurnedHost()
    const firedAt: number[] = []
    clockOver(host).setTimer(60 * DAY_MS, () => firedAt.push(host.monotonic()))

    host.turn(60 * DAY_MS - 1)
    assert.deepEqual(firedAt, [])
    host.turn(60 * DAY_MS + 1)

    assert.deepEqual(firedAt.length, 1)
    assert.equal(host.delays.length, 3)
    assert.equal(Math.max(...host.delays), 2 ** 31 - 1)
  })

  test('the longest delay the host can count takes one step, one more takes two', () => {
    for (const [delayMs, steps] of [
      [2 ** 31 - 1, 1],
      [2 ** 31, 2],
    ] as const) {
      const host = new HandTurnedHost()
      host.turn(0)
      clockOver(host).setTimer(delayMs, () => {})
      host.turn(2 ** 32)
      assert.equal(host.delays.length, steps)
    }
  })

  test('a timer already due still runs later than the call', () => {
    const host = new HandTurnedHost()
    let ran = false
    clockOver(host).setTimer(-5, () => (ran = true))

    assert.equal(ran, false)
    host.turn(host.monotonic())
    assert.equal(ran, true)
  })

  test('a cancelled timer never runs, also between two steps, and cancelling again is nothing', () => {
    const host = new HandTurnedHost()
    const timer = clockOver(host).setTimer(60 * DAY_MS, () => assert.fail('it was cancelled'))
    host.turn(30 * DAY_MS)

    timer.cancel()
    timer.cancel()

    host.turn(90 * DAY_MS)
    assert.equal(host.isArmed, false)
  })

  test('a timer that is never due keeps waiting', () => {
    const host = new HandTurnedHost()
    clockOver(host).setTimer(Infinity, () => assert.fail('infinity has come'))
    host.turn(100 * DAY_MS)
    assert.equal(host.isArmed, true)
  })

  test('not a number is refused', () => {
    assert.throws(() => clockOver(new HandTurnedHost()).setTimer(NaN, () => {}), {
      name: 'AssertionFailure',
    })
  })
})

describe('the system clock', () => {
  test('knows wall time and never runs backwards', () => {
    assert.ok(systemClock.now() > 1_700_000_000_000)
    let last = systemClock.monotonic()
    for (let n = 0; n < 1_000; n++) {
      const next = systemClock.monotonic()
      assert.ok(next >= last)
      last = next
    }
  })

  test('never calls back early', async () => {
    for (let n = 0; n < 10; n++) {
      const dueMs = systemClock.monotonic() + 1.5
      await new Promise<void>((resolve) => systemClock.setTimer(dueMs, resolve))
      assert.ok(systemClock.monotonic() >= dueMs)
    }
  })

  test('a turn ends before I/O, and I/O comes before what was put after it', async () => {
    const order: string[] = []
    const ended = new Promise<void>((resolve) =>
      afterIo(() => {
        order.push('after io')
        resolve()
      }),
    )
    afterTurn(() => order.push('after turn'))
    order.push('now')

    await ended

    assert.deepEqual(order, ['now', 'after turn', 'after io'])
  })
})
