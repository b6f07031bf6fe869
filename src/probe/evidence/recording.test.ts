import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { Scratch } from '../../../test/probe/running.ts'
import { LOG_FILE, MESSAGES_BYTES_MAX, MESSAGES_FILE, openRecording } from './recording.ts'

describe('the recording of a run', () => {
  test('has every message and every line when it is closed', async () => {
    using scratch = new Scratch()
    const recording = openRecording(scratch.path)
    recording.log('first')
    assert.ok(recording.message({ a: 'é' }))
    assert.ok(recording.message({ b: 1 }))
    recording.log('second')
    await recording.close()
    assert.equal(readFileSync(join(scratch.path, MESSAGES_FILE), 'utf8'), '{"a":"é"}\n{"b":1}\n')
    assert.equal(readFileSync(join(scratch.path, LOG_FILE), 'utf8'), 'first\nsecond\n')
  })

  test('takes messages up to their limit and not a byte more, and lets the disk keep up', async () => {
    using scratch = new Scratch()
    const recording = openRecording(scratch.path)
    const eighth = 'x'.repeat(MESSAGES_BYTES_MAX / 8 - 3) // with its quotes and the end of the line
    for (let n = 0; n < 8; n += 1) {
      assert.ok(recording.message(eighth))
      assert.ok(recording.isBehind)
      await recording.caughtUp()
    }
    assert.equal(recording.message(''), false)
    await recording.close()
    assert.equal(statSync(join(scratch.path, MESSAGES_FILE)).size, MESSAGES_BYTES_MAX)
  })

  test('says on closing that the disk failed', async () => {
    using scratch = new Scratch()
    const recording = openRecording(join(scratch.path, 'nowhere'))
    recording.log('lost')
    recording.message({ lost: true })
    await recording.caughtUp()
    await assert.rejects(recording.close(), { code: 'ENOENT' })
  })
})
