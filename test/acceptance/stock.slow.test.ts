/**
 * The features of the stock, run by Cucumber against the real server; every scenario is a test of
 * its own here. A step that nobody defined, or that is left for later, is a failure.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'

import type { Told } from './run-features.ts'

const SCENARIOS_MIN = 102
/** All of them together; every step has a bound of its own. */
const FEATURES_MS_MAX = 600_000

test('the features of the stock', { timeout: FEATURES_MS_MAX }, async (t) => {
  const run = join(import.meta.dirname, 'run-features.ts')
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const child = spawn(process.execPath, [run, join(import.meta.dirname, 'stock')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  t.signal.addEventListener('abort', () => child.kill())

  let scenarios = 0
  let last: Told | undefined
  for await (const line of createInterface({ input: child.stdout })) {
    const told = JSON.parse(line) as Told
    last = told
    if (told.type === 'end') continue
    scenarios += 1
    await t.test(told.name, () => assert.equal(told.failures.join('\n'), ''))
  }

  assert.deepEqual(await ended, [0, null])
  assert.deepEqual(last, { type: 'end', success: true })
  assert.ok(scenarios >= SCENARIOS_MIN, `${scenarios} scenarios`)
})
