import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { memoryJournal } from './memory.ts'

describe('a journal in memory', () => {
  test('gives back what was committed', async () => {
    await using journal = await memoryJournal()
    const event = { type: 'opened', version: 1, at: 7, data: '{}' }
    const batch = {
      streams: [{ stream: 'account/1', expected: 'none', events: [event] }],
      records: [{ collection: 'timers', key: '0001', value: 'x' }],
      ledger: [{ key: 'r1', fingerprint: '{}', response: 'ok' }],
    } as const
    assert.deepEqual(await journal.commit(batch), {
      type: 'committed',
      position: 1,
      versions: [1],
    })
    assert.deepEqual(await journal.readStream('account/1'), [
      { ...event, stream: 'account/1', seq: 1, position: 1, batch: 1 },
    ])
    assert.deepEqual(await journal.readRecords('timers', '00'), [{ key: '0001', value: 'x' }])
    assert.deepEqual(await journal.commit(batch), {
      type: 'duplicate',
      key: 'r1',
      response: 'ok',
      position: 1,
    })
  })
})
