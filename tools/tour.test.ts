import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'

import { STOPS } from './tour.ts'

test('the tour stops at every example', () => {
  const examples = globSync('examples/*.ts')
    .filter((path) => !path.endsWith('.test.ts'))
    .map((path) => basename(path, '.ts'))
  assert.deepEqual(STOPS.toSorted(), examples.toSorted())
})
