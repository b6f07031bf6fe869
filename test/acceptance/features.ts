/**
 * The features of a directory as tests: every scenario is one of its own. A step that nobody defined, or
 * that is left for later, is a failure, and so is a scenario that is not there any more.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'

import type { Told } from './run-features.ts'

export async function testFeatures(
  t: TestContext,
  directory: string,
  scenariosMin: number,
): Promise<void> {
  const run = join(import.meta.dirname, 'run-features.ts')
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const child = spawn(process.execPath, [run, directory], {
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
    if (told.type === 'again') {
      t.diagnostic(`again: ${told.name}\n${told.failures.join('\n')}`)
      continue
    }
    scenarios += 1
    await t.test(told.name, () => assert.equal(told.failures.join('\n'), ''))
  }

  assert.deepEqual(await ended, [0, null])
  assert.deepEqual(last, { type: 'end', success: true })
  assert.ok(scenarios >= scenariosMin, `${scenarios} scenarios`)
}
