import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { lockDirectory } from './lock.ts'

function directoryFor(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'lock-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

describe('the lock of a directory', () => {
  test('is held by one at a time, and the next is told by whom', (t) => {
    const directory = directoryFor(t)
    const first = lockDirectory(directory, 'process 7 on stage')

    assert.throws(() => lockDirectory(directory, 'process 8'), {
      code: 'journal-in-use',
      message: /process 7 on stage; end that process first/,
    })

    first.release()
    lockDirectory(directory, 'process 8').release()
  })

  test('of another directory is another lock', (t) => {
    const [a, b] = [directoryFor(t), directoryFor(t)]

    const locks = [lockDirectory(a, 'a'), lockDirectory(b, 'b')]

    for (const lock of locks) lock.release()
  })
})
