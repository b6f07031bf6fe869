/** The features of the test orchestrator, run by Cucumber against its real actors on virtual time. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { testFeatures } from './features.ts'

const SCENARIOS_MIN = 64
/** All of them together; every step has a bound of its own. */
const FEATURES_MS_MAX = 600_000

test('the features of the test orchestrator', { timeout: FEATURES_MS_MAX }, (t) =>
  testFeatures(t, join(import.meta.dirname, 'probe'), SCENARIOS_MIN),
)

test('the queue has scenarios for each side of it', () => {
  const feature = readFileSync(join(import.meta.dirname, 'probe/queue.feature'), 'utf8')
  const rules = feature.split(/^ {2}Rule: /m).slice(1)
  assert.deepEqual(
    rules.map((rule) => [rule.split('\n', 1)[0], rule.match(/^ {4}Scenario/gm)?.length]),
    [
      ['Initialization', 5],
      ['Routing', 6],
      ['State communication', 12],
      ['Edge cases', 13],
      ['Performance', 3],
    ],
  )
})
