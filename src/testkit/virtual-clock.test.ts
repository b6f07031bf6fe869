import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { virtualClock, type VirtualClock } from './virtual-clock.ts'

const NEW_YEAR_2026 = 1_767_225_600_000

/** Sets a timer that notes its name and the time at which it ran. */
function note(clock: VirtualClock, log: string[], name: string, dueMs: number): void {
  clock.setTimer(dueMs, () => log.push(`${name}@${clock.monotonic()}`))
}

describe('virtual clock', () => {
  test('stands still until it is turned, and starts at a fixed instant', () => {
    const clock = virtualClock()

    assert.equal(clock.monotonic(), 0)
    assert.equal(clock.now(), NEW_YEAR_2026)
    assert.equal(virtualClock({ now: 5 }).now(), 5)

    clock.advance(1_500)
    assert.equal(clock.monotonic(), 1_500)
    assert.equal(clock.now(), NEW_YEAR_2026 + 1_500)
  })

  test('runs what comes due in order, each at its own time', () => {
    const clock = virtualClock()
    const log: string[] = []
    note(clock, log, 'late', 30)
    note(clock, log, 'early', 10)
    note(clock, log, 'equal', 30)
    note(clock, log, 'beyond', 31)

    clock.advance(30)

    assert.deepEqual(log, ['early@10', 'late@30', 'equal@30'])
    assert.equal(clock.next, 31)
  })

  test('a timer set by a timer runs in the same turn if it is due in it', () => {
    const clock = virtualClock()
    const log: string[] = []
    clock.setTimer(10, () => note(clock, log, 'second', 20))

    clock.advance(25)

    assert.deepEqual(log, ['second@20'])
    assert.equal(clock.monotonic(), 25)
  })

  test('a cancelled timer does not run, and does not count as next', () => {
    const clock = virtualClock()
    const log: string[] = []
    const timer = clock.setTimer(10, () => log.push('never'))
    timer.cancel()

    assert.equal(clock.next, undefined)
    clock.advance(10)
    assert.deepEqual(log, [])
    timer.cancel() // without effect
  })

  test('what is due at infinity never comes', () => {
    const clock = virtualClock()
    clock.setTimer(Infinity, () => assert.fail('it came'))

    clock.advance(1e12)

    assert.equal(clock.next, undefined)
  })

  test('time that passes makes timers late and runs none', () => {
    const clock = virtualClock()
    const log: string[] = []
    note(clock, log, 'a', 10)

    clock.pass(50)
    assert.deepEqual(log, [])

    clock.advance(0)
    assert.deepEqual(log, ['a@50'])
  })

  test('fires one timer at a time, and lets the caller choose among equals only', () => {
    const clock = virtualClock()
    const log: string[] = []
    for (const name of ['a', 'b', 'c']) note(clock, log, name, 10)
    note(clock, log, 'later', 11)
    assert.equal(clock.fire(), false)
    clock.pass(20)

    const counts: number[] = []
    const last = (count: number): number => {
      counts.push(count)
      return count - 1
    }
    while (clock.fire(last));

    assert.deepEqual(log, ['c@20', 'b@20', 'a@20', 'later@20'])
    assert.deepEqual(counts, [3, 2])
  })

  test('is not turned back, nor by a timer that it runs', () => {
    const clock = virtualClock()

    for (const ms of [-1, NaN, Infinity])
      assert.throws(() => clock.advance(ms), { code: 'bad-option' })
    assert.throws(() => clock.pass(-1), { code: 'bad-option' })

    clock.setTimer(1, () => clock.advance(1))
    assert.throws(() => clock.advance(1), { name: 'AssertionFailure' })
    clock.advance(1) // the clock is free again
  })

  test('timers that set timers for the same instant, without end, are found', () => {
    const clock = virtualClock()
    const again = (): void => void clock.setTimer(clock.monotonic(), again)
    again()

    assert.throws(() => clock.advance(1), { code: 'clock-stuck' })
  })
})
