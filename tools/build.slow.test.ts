import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'

import { directory } from '../test/probe/bundles.ts'

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

  test('the command serves, goes down in order, and checks what it left', async () => {
    const data = mkdtempSync(join(tmpdir(), 'flytower-build-'))
    const [path = ''] = Object.values(manifest.bin)
    const env = { ...process.env, FLYTOWER_DATA_DIRECTORY: data, FLYTOWER_LISTEN_PORT: '0' }
    try {
      const server = spawn(process.execPath, [path, 'serve'], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const ended = once(server, 'exit')
      const url = await new Promise<string>((resolve, reject) => {
        for (const stream of [server.stdout, server.stderr])
          stream.on('data', (text) => urlIn(text) !== '' && resolve(urlIn(text)))
        ended.then(() => reject(new Error('it has ended')), reject)
      })
      assert.equal((await fetch(`${url}/readyz`)).status, 200)
      const send = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{}' }
      assert.equal((await fetch(`${url}/queues/one`, send)).status, 201)
      server.kill('SIGTERM')
      assert.deepEqual(await ended, [0, null])
      await run(process.execPath, [path, 'verify'], { env })
    } finally {
      rmSync(data, { recursive: true, force: true })
    }
  })

  test('the command runs a bundle with steps of its own, and reports', async () => {
    using bundle = directory({
      'features/one.feature': 'Feature: One\n  Scenario: one\n    Given one\n',
      'steps/one.ts': `import { Given } from '@cucumber/cucumber'\nGiven('one', () => undefined)\n`,
    })
    const [path = ''] = Object.values(manifest.bin)
    const { stdout } = await run(process.execPath, [path, 'run', bundle.path])
    assert.match(stdout, /^1 scenario: 1 passed/m)
    assert.ok(existsSync(join(bundle.path, 'evidence', 'report.html')))
  })

  test('has a file for every thread that it starts', () => {
    for (const path of globSync('src/**/*.ts', { exclude: ['src/probe/**'] })) {
      const source = readFileSync(path, 'utf8')
      if (!source.includes('new Worker(')) continue
      const [, named] = /new URL\(`\.\/([\w-]+)\$\{extension\}/.exec(source) ?? []
      const names = named === undefined ? ['writer', 'filer'] : [named]
      for (const name of names) assert.ok(existsSync(`dist/server/${name}.js`), name)
    }
  })

  test('there are no tests in it', () => {
    assert.deepEqual(globSync('dist/**/*.test.*'), [])
  })
})

function urlIn(text: unknown): string {
  return /http:[^"\s]+/.exec(String(text))?.[0] ?? ''
}
