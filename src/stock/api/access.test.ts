/** Who may do what, for every route there is; and that every answer is documented. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import { shop, type Shop, type Who } from '../../../test/stock/shop.ts'
import { defaultPolicy, mayDo, type Route } from '../../http/index.ts'

const ROLES: Readonly<Record<string, readonly string[]>> = {
  ...defaultPolicy.roles,
  ...defaultPolicy.jobs,
  'nobody in particular': [],
}

function urlOf({ path }: Route): string {
  return path
    .replace(/\{(?:locationId|sourceLocationId)\}/, 'DC01')
    .replace('{key}', 'apples%7CDC01')
    .replaceAll(/\{\w+\}/g, 'apples')
}

function permissionOf({ access }: Route): string | undefined {
  return access === 'open' ? undefined : access.permission
}

/** An incomplete body, so that nothing is written whoever asks. */
function asked(route: Route, who: Who | null): Parameters<Shop['ask']> {
  const url = route.path === '/events' ? '/events?limit=0' : urlOf(route)
  return [route.method, url, route.body === undefined ? { who } : { who, body: { roles: 7 } }]
}

const example = await shop()
const routes = example.routes
await example[Symbol.asyncDispose]()

describe('access', () => {
  let at: Shop
  before(async () => {
    at = await shop()
  })
  after(() => at[Symbol.asyncDispose]())

  for (const route of routes) {
    const title = `${route.method} ${route.path}`
    const permission = permissionOf(route)

    test(`${title}: nobody without credentials`, async () => {
      const told = await at.ask(...asked(route, null))

      if (permission === undefined) return assert.equal(told.status, 200)
      assert.deepEqual([told.status, told.body['status']], [401, 'Unauthorized'])
      assert.equal(told.headers['www-authenticate'], 'Bearer')
    })

    for (const [role, permissions] of Object.entries(ROLES)) {
      const may =
        permission === undefined ||
        mayDo({ subject: role, via: 'token', permissions: new Set(permissions) }, permission)

      test(`${title}: ${role} ${may ? 'may' : 'may not'}`, async () => {
        const told = await at.ask(...asked(route, { permissions }))

        if (may) assert.ok(told.status !== 403 && told.status !== 401, String(told.status))
        else assert.deepEqual([told.status, told.body['status']], [403, 'PermissionDenied'])
      })
    }

    if (/\{(?:locationId|sourceLocationId|key)\}/.test(route.path))
      test(`${title}: not outside of one's own places, whatever the body`, async () => {
        const outside = await at.ask(...asked(route, { permissions: ['*'], places: ['ST01'] }))
        const inside = await at.ask(...asked(route, { permissions: ['*'], places: ['DC01'] }))

        assert.deepEqual([outside.status, outside.body['status']], [403, 'PermissionDenied'])
        assert.notEqual(inside.status, 403)
      })
  }
})

function move(destinationLocationId: string): object {
  return {
    requestId: `to-${destinationLocationId}`,
    destinationLocationId,
    quantity: 1,
    reason: 'replenishment',
    movedAt: '2026-01-15T10:00:00Z',
  }
}

describe('a move out of one’s own places', () => {
  const permissions = ['stock:movement:write']

  for (const spelling of ['/products/apples', '/apples'])
    test(`needs the permission to dispatch (${spelling}/movements)`, async () => {
      await using at = await shop()
      const url = `/locations/DC01${spelling}/movements`
      const places = ['DC01']

      const refused = await at.post(url, move('ST01'), { who: { permissions, places } })
      const dispatcher = { permissions: [...permissions, 'stock:movement:dispatch'], places }
      const dispatched = await at.post(url, move('ST01'), { who: dispatcher })
      const both = { permissions, places: ['DC01', 'ST01'] }
      const within = await at.post(url, move('ST01'), { who: both })

      assert.deepEqual([refused.status, refused.body['status']], [403, 'PermissionDenied'])
      assert.equal(dispatched.body['status'], 'InsufficientStock')
      assert.equal(within.body['status'], 'InsufficientStock')
    })
})

describe('documentation', () => {
  for (const route of routes)
    test(`${route.method} ${route.path} has an example of every answer`, () => {
      for (const [status, answer] of Object.entries(route.answers)) {
        assert.notEqual(answer.description, '')
        if (status === '204') continue
        const examples = answer.schema?.['examples']
        assert.ok(Array.isArray(examples) && examples.length > 0, `${status} has no example`)
      }
    })

  test('no two routes are the same', () => {
    const names = routes.map(({ method, path }) => `${method} ${path}`)
    assert.equal(new Set(names).size, names.length)
    assert.ok(names.length >= 25)
  })

  test('what can be read can be read with the permission to read', () => {
    for (const { method, access } of routes)
      if (access !== 'open') assert.equal(access.permission.endsWith(':read'), method === 'GET')
  })
})
