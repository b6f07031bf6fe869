import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { AssertionFailure, assert as hold, unreachable } from './assert.ts'

describe('assert', () => {
  test('goes on while the condition holds', () => {
    hold(1, 'one is truthy')
  })

  test('fails with the belief that was wrong', () => {
    assert.throws(() => hold(0, 'a count is positive'), {
      name: 'AssertionFailure',
      message: 'a count is positive',
    })
  })

  test('an unreachable value is named', () => {
    const stray = { type: 'unknown-message' } as never

    assert.throws(
      () => unreachable(stray),
      (error) => error instanceof AssertionFailure && error.message.includes('unknown-message'),
    )
  })
})
