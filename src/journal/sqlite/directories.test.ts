import assert from 'node:assert/strict'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ensureDirectory } from './directories.ts'

/** The paths that are flushed while the test runs. */
function flushesFor(t: TestContext): string[] {
  const paths = new Map<number, string>()
  const flushed: string[] = []
  const { openSync, fsyncSync } = fs
  t.mock.method(fs, 'openSync', (path: string, flags: string) => {
    const descriptor = openSync(path, flags)
    paths.set(descriptor, path)
    return descriptor
  })
  t.mock.method(fs, 'fsyncSync', (descriptor: number) => {
    flushed.push(paths.get(descriptor)!)
    fsyncSync(descriptor)
  })
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  return flushed
}

test('a directory is made durably, with those it is in and their names', (t) => {
  const parent = fs.mkdtempSync(join(tmpdir(), 'directories-'))
  t.after(() => fs.rmSync(parent, { recursive: true }))
  const flushed = flushesFor(t)
  const directory = join(parent, 'a', 'b', 'c')

  ensureDirectory(directory)

  assert.deepEqual(flushed, [directory, join(parent, 'a', 'b'), join(parent, 'a'), parent])
  ensureDirectory(directory)
  assert.equal(flushed.length, 4)
})
