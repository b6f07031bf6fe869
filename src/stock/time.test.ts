import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { isoOf, timeOf } from './time.ts'

// oxlint-disable-next-line no-restricted-globals -- what ours is held to
const Reference = Date

const FIRST = Reference.parse('0001-01-01T00:00:00Z')
const LAST = Reference.parse('9999-12-31T23:59:59.999Z')
const times = fc.integer({ min: FIRST, max: LAST })

describe('a time of effect', () => {
  test('is read with an offset, and as UTC without one', () => {
    const ten = Reference.parse('2026-01-15T10:00:00Z')
    for (const text of [
      '2026-01-15T10:00:00',
      '2026-01-15T10:00',
      '2026-01-15T10:00Z',
      '2026-01-15T10:00:00.000000001Z',
      '2026-01-15T15:00:00+05:00',
      '2026-01-15T15:00:00+0500',
      '2026-01-15T15:00:00+05',
      '2026-01-15T00:30:00-09:30',
      '2026-01-15T10:00:00-00:00',
    ])
      assert.equal(timeOf(text), ten, text)
    assert.equal(timeOf('2026-01-15T10:00:00.5'), ten + 500)
    assert.equal(timeOf('2026-01-15T10:00:00,1239'), ten + 123)
  })

  test('is none of these', () => {
    for (const text of [
      '',
      '2026-01-15',
      '2026-01-15 10:00',
      '2026-1-15T10:00',
      '20260115T1000',
      '2026-02-29T10:00',
      '2025-02-29T10:00',
      '1900-02-29T10:00',
      '2026-04-31T10:00',
      '2026-13-01T10:00',
      '2026-00-01T10:00',
      '2026-01-00T10:00',
      '2026-01-15T24:00',
      '2026-01-15T10:60',
      '2026-01-15T10:00:60',
      '2026-01-15T10:00:00.',
      '2026-01-15T10:00+24:00',
      '2026-01-15T10:00+01:60',
      '2026-01-15T10:00z',
      ' 2026-01-15T10:00',
      '2026-01-15T10:00 ',
      '0000-12-31T23:59',
      '0001-01-01T00:00+00:01',
      '9999-12-31T23:59:59.999-00:01',
    ])
      assert.equal(timeOf(text), undefined, text)
    for (const value of [null, undefined, 0, 1_768_435_200_000, new Reference(0), ['x']])
      assert.equal(timeOf(value), undefined)
  })

  test('knows leap years', () => {
    for (const text of ['2024-02-29T00:00:00.000Z', '2000-02-29T00:00:00.000Z'])
      assert.equal(isoOf(timeOf(text)!), text)
  })

  test('is written as everybody does, and read back', () => {
    fc.assert(
      fc.property(times, (time) => {
        const text = isoOf(time)
        assert.equal(text, new Reference(time).toISOString())
        assert.equal(timeOf(text), time)
      }),
      { numRuns: 2_000 },
    )
    assert.equal(isoOf(FIRST), '0001-01-01T00:00:00.000Z')
    assert.equal(isoOf(LAST), '9999-12-31T23:59:59.999Z')
  })

  test('sorts as a text as it does as a time', () => {
    fc.assert(fc.property(times, times, (a, b) => assert.equal(isoOf(a) < isoOf(b), a < b)))
  })
})
