import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Log } from '../../std/index.ts'
import { guardedLog } from './guarded-log.ts'

const broken: Log = {
  debug: fails,
  info: fails,
  warn: fails,
  error: fails,
  child: () => broken,
}

function fails(): never {
  throw new Error('the log is full')
}

describe('guarded log', () => {
  test('a log that throws is not felt', () => {
    const log = guardedLog(broken).child({ part: 'kernel' })

    assert.doesNotThrow(() => {
      log.debug('a')
      log.info('b')
      log.warn('c')
      log.error('d')
    })
  })

  test('what is said reaches the log as it was said', () => {
    const said: unknown[] = []
    const log = guardedLog({ ...broken, warn: (...line) => said.push(line) })

    log.warn('slow', { ms: 3 })

    assert.deepEqual(said, [['slow', { ms: 3 }]])
  })
})
