/** The features of the stock, run by Cucumber against the real server. */
import { join } from 'node:path'
import { test } from 'node:test'

import { testFeatures } from './features.ts'

const SCENARIOS_MIN = 102
/** All of them together; every step has a bound of its own. */
const FEATURES_MS_MAX = 600_000

test('the features of the stock', { timeout: FEATURES_MS_MAX }, (t) =>
  testFeatures(t, join(import.meta.dirname, 'stock'), SCENARIOS_MIN),
)
