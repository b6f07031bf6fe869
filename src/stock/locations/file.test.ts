import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { isFault } from '../../std/index.ts'
import type { LocationDirectory } from './directory.ts'
import { listedLocations } from './file.ts'
import { LOCATION_DEPTH_MAX } from './tree.ts'

function read(...locations: object[]): LocationDirectory {
  const directory = listedLocations({ locations })
  assert.ok(!isFault(directory), JSON.stringify(directory))
  return directory
}

function wrongIn(...locations: object[]): unknown {
  const refused = listedLocations({ locations })
  assert.ok(isFault(refused))
  assert.equal(refused.code, 'bad-locations')
  return refused.detail['wrong']
}

/** A line of so many places, each inside the one before. */
function line(length: number): object[] {
  return Array.from({ length }, (_, n) =>
    n === 0 ? { id: 'p0' } : { id: `p${n}`, parent: `p${n - 1}` },
  )
}

describe('a list of locations', () => {
  test('is a tree, in whatever order it is written', async () => {
    const directory = read(
      { id: 'SU', parent: 'WH' },
      { id: 'WH', parent: 'DC', roles: ['A'] },
      { id: 'DC', roles: ['A', 'B'] },
      { id: 'W2', parent: 'DC' },
    )
    assert.deepEqual(directory.find('DC'), {
      id: 'DC',
      roles: ['A', 'B'],
      children: ['W2', 'WH'],
    })
    assert.deepEqual(directory.find('WH'), {
      id: 'WH',
      parent: 'DC',
      roles: ['A'],
      children: ['SU'],
    })
    assert.equal(directory.find('XX'), undefined)
    assert.deepEqual(
      ((await directory.path('SU')) ?? []).map(({ id }) => id),
      ['DC', 'WH', 'SU'],
    )
    assert.equal(directory.path('XX'), undefined)
    assert.deepEqual(directory.children('WH'), {
      id: 'WH',
      roles: ['A'],
      children: [{ id: 'SU', roles: [], children: [] }],
    })
    assert.deepEqual(directory.children('DC', 0), { id: 'DC', roles: ['A', 'B'], children: [] })
    assert.equal(directory.children('XX'), undefined)
    assert.equal(directory.health(), true)
  })

  test('that is wrong is refused with everything that is wrong', () => {
    assert.deepEqual(wrongIn({ id: 'a' }, { id: 'a' }, { id: 'b', parent: 'c' }), [
      'a is listed twice',
      'b is in c, which is not listed',
    ])
    assert.equal(
      (wrongIn({ id: 'a', parent: 'b' }, { id: 'b', parent: 'a' }) as string[]).length,
      2,
    )
    const shapeless = listedLocations({ locations: [{ id: ' ' }, { roles: 'x' }] })
    assert.ok(isFault(shapeless))
    assert.deepEqual(shapeless.detail['missing'], ['locations[1].id'])
    assert.deepEqual(shapeless.detail['invalid'], ['locations[0].id', 'locations[1].roles'])
    assert.ok(isFault(listedLocations(null)))
  })

  test('is nested so deep, and no deeper', () => {
    assert.equal((read(...line(LOCATION_DEPTH_MAX)).path('p63') as object[]).length, 64)
    assert.ok(wrongIn(...line(LOCATION_DEPTH_MAX + 1)) !== undefined)
  })
})
