/** The operator's view of pots, the locations, and health. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { shop, type Shop, type Told } from '../../../test/stock/shop.ts'
import { Accident, fault } from '../../std/index.ts'

const APPLES = '/locations/DC01/products/apples'
const AT = '2026-01-15T10:00:00Z'

type Line = Readonly<Record<string, unknown>>

/** 100 apples at DC01 and, 20 of them moved there, at BAY1. */
async function delivered(at: Shop): Promise<void> {
  await at.post('/locations/DC01/deliveries', {
    requestId: 'd-1',
    supplierId: 'acme',
    supplierRef: 'note',
    deliveredAt: AT,
    products: [{ productId: 'apples', quantity: 100 }],
  })
  await at.post(`${APPLES}/movements`, {
    requestId: 'm-1',
    destinationLocationId: 'BAY1',
    quantity: 20,
    reason: 'replenishment',
    movedAt: AT,
  })
}

function listOf(body: Line, name: string): readonly Line[] {
  const items = body[name]
  assert.ok(Array.isArray(items), `${name} is a list`)
  return items
}

function down(): never {
  throw new Accident(fault('upstream-unavailable', 'the directory does not answer'))
}

describe('pots', () => {
  test('are shown while they are awake, and can be put away unnoticed', async () => {
    await using at = await shop()
    await delivered(at)
    const key = 'apples%7CDC01'

    const awake = await at.get(`/pots/${key}`)
    const listed = await at.get('/pots')
    const put = await at.ask('POST', `/pots/${key}:passivate`)
    const resting = await at.get(`/pots/${key}`)
    const sale = { requestId: 's-9', quantity: 1, soldAt: AT }
    const after = await at.post(`${APPLES}/sales`, sale)

    assert.deepEqual([awake.body['phase'], awake.body['version']], ['running', 2])
    assert.deepEqual(
      listOf(listed.body, 'pots').map((pot) => pot['key']),
      ['apples|DC01'],
    )
    assert.equal(put.status, 204)
    assert.equal(resting.body['phase'], 'resting')
    assert.deepEqual([after.status, after.headers['etag']], [201, '"3"'])
  })

  test('with a key that is none are not there', async () => {
    await using at = await shop()

    assert.equal((await at.get('/pots/none')).body['status'], 'PotNotFound')
    assert.equal((await at.ask('POST', '/pots/none:passivate')).status, 404)
  })

  test('are shown and put away at their own places only', async () => {
    await using at = await shop()
    await delivered(at)
    const who = { permissions: ['*'], places: ['ST01'] }

    assert.deepEqual((await at.get('/pots', { who })).body['pots'], [])
    assert.equal((await at.get('/pots/apples%7CDC01', { who })).status, 403)
    assert.equal((await at.ask('POST', '/pots/apples%7CDC01:passivate', { who })).status, 403)
  })
})

