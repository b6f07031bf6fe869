/** The testkit needs no runner of its own: one small test passes in three, installed for real. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'

const FILES = ['node-test.test.ts', 'vitest.test.mjs', 'jest.test.mjs']

/** Runs npm in `examples/testing`, as somebody would who is not inside a test already. */
async function npm(...args: readonly string[]): Promise<string> {
  const { NODE_TEST_CONTEXT: _inside, ...env } = process.env
  const { stdout, stderr } = await promisify(execFile)('npm', args, {
    cwd: 'examples/testing',
    env: { ...env, NO_COLOR: '1', FORCE_COLOR: '0' },
  })
  return stdout + stderr
}

function titlesOf(file: string): string[] {
  const text = readFileSync(`examples/testing/${file}`, 'utf8')
  return [...text.matchAll(/^test\('([^']+)'/gm)].map(([, title]) => title!)
}

describe('the testkit in other runners', () => {
  before(() => npm('ci'))

  test('is shown by the same tests in each', () => {
    const [first, ...others] = FILES.map(titlesOf)
    assert.equal(first?.length, 5)
    for (const titles of others) assert.deepEqual(titles, first)
  })

  test('passes in node:test', async () => {
    assert.match(await npm('run', 'test:node'), /pass 5\n.*fail 0\n/)
  })

  test('passes in vitest', async () => {
    assert.match(await npm('run', 'test:vitest'), /Tests +5 passed \(5\)/)
  })

  test('passes in jest', async () => {
    assert.match(await npm('run', 'test:jest'), /Tests: +5 passed, 5 total/)
  })
})
