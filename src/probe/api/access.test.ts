/** Who may do what to tests. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { desk, NOBODY } from '../../../test/probe/desk.ts'
import { defaultPolicy } from '../../http/index.ts'

const PERMISSIONS = ['test:run:read', 'test:run:write', 'test:queue:write']

describe('every route of the orchestrator', () => {
  // Without `access` of a route its test here is let in: put-mode.ts, get-status.ts and so on.
  test('probe-O1: asks for one permission, and lets in nobody without it', async () => {
    await using at = await desk()
    for (const { method, path, access } of at.routes) {
      const url = path.replace('{testId}', NOBODY).replace('{name}', 'x')
      if (access === 'open') {
        assert.equal(path, '/api/v1/health', 'nothing else is open to all')
        continue
      }
      assert.ok(PERMISSIONS.includes(access.permission), path)
      const permissions = PERMISSIONS.filter((each) => each !== access.permission)
      // Input that is wrong as well: nobody without a right learns that.
      const refused = await at.ask(method, url, { nonsense: true }, { permissions })
      const nobody = await at.ask(method, url, { nonsense: true }, { permissions: null })
      assert.deepEqual([refused.status, nobody.status], [403, 401], `${method} ${path}`)
      assert.deepEqual(
        [refused.body['error'], nobody.body['error']],
        ['forbidden', 'unauthenticated'],
      )
    }
  })

  // The rows of these roles in src/http/policy.ts.
  test('probe-O1: is open to the three roles as they are meant', async () => {
    await using at = await desk()
    const mayWith = async (role: string): Promise<string[]> => {
      const permissions = defaultPolicy.roles[role] ?? []
      const may = new Set<string>()
      for (const { method, path, access } of at.routes) {
        if (access === 'open' || path === '/api/v1/events') continue // which does not end
        const url = path.replace('{testId}', 'none').replace('{name}', 'x')
        const { status } = await at.ask(method, url, { nonsense: true }, { permissions })
        if (status !== 403) may.add(access.permission)
      }
      return [...may].toSorted()
    }
    assert.deepEqual(await mayWith('test-executor'), ['test:run:read', 'test:run:write'])
    assert.deepEqual(await mayWith('test-admin'), PERMISSIONS.toSorted())
    assert.deepEqual(await mayWith('system-admin'), PERMISSIONS.toSorted())
    assert.deepEqual(await mayWith('viewer'), ['test:run:read'])
  })

  test('writes down who began a test', async () => {
    await using at = await desk()
    const testId = await at.begun()
    const { body } = await at.ask('GET', `/api/v1/test/${testId}/status`)
    assert.equal(body['by'], 'ada')
  })
})
