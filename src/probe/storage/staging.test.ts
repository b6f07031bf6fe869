import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { directory, write } from '../../../test/probe/bundles.ts'
import { createStaging, type StagedTest, type Staging } from './staging.ts'

async function staged(run: (staging: Staging, root: string) => Promise<void>): Promise<void> {
  using data = directory()
  const root = join(data.path, 'staging')
  await run(await createStaging({ root }), root)
}

function fill({ bundle, evidence }: StagedTest): void {
  write(bundle, { 'features/a.feature': 'x' })
  write(evidence, { 'cucumber.json': 'x' })
}

describe('staging', () => {
  // It fails without `removeTree(home)` in `remove`; that everybody who opens also removes is shown
  // with the actor that does.
  test('probe-S4: a test has directories of its own on disk, nobody else may read them, and they go as a whole', async () => {
    await staged(async (staging, root) => {
      const one = await staging.open('t1')
      const other = await staging.open('t2')
      fill(one)
      for (const path of [root, join(root, 't1'), one.bundle, one.evidence])
        assert.equal(statSync(path).mode & 0o777, 0o700)

      await one.remove()
      assert.deepEqual(readdirSync(root), ['t2'])
      await other.remove()
      assert.deepEqual(readdirSync(root), [])
    })
  })

  test('probe-S4: what dead tests left is swept, except what is still owed', async () => {
    await staged(async (staging, root) => {
      for (const id of ['dead', 'owing']) fill(await staging.open(id))
      write(root, { stray: '' })
      const later = await createStaging({ root })
      await later.sweep(new Set(['owing']))

      assert.deepEqual(readdirSync(root), ['owing'])
      const owing = await later.reopen('owing')
      assert.ok(existsSync(join(owing!.evidence, 'cucumber.json')))
      assert.equal(await later.reopen('dead'), undefined)
    })
  })

  test('another attempt begins with empty directories, and the first one cannot remove them', async () => {
    await staged(async (staging) => {
      const first = await staging.open('t1')
      fill(first)
      await first.remove()
      const second = await staging.open('t1')
      fill(second)
      await first.remove()
      assert.ok(existsSync(join(second.bundle, 'features/a.feature')))
      const third = await staging.open('t1')
      assert.deepEqual([...readdirSync(third.bundle), ...readdirSync(third.evidence)], [])
    })
  })

  test('rights that a test took away do not keep its directory', async () => {
    await staged(async (staging, root) => {
      const one = await staging.open('t1')
      mkdirSync(join(one.bundle, 'a/b'), { recursive: true })
      chmodSync(join(one.bundle, 'a/b'), 0)
      chmodSync(join(one.bundle, 'a'), 0o500)
      await one.remove()
      assert.deepEqual(readdirSync(root), [])
    })
  })

  test('an id that is no word opens nothing', async () => {
    await staged(async (staging, root) => {
      for (const id of ['..', '', 'a/b', '.x', 'a b'])
        await assert.rejects(staging.open(id), { name: 'AssertionFailure' })
      assert.deepEqual(readdirSync(root), [])
    })
  })
})
