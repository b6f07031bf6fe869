import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { freshnessOf } from './freshness.ts'

const of = (control?: string, age?: string): readonly [number, number] => {
  const { freshMs, staleMs } = freshnessOf({ 'cache-control': control, age }, 5_000)
  return [freshMs, staleMs]
}

describe('an answer', () => {
  test('is fresh for as long as it says, less what it has spent on the way', () => {
    assert.deepEqual(of('max-age=60'), [60_000, 5_000])
    assert.deepEqual(of('private, Max-Age="60"', '10'), [50_000, 5_000])
    assert.deepEqual(of('max-age=60', '61'), [0, 5_000])
  })

  test('is fresh for nobody where it does not say so, or says that it is not', () => {
    for (const control of [
      undefined,
      '',
      'no-cache',
      'no-cache, max-age=60',
      'max-age=-1',
      'max-age=x',
    ])
      assert.deepEqual(of(control), [0, 5_000], control)
  })

  test('may be used for longer when asking fails, unless it forbids that', () => {
    assert.deepEqual(of('max-age=1, stale-if-error=30'), [1_000, 30_000])
    assert.deepEqual(of('max-age=1, must-revalidate'), [1_000, 0])
    assert.deepEqual(of('no-store, max-age=1'), [0, 0])
  })
})
