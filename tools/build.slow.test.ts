import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)

const manifest: {
  name: string
  version: string
  bin: Record<string, string>
  exports: Record<string, string | { types: string }>
} = JSON.parse(readFileSync('package.json', 'utf8'))

describe('what is released', () => {
  before(() => run(process.execPath, ['tools/build.ts']))

  for (const [subpath, target] of Object.entries(manifest.exports)) {
    if (typeof target === 'string') continue
    const name = subpath.replace('.', manifest.name)

    test(`${name} opens the same door as the source`, async () => {
      const released: object = await import(name)
      const source: object = await import(`../src/${subpath.slice(2)}/index.ts`)
      assert.deepEqual(Object.keys(released), Object.keys(source))
      assert.ok(existsSync(target.types), target.types)
    })
  }

  test('the command runs', async () => {
    for (const path of Object.values(manifest.bin)) {
      const { stdout } = await run(process.execPath, [path, '--version'])
      assert.equal(stdout, `${manifest.version}\n`)
    }
  })

  test('there are no tests in it', () => {
    assert.deepEqual(globSync('dist/**/*.test.*'), [])
  })
})
