/** Who may do what to queues. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { counter } from '../../../test/broker/counter.ts'
import { defaultPolicy } from '../../http/index.ts'

const PERMISSIONS = ['queue:read', 'queue:send', 'queue:receive', 'queue:admin']

describe('every route of the queues', () => {
  test('asks for one permission, and lets in nobody without it', async () => {
    await using at = await counter()
    for (const { method, path, access } of at.routes) {
      assert.ok(access !== 'open' && PERMISSIONS.includes(access.permission), path)
      const url = path.replaceAll(/\{\w+\}/g, 'x')
      const permissions = PERMISSIONS.filter((each) => each !== access.permission)
      // Input that is wrong as well: nobody without a right learns that.
      const refused = await at.ask(method, url, { nonsense: true }, { permissions })
      const nobody = await at.ask(method, url, { nonsense: true }, { permissions: null })
      assert.deepEqual([refused.status, nobody.status], [403, 401], `${method} ${path}`)
    }
  })

  test('is open to the roles as they are meant', async () => {
    await using at = await counter()
    const mayWith = async (role: string): Promise<string[]> => {
      const permissions = defaultPolicy.roles[role] ?? []
      const may: string[] = []
      for (const { method, path, access } of at.routes) {
        const url = path.replaceAll(/\{\w+\}/g, 'x')
        const { status } = await at.ask(method, url, { nonsense: true }, { permissions })
        if (status !== 403 && access !== 'open') may.push(access.permission)
      }
      return [...new Set(may)].toSorted()
    }
    assert.deepEqual(await mayWith('viewer'), ['queue:read'])
    assert.deepEqual(await mayWith('operator'), ['queue:read', 'queue:receive', 'queue:send'])
    assert.deepEqual(await mayWith('admin'), PERMISSIONS.toSorted())
  })
})
