import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { inbox } from '../testkit/index.ts'
import type { Delivery, QueueFault } from './broker.ts'
import { Waiter, Waiters } from './waiters.ts'

function waiter(until: number, signal?: AbortSignal): Waiter {
  const replyTo = inbox<readonly Delivery[] | QueueFault>()
  return new Waiter({ max: 1, until, visibilityMs: 1, signal, attemptId: undefined, replyTo })
}

describe('receives that wait', () => {
  test('stand in the order in which they came, whoever leaves from between', () => {
    const waiters = new Waiters()
    const [a, b, c, d] = [waiter(40), waiter(10), waiter(30), waiter(20)]
    for (const each of [a, b, c, d]) waiters.add(each)
    waiters.remove(b)
    const line: Waiter[] = []
    for (let { first } = waiters; first !== undefined; first = waiters.first) {
      line.push(first)
      waiters.remove(first)
    }
    assert.deepEqual(line, [a, c, d])
    assert.equal(waiters.size, 0)
    assert.equal(waiters.nextUntil, Infinity)
  })

  test('are over in the order of their times, and found by whom they answer', () => {
    const waiters = new Waiters()
    const [a, b] = [waiter(40), waiter(10)]
    waiters.add(a)
    waiters.add(b)
    assert.equal(waiters.nextUntil, 10)
    assert.equal(waiters.overdue(9), undefined)
    assert.equal(waiters.overdue(10), b)
    assert.equal(waiters.by(a.replyTo), a)
    waiters.remove(a)
    assert.equal(waiters.by(a.replyTo), undefined)
  })

  test('have gone when their signal says so', () => {
    const abort = new AbortController()
    const own = waiter(1, abort.signal)
    assert.equal(own.isGone, false)
    abort.abort()
    assert.equal(own.isGone, true)
  })
})
