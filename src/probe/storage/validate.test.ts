import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { directory, FEATURE } from '../../../test/probe/bundles.ts'
import { zipOf } from '../../../test/probe/zips.ts'
import { isFault } from '../../std/index.ts'
import { validateBundle } from './validate.ts'

const { signal } = new AbortController()

test('a directory and an archive are judged alike, and nothing is left behind', async () => {
  using home = directory({
    'good/features/a.feature': FEATURE,
    'bad/features/a.feature': 'Feature: A\n  Scenario: B\n    Given x\n    oops\n',
    'good.zip': zipOf([{ name: 'features/a.feature', data: FEATURE }]),
    'bad.zip': zipOf([{ name: 'x/features/a.feature', data: 'Featur: A\n' }]),
    'evil.zip': zipOf([{ name: '../a', data: 'x' }]),
    'text.zip': 'x',
  })
  using scratch = directory()
  const judged = async (name: string): Promise<string> => {
    const bundle = await validateBundle(join(home.path, name), { scratch: scratch.path, signal })
    assert.deepEqual(readdirSync(scratch.path), [])
    return isFault(bundle) ? `${bundle.code} ${bundle.message}` : bundle.features.join()
  }
  assert.equal(await judged('good'), 'features/a.feature')
  assert.equal(await judged('good.zip'), 'features/a.feature')
  assert.match(await judged('bad'), /^bad-bundle features\/a.feature:4: expected/)
  assert.match(await judged('bad.zip'), /^bad-bundle features\/a.feature:1: expected/)
  assert.match(await judged('evil.zip'), /^bundle-file-refused \.\.\/a: /)
  assert.match(await judged('text.zip'), /^bundle-file-refused the archive: /)
  assert.match(await judged('nothing'), /^bundle-not-found /)
})
