import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { breakableJournal, BY, estate } from '../../../test/stock/estate.ts'
import { Accident, fault, type Fault } from '../../std/index.ts'
import { TRACKED_ROLE } from './directory.ts'
import { openRegistry, type Registered } from './registry.ts'

function granted(answer: Registered | Fault): Registered {
  assert.ok(answer.ok, JSON.stringify(answer))
  return answer
}

describe('the registry', () => {
  test('answers at once with places, their ways and what is inside them', async () => {
    await using on = await estate()
    assert.deepEqual(on.places.find('WH1'), {
      id: 'WH1',
      parent: 'DC',
      roles: [TRACKED_ROLE],
      children: ['SU', 'zone'],
    })
    assert.deepEqual(
      on.places.path('SU')?.map(({ id }) => id),
      ['DC', 'WH1', 'SU'],
    )
    assert.deepEqual(on.places.children('yard'), {
      id: 'yard',
      roles: [],
      children: [{ id: 'gate', roles: [], children: [] }],
    })
    assert.equal(on.places.find('no'), undefined)
    assert.equal(await on.places.health(), true)
  })

  test('answers what was changed, and refuses what may not be', async () => {
    await using on = await estate()
    const { places, until } = on
    const moved = granted(await until(places.move({ id: 'WH1', parent: 'yard' }, BY)))
    assert.deepEqual([moved.location.parent, moved.version, moved.replayed], ['yard', 8, false])
    const root = granted(await until(places.move({ id: 'WH1' }, BY)))
    assert.equal('parent' in root.location, false)
    assert.deepEqual(places.find('DC')?.children, ['WH2'])
    const roles = granted(await until(places.setRoles({ id: 'WH1', roles: ['b', 'a', 'b'] }, BY)))
    assert.deepEqual(roles.location.roles, ['a', 'b'])
    const cycle = await until(places.move({ id: 'WH1', parent: 'SU' }, BY))
    assert.ok(!cycle.ok && cycle.code === 'location-cycle')
    const twice = await until(places.create({ id: 'SU', roles: [] }, BY))
    assert.ok(!twice.ok && twice.code === 'location-exists')
    assert.deepEqual(
      places.path('SU')?.map(({ id }) => id),
      ['WH1', 'SU'],
    )
  })

  test('knows the same after a restart, and follows a request id', async () => {
    await using on = await estate()
    const { places, entities, until } = on
    const by = { ...BY, requestId: 'r' }
    const cage = { id: 'cage', parent: 'zone', roles: [] }
    const first = granted(await until(places.create(cage, by)))
    await until(places.move({ id: 'cage', parent: 'DC' }, BY))
    const again = granted(await until(places.create(cage, by)))
    assert.equal(again.replayed, true)
    assert.equal(again.version, first.version)
    assert.equal(again.location.parent, 'DC')
    const other = await until(places.create({ ...cage, roles: ['x'] }, by))
    assert.ok(!other.ok && other.code === 'request-mismatch')
    const later = await until(openRegistry(entities))
    for (const id of ['DC', 'WH1', 'WH2', 'SU', 'zone', 'yard', 'gate', 'cage'])
      assert.deepEqual(later.find(id), places.find(id))
  })

  test('reads everything again where an answer of its own got lost', async () => {
    const { script, journal } = breakableJournal()
    await using on = await estate({ journal })
    script.commit = async (go) => {
      delete script.commit
      await go()
      throw new Accident(fault('unknown-outcome', 'the answer got lost'))
    }
    const lost = await on.until(on.places.create({ id: 'lost', roles: [] }, BY))
    assert.ok(!lost.ok && lost.code === 'pot-unavailable')
    assert.equal(lost.detail['mayHaveTakenEffect'], true)
    assert.equal(on.places.find('lost')?.id, 'lost')
    granted(await on.until(on.places.create({ id: 'inner', parent: 'lost', roles: [] }, BY)))
  })
})
