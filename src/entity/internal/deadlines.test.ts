import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { TimerQueue } from '../../std/index.ts'
import { virtualClock } from '../../testkit/index.ts'
import { Deadlines } from './deadlines.ts'
import { Caller } from './request.ts'

class Waiting extends Caller {
  firedAt: number | undefined

  constructor(now: () => number) {
    super(
      () => undefined,
      () => undefined,
    )
    this.fire = () => (this.firedAt = now())
  }
}

describe('deadlines', () => {
  test('come when they are due, however long they are', () => {
    const clock = virtualClock()
    const deadlines = new Deadlines(clock, new TimerQueue(clock))
    const waiting: [Waiting, number][] = []
    for (let n = 0; n < 200; n++) {
      const ms = [1, 8, 9, 100, 10_000][n % 5]!
      const caller = new Waiting(() => clock.monotonic())
      deadlines.add(caller, ms)
      waiting.push([caller, clock.monotonic() + ms])
      clock.advance(3)
    }
    clock.advance(20_000)
    for (const [caller, due] of waiting) assert.equal(caller.firedAt, due)
  })

  test('of those who have been answered leave nothing behind', () => {
    const clock = virtualClock()
    const timers = new TimerQueue(clock)
    const deadlines = new Deadlines(clock, timers)
    for (let n = 0; n < 100; n++) {
      const caller = new Waiting(() => assert.fail('it was answered'))
      deadlines.add(caller, 1_000)
      caller.reject = undefined
    }
    clock.advance(8)
    assert.equal(timers.size, 0)
    clock.advance(10_000)
  })
})