describe('locations', () => {
  test('are read one by one, with what is inside, and with the way to them', async () => {
    await using at = await shop()

    assert.deepEqual((await at.get('/locations/WH01')).body, {
      id: 'WH01',
      parent: 'DC01',
      roles: [],
      children: ['BAY1'],
    })
    assert.deepEqual((await at.get('/locations/DC01/children?depth=1')).body, {
      id: 'DC01',
      roles: ['TrackedInventoryLocation'],
      children: [{ id: 'WH01', roles: [], children: [] }],
    })
    const path: Line[] = JSON.parse((await at.get('/locations/BAY1/path')).text)
    assert.deepEqual(
      path.map(({ id }) => id),
      ['DC01', 'WH01', 'BAY1'],
    )
  })

  test('are created, moved and changed by saying what they are to be', async () => {
    await using at = await shop()
    const put = (id: string, body: object): Promise<Told> =>
      at.ask('PUT', `/locations/${id}`, { body })

    const created = await put('CAGE', { parent: 'BAY1', roles: ['TrackedInventoryLocation'] })
    const repeated = await put('CAGE', { parent: 'BAY1', roles: ['TrackedInventoryLocation'] })
    const moved = await put('CAGE', { parent: 'ST01', roles: ['TrackedInventoryLocation'] })
    const changed = await put('CAGE', {})

    assert.deepEqual([created.status, created.body['parent']], [201, 'BAY1'])
    assert.deepEqual([repeated.status, repeated.body], [200, created.body])
    assert.deepEqual([moved.status, moved.body['parent']], [200, 'ST01'])
    assert.deepEqual(changed.body, { id: 'CAGE', roles: [], children: [] })
  })

  test('take their stock along', async () => {
    await using at = await shop()
    await delivered(at)
    const { headers } = await at.ask('PUT', '/locations/WH01', { body: { parent: 'ST01' } })
    const token = { 'consistency-token': headers['consistency-token'] ?? '' }

    const level = await at.get('/locations/ST01/products/apples', { headers: token })

    assert.equal(level.body['totalQuantity'], 20)
  })

  test('are never inside themselves, nor inside what is not there', async () => {
    await using at = await shop()

    const cycle = await at.ask('PUT', '/locations/DC01', { body: { parent: 'BAY1' } })
    const orphan = await at.ask('PUT', '/locations/NEW', { body: { parent: 'NOWHERE' } })

    assert.deepEqual([cycle.status, cycle.body['status']], [409, 'LocationCycle'])
    assert.deepEqual([orphan.status, orphan.body['status']], [404, 'LocationNotFound'])
  })

  test('are nested only so deep', async () => {
    await using at = await shop()
    const nested = async (n: number): Promise<Told> =>
      at.ask('PUT', `/locations/L${n}`, { body: n === 1 ? {} : { parent: `L${n - 1}` } })
    for (let n = 1; n <= 64; n++) assert.equal((await nested(n)).status, 201)

    const tooDeep = await nested(65)

    assert.deepEqual([tooDeep.status, tooDeep.body['status']], [409, 'LocationTooDeep'])
  })

  test('are moved only by those who may touch where they go', async () => {
    await using at = await shop()
    const who = { permissions: ['*'], places: ['BAY1'] }

    const told = await at.ask('PUT', '/locations/BAY1', { who, body: { parent: 'ST01' } })

    assert.deepEqual([told.status, told.body['status']], [403, 'PermissionDenied'])
  })

  test('that are not there are refused', async () => {
    await using at = await shop()

    for (const rest of ['', '/children', '/path']) {
      const { status, body } = await at.get(`/locations/NOWHERE${rest}`)
      assert.deepEqual([status, body['status']], [404, 'LocationNotFound'])
    }
  })

  test('that cannot be asked for are somebody else’s trouble', async () => {
    const locations = { find: down, path: down, children: down, health: () => false }
    await using at = await shop({ locations })

    for (const rest of ['', '/children', '/path']) {
      const { status, body } = await at.get(`/locations/DC01${rest}`)
      assert.deepEqual([status, body['status']], [502, 'UpstreamServiceUnavailable'])
    }
  })
})

describe('health', () => {
  test('is up', async () => {
    await using at = await shop()

    for (const path of ['live', 'started'])
      assert.deepEqual((await at.get(`/health/${path}`, { who: null })).body, {
        status: 'UP',
        checks: [],
      })
    const { status, body } = await at.get('/health/ready', { who: null })
    assert.deepEqual([status, body['status']], [200, 'UP'])
    assert.deepEqual(
      listOf(body, 'checks').map(({ name, status: word }) => [name, word]),
      [
        ['locationApi', 'UP'],
        ['eventRepository', 'UP'],
        ['snapshotRepository', 'UP'],
        ['levels', 'UP'],
      ],
    )
  })

  test('is down when a check is, while the process is alive', async () => {
    const checks = [{ name: 'locationApi', up: false }]
    await using at = await shop({ instead: { health: async () => ({ up: false, checks }) } })

    const { status, body } = await at.get('/health/ready', { who: null })

    assert.equal(status, 503)
    assert.deepEqual(body, { status: 'DOWN', checks: [{ name: 'locationApi', status: 'DOWN' }] })
    assert.equal((await at.get('/health/live', { who: null })).status, 200)
  })

  test('is alive and not ready while the server drains', async () => {
    await using at = await shop()
    at.beginDraining()

    const { status, body } = await at.get('/health/ready', { who: null })

    assert.deepEqual([status, body], [503, { status: 'DOWN', checks: [] }])
    assert.equal((await at.get('/health/live', { who: null })).status, 200)
  })

  test('is not started before the start is over', async () => {
    await using at = await shop({ isStarted: () => false })

    assert.equal((await at.get('/health/started', { who: null })).status, 503)
  })
})
