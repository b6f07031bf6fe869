import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { virtualClock } from '../../testkit/index.ts'
import { Breaker } from './breaker.ts'

function fail(breaker: Breaker, times: number): void {
  for (let n = 0; n < times; n++) breaker.failed(breaker.admit()!)
}

describe('a breaker', () => {
  test('opens at so many failures in a row, and not one before', () => {
    const breaker = new Breaker(virtualClock(), 5, 60_000)
    fail(breaker, 4)
    assert.equal(breaker.state, 'closed')
    breaker.succeeded(breaker.admit()!)
    fail(breaker, 4)
    assert.equal(breaker.state, 'closed')
    fail(breaker, 1)
    assert.equal(breaker.state, 'open')
    assert.equal(breaker.admit(), undefined)
  })

  test('lets one through after the quiet period, and nobody besides', () => {
    const clock = virtualClock()
    const breaker = new Breaker(clock, 1, 60_000)
    fail(breaker, 1)
    clock.advance(59_999)
    assert.equal(breaker.admit(), undefined)
    clock.advance(1)
    const trial = breaker.admit()
    assert.ok(trial !== undefined)
    assert.equal(breaker.state, 'trial')
    assert.equal(breaker.admit(), undefined)
    breaker.succeeded(trial)
    assert.equal(breaker.state, 'closed')
    assert.ok(breaker.admit() !== undefined)
  })

  test('is quiet again for the whole period when the trial fails, whatever the threshold', () => {
    const clock = virtualClock()
    const breaker = new Breaker(clock, 5, 60_000)
    fail(breaker, 5)
    clock.advance(60_000)
    fail(breaker, 1)
    assert.equal(breaker.state, 'open')
    clock.advance(59_999)
    assert.equal(breaker.admit(), undefined)
    clock.advance(1)
    assert.ok(breaker.admit() !== undefined)
  })

  test('is not told anything by attempts from before', () => {
    const clock = virtualClock()
    const breaker = new Breaker(clock, 1, 60_000)
    const [slow, slower, failing] = [breaker.admit()!, breaker.admit()!, breaker.admit()!]
    breaker.failed(failing)
    breaker.succeeded(slow)
    assert.equal(breaker.state, 'open')
    clock.advance(60_000)
    const trial = breaker.admit()!
    breaker.failed(slower)
    assert.equal(breaker.state, 'trial')
    breaker.succeeded(trial)
    assert.equal(breaker.state, 'closed')
  })
})
