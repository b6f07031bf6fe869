import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fault } from '../../std/index.ts'
import { closed } from '../accidents.ts'
import { Asking, READS_PENDING_MAX } from './asking.ts'
import type { ToFiler } from './wire.ts'

describe('asking', () => {
  test('is answered by number, in whatever order, or refused', async () => {
    const posted: ToFiler[] = []
    const asking = new Asking((message) => posted.push(message))
    const version = asking.ask({ type: 'version', stream: 'a' })
    const settled = asking.ask({ type: 'settle' })
    const refused = asking.ask({ type: 'position' })
    assert.deepEqual(posted, [
      { type: 'read', id: 1, read: { type: 'version', stream: 'a' } },
      { type: 'settle', id: 2 },
      { type: 'read', id: 3, read: { type: 'position' } },
    ])

    asking.answer(2, undefined)
    asking.refuse(3, fault('damaged', 'it is damaged'))
    asking.answer(1, 7)

    assert.deepEqual(await Promise.all([version, settled]), [7, undefined])
    await assert.rejects(refused, { code: 'damaged' })
    assert.equal(asking.pending, 0)
  })

  test('of as many as may wait is taken, of one more is refused', async () => {
    const asking = new Asking(() => undefined)
    const asked = Array.from({ length: READS_PENDING_MAX }, () => asking.ask({ type: 'position' }))
    await assert.rejects(asking.ask({ type: 'position' }), { code: 'journal-overloaded' })

    asking.answer(1, 0)
    const last = asking.ask({ type: 'position' })

    asking.refuseAll(closed)
    await asked[0]
    await assert.rejects(last, { code: 'journal-closed' })
    const others = await Promise.allSettled(asked.slice(1))
    assert.ok(others.every(({ status }) => status === 'rejected'))
  })
})
