import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'

import { isFault } from '../std/index.ts'
import { anyOf, loopbackAuthenticator, mayDo, staticTokens, type Principal } from './auth.ts'
import {
  defaultPolicy,
  permissionsOfJob,
  permissionsOfRoles,
  POLICY_NAMES_MAX,
  policyShape,
} from './policy.ts'
import { readShape } from './shape.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const tokens = staticTokens([
  { name: 'reader', sha256: sha256('secret-1'), permissions: ['stock:level:read'] },
  { name: 'shop', sha256: sha256('secret-2'), permissions: ['*:read'], places: ['a', 'b'] },
])

function withPermissions(...permissions: string[]): Principal {
  return { subject: 's', via: 'token', permissions: new Set(permissions) }
}

describe('static tokens', () => {
  test('are known by their hash, with what they may do and where', async () => {
    assert.deepEqual(await tokens.authenticate('Bearer secret-1'), {
      subject: 'reader',
      name: 'reader',
      via: 'token',
      permissions: new Set(['stock:level:read']),
    })
    const shop = await tokens.authenticate('bearer  secret-2 ')
    assert.ok(!isFault(shop))
    assert.deepEqual(shop.places, ['a', 'b'])
  })

  test('that are wrong, malformed or missing are refused', async () => {
    for (const header of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      'Bearer secret-3',
      'Bearer secret-1x',
      `Bearer ${sha256('secret-1')}`,
      'Basic secret-1',
      'secret-1',
      'Bearer secret-1 secret-2',
      'Bearer secret-1, Bearer secret-2',
    ]) {
      const said = await tokens.authenticate(header)
      assert.ok(isFault(said) && said.code === 'unauthenticated', header)
    }
  })

  test('without a proper hash are never matched', async () => {
    const broken = staticTokens([{ name: 'x', sha256: '', permissions: ['*'] }])
    assert.ok(isFault(await broken.authenticate('Bearer x')))
  })
})

describe('several authenticators', () => {
  test('are asked in turn, and the last refusal stands', async () => {
    const other = staticTokens([{ name: 'o', sha256: sha256('other'), permissions: [] }])
    const both = anyOf(tokens, other)
    const found = await both.authenticate('Bearer other')
    assert.ok(!isFault(found) && found.subject === 'o')
    assert.ok(isFault(await both.authenticate('Bearer none')))
    assert.ok(isFault(await anyOf().authenticate('Bearer none')))
  })
})

describe('permissions', () => {
  test('on the machine’s own address are all there are', async () => {
    const anybody = await loopbackAuthenticator().authenticate(undefined)
    assert.ok(!isFault(anybody))
    assert.ok(mayDo(anybody, 'stock:count:write'))
  })

  test('are granted by the word or by a pattern, and by nothing else', () => {
    for (const pattern of ['*', 'stock:count:read', '*:read', 'stock:*', 'stock:count:*'])
      assert.ok(mayDo(withPermissions(pattern), 'stock:count:read'), pattern)
    for (const pattern of [
      'stock',
      'stock:count',
      '*:write',
      'stock:count:rea',
      'count:*',
      'read',
      '',
    ])
      assert.ok(!mayDo(withPermissions(pattern), 'stock:count:read'), pattern)
    assert.ok(!mayDo(withPermissions(), 'x'))
  })
})

const may = (job: string, permission: string): boolean =>
  mayDo(withPermissions(...permissionsOfJob(defaultPolicy, job)), permission)

const manyRoles = (count: number): unknown => ({
  roles: Object.fromEntries(Array.from({ length: count }, (_, at) => [`r${at}`, []])),
  jobs: {},
})

describe('policy', () => {
  test('by default, jobs may do what the matrix says', () => {
    const jobs = [
      'Regional Stock Auditor',
      'Store Stock Controller',
      'Warehouse Manager',
      'System Administrator',
    ]
    const matrix = {
      'stock:count:read': [true, true, true, true],
      'stock:count:write': [false, true, true, true],
      'stock:level:read': [true, true, true, true],
      'stock:movement:read': [true, true, true, true],
      'stock:movement:write': [false, true, true, true],
      'job:permission:read': [false, false, false, true],
      'job:permission:write': [false, false, false, true],
    }
    for (const [permission, expected] of Object.entries(matrix))
      assert.deepEqual(
        jobs.map((job) => may(job, permission)),
        expected,
        permission,
      )
  })

  test('grants nothing to a job or role it does not name, not even an inherited name', () => {
    for (const name of ['Cleaner', 'constructor', '__proto__', 'toString', '']) {
      assert.deepEqual(permissionsOfJob(defaultPolicy, name), [])
      assert.deepEqual(permissionsOfRoles(defaultPolicy, [name]), [])
    }
    assert.deepEqual(permissionsOfRoles(defaultPolicy, ['viewer', 'viewer', 'admin']), [
      '*:read',
      '*',
    ])
  })

  test('is read from a file that says everything and nothing else', () => {
    const policy = {
      roles: { guest: ['stock:level:read', '*:read', '*'] },
      jobs: { Cook: ['stock:*'] },
    }
    assert.deepEqual(readShape(policyShape, policy), { ok: true, value: policy })
    for (const wrong of [
      {},
      { roles: {} },
      { ...policy, extra: {} },
      { roles: { a: 'stock:level:read' }, jobs: {} },
      { roles: { a: ['Stock Level'] }, jobs: {} },
      { roles: [], jobs: {} },
    ])
      assert.ok(isFault(readShape(policyShape, wrong)), JSON.stringify(wrong))
  })

  test('names so many and no more', () => {
    assert.ok(readShape(policyShape, manyRoles(POLICY_NAMES_MAX)).ok)
    assert.ok(!readShape(policyShape, manyRoles(POLICY_NAMES_MAX + 1)).ok)
  })
})
