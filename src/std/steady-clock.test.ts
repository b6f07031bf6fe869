import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Clock } from './clock.ts'
import { STEADY_SLEW_SHARE_MAX, steadyClock } from './steady-clock.ts'

const START = 1_767_225_600_000
const HOUR_MS = 3_600_000

/** A host whose two times are set by the test. */
class Host implements Clock {
  wall = START
  mono = 17.25

  now(): number {
    return this.wall
  }

  monotonic(): number {
    return this.mono
  }

  setTimer(): never {
    assert.fail('it waits for nothing')
  }

  pass(ms: number): void {
    this.wall += ms
    this.mono += ms
  }
}

describe('steady clock', () => {
  test('says what the host says as long as that is steady', () => {
    const host = new Host()
    const steady = steadyClock(host)
    for (let n = 0; n < 10_000; n++) {
      assert.equal(steady.now(), host.wall)
      host.pass(777)
    }
  })

  for (const [what, jump] of [
    ['forward', HOUR_MS],
    ['back', -HOUR_MS],
  ] as const) {
    test(`does not follow a jump of an hour ${what}, but creeps after it`, () => {
      const host = new Host()
      const steady = steadyClock(host)
      host.wall += jump
      let last = steady.now()
      for (let s = 1; s <= 10_000; s++) {
        host.pass(1_000)
        const now = steady.now()
        assert.ok(now >= last)
        const offMs = Math.abs(now - (START + s * 1_000))
        assert.ok(offMs <= s * 1_000 * STEADY_SLEW_SHARE_MAX + 1, `${offMs} ms after ${s} s`)
        last = now
      }
      assert.ok((last - START - 10_000_000) * Math.sign(jump) > 4_000)
    })
  }

  test('arrives where the host is and stays there', () => {
    const host = new Host()
    const steady = steadyClock(host)
    host.wall += 100
    for (let s = 0; s < 1_000; s++) {
      host.pass(1_000)
      steady.now()
    }
    assert.ok(Math.abs(steady.now() - host.wall) <= 1)
  })

  test('says when it will be a time, which is when it is', () => {
    const host = new Host()
    const steady = steadyClock(host)
    host.wall += HOUR_MS
    host.pass(1_000)
    steady.now()
    const due = steady.monotonicAt(START + 60_000)
    host.pass(due - host.mono)
    assert.ok(Math.abs(steady.now() - (START + 60_000)) <= 1)
  })
})
