import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, symlinkSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { directory, FEATURE, write } from '../../../test/probe/bundles.ts'
import { filesBelow } from '../bundle/files.ts'
import { BUNDLE_LIMITS_DEFAULT, readBundle } from '../bundle/read-bundle.ts'
import { createStorage } from './create-storage.ts'
import { createStaging } from './staging.ts'
import type { BundleLimits } from './storage.ts'

const limits: BundleLimits = { files: 4, fileBytes: 100, totalBytes: 150 }
const signal = new AbortController().signal
const storage = createStorage({ local: { roots: undefined } })

const fetchedFrom = async (files: Readonly<Record<string, string>>): Promise<void> => {
  using source = directory(files)
  using staged = directory()
  await storage.fetch(source.path, staged.path, { limits, signal })
}

describe('local storage', () => {
  // It fails when `fetch` is given another directory than `readBundle`: there is one staged path, and
  // everything else is relative to it (`join(directory, name)` in the intake).
  test('probe-S1: what is fetched can be read, and evidence is found where it was written', async () => {
    using root = directory()
    using source = directory({ 'features/a.feature': FEATURE, 'features/b c/ä.feature': FEATURE })
    const staged = await (await createStaging({ root: root.path })).open('t1')

    await storage.fetch(source.path, staged.bundle, { limits, signal })
    const bundle = await readBundle(staged.bundle)
    write(staged.evidence, { 'cucumber.json': '[]' })
    await storage.store(source.path, staged.evidence, ['cucumber.json'], { signal })

    assert.ok('features' in bundle)
    assert.deepEqual(bundle.features, ['features/a.feature', 'features/b c/ä.feature'])
    for (const feature of bundle.features)
      assert.equal(readFileSync(join(bundle.directory, feature), 'utf8'), FEATURE)
    assert.equal(readFileSync(join(source.path, 'evidence/cucumber.json'), 'utf8'), '[]')
  })

  // It fails without the call of `replaceFile` in `storeLocal`.
  test('probe-S2: evidence is kept beside the bundle, over that of earlier tests, and is not fetched', async () => {
    using source = directory({ 'features/a.feature': FEATURE, 'evidence/old.json': 'old' })
    using evidence = directory({ 'cucumber.json': '1', 'shots/one.png': 'x' })
    using staged = directory()
    const files = ['cucumber.json', 'shots/one.png']
    await storage.store(source.path, evidence.path, files, { signal })
    write(evidence.path, { 'cucumber.json': '2' })
    await storage.store(source.path, evidence.path, files, { signal })
    await storage.fetch(source.path, staged.path, { limits, signal })

    assert.equal(readFileSync(join(source.path, 'evidence/cucumber.json'), 'utf8'), '2')
    assert.deepEqual(
      readdirSync(join(source.path, 'evidence'), { recursive: true, encoding: 'utf8' }).toSorted(),
      ['cucumber.json', 'old.json', 'shots', 'shots/one.png'],
    )
    assert.deepEqual(readdirSync(staged.path), ['features'])
  })

  test('two tests of one bundle may store their evidence at a time, and one may store it again', async () => {
    // It fails when `partialOf` in local.ts gives all of them one name.
    using source = directory({ 'features/a.feature': FEATURE })
    const content = ['1', '2'].map((digit) => digit.repeat(1_000_000))
    using first = directory({ 'cucumber.json': content[0]! })
    using second = directory({ 'cucumber.json': content[1]! })
    await Promise.all(
      [first, second].map(({ path }) =>
        storage.store(source.path, path, ['cucumber.json'], { signal }),
      ),
    )
    await storage.store(source.path, first.path, ['cucumber.json'], { signal })

    const evidence = join(source.path, 'evidence')
    assert.deepEqual(readdirSync(evidence), ['cucumber.json'])
    assert.equal(readFileSync(join(evidence, 'cucumber.json'), 'utf8'), content[0])
  })

  test('a bundle has a URL too', async () => {
    using source = directory({ 'ä b/features/a.feature': FEATURE })
    using staged = directory()
    const { href } = pathToFileURL(join(source.path, 'ä b'))
    await storage.fetch(href, staged.path, { limits, signal })
    assert.deepEqual(readdirSync(staged.path), ['features'])
  })

  test('a bundle at each limit is fetched, and refused one past it', async () => {
    const large = 'x'.repeat(100)
    await fetchedFrom({ a: large, b: 'x'.repeat(50), c: '', d: '' })
    await assert.rejects(fetchedFrom({ a: '', b: '', c: '', d: '', e: '' }), {
      code: 'bundle-too-large',
    })
    await assert.rejects(fetchedFrom({ a: `${large}x` }), {
      code: 'bundle-too-large',
      message: /^a: it has more than 100 bytes/,
    })
    await assert.rejects(fetchedFrom({ a: large, b: 'x'.repeat(51) }), { code: 'bundle-too-large' })
  })

  test('a file of a gigabyte is refused without being read', async () => {
    using source = directory({ 'features/a.feature': FEATURE })
    using staged = directory()
    truncateSync(join(source.path, 'features/a.feature'), 2 ** 30)
    const most = { limits: BUNDLE_LIMITS_DEFAULT, signal }
    await assert.rejects(storage.fetch(source.path, staged.path, most), {
      code: 'bundle-too-large',
      message: /^features\/a.feature: it has more than 67108864 bytes/,
    })
    assert.deepEqual(readdirSync(staged.path), [])
  })

  test('links and pipes are refused by name and not opened', async () => {
    for (const prepare of [
      (path: string) => symlinkSync('/etc/passwd', path),
      (path: string) => symlinkSync('/', path),
      (path: string) => void execFileSync('mkfifo', [path]),
    ]) {
      using source = directory({ 'features/a.feature': FEATURE })
      using staged = directory()
      prepare(join(source.path, 'features/odd'))
      await assert.rejects(storage.fetch(source.path, staged.path, { limits, signal }), {
        code: 'bundle-file-refused',
        message: /^features\/odd: it is (a link|no file)/,
      })
      assert.deepEqual(readdirSync(staged.path), [])
    }
  })

  test('evidence follows no link, neither where it comes from nor where it goes to', async () => {
    using elsewhere = directory({ 'secret.txt': 'secret' })
    using source = directory()
    using evidence = directory({ 'a.txt': 'a' })
    symlinkSync(join(elsewhere.path, 'secret.txt'), join(evidence.path, 'link.txt'))
    await assert.rejects(storage.store(source.path, evidence.path, ['link.txt'], { signal }), {
      code: 'bundle-file-refused',
    })
    await assert.rejects(storage.store(source.path, evidence.path, ['../x'], { signal }), {
      code: 'bundle-file-refused',
    })

    symlinkSync(join(elsewhere.path, 'secret.txt'), join(source.path, 'evidence', 'a.txt'))
    await storage.store(source.path, evidence.path, ['a.txt'], { signal })
    assert.equal(readFileSync(join(elsewhere.path, 'secret.txt'), 'utf8'), 'secret')
    assert.equal(readFileSync(join(source.path, 'evidence/a.txt'), 'utf8'), 'a')

    const read = async (name: string): Promise<string> => {
      const chunks: Uint8Array[] = []
      for await (const chunk of await storage.read(source.path, name, { signal }))
        chunks.push(chunk)
      return Buffer.concat(chunks).toString()
    }
    assert.equal(await read('a.txt'), 'a')
    symlinkSync(join(elsewhere.path, 'secret.txt'), join(source.path, 'evidence', 'b.txt'))
    symlinkSync(elsewhere.path, join(source.path, 'evidence', 'c'))
    for (const name of ['b.txt', 'c/secret.txt', '../a', '/etc/passwd'])
      await assert.rejects(read(name), { code: 'bundle-file-refused' }, name)
    await assert.rejects(read('nothing.txt'), { code: 'bundle-not-found' })

    using linked = directory()
    symlinkSync(elsewhere.path, join(linked.path, 'evidence'))
    await assert.rejects(storage.store(linked.path, evidence.path, ['a.txt'], { signal }), {
      code: 'storage-denied',
    })
    assert.deepEqual(readdirSync(elsewhere.path), ['secret.txt'])
  })

  test('with roots only what truly lies below one of them is a bundle', async () => {
    using root = directory({ 'inside/a': '', 'insideout/a': '' })
    using outside = directory({ a: '' })
    using staged = directory()
    symlinkSync(outside.path, join(root.path, 'inside/out'))
    const bounded = createStorage({ local: { roots: [join(root.path, 'inside')] } })
    const fetched = (path: string): Promise<void> =>
      bounded.fetch(path, staged.path, { limits, signal })

    await fetched(join(root.path, 'insideout/../inside')).catch((error: unknown) => {
      assert.match(String(error), /it is a link/) // it was looked into
    })
    for (const path of [
      outside.path,
      join(root.path, 'inside/out'),
      join(root.path, 'insideout'),
      join(root.path, 'inside/..'),
      '/',
    ])
      await assert.rejects(fetched(path), { code: 'bad-storage-path' }, path)
    assert.deepEqual(readdirSync(staged.path), [])
  })

  test('a place that cannot be is refused, and what is not there is not found', async () => {
    using source = directory({ file: '' })
    using staged = directory()
    const refusals: readonly (readonly [string, string])[] = [
      ['relative/path', 'bad-storage-path'],
      ['', 'bad-storage-path'],
      ['gs://bucket/x', 'bad-storage-path'],
      ['file://host/x', 'bad-storage-path'],
      ['file:relative', 'bad-storage-path'],
      ['s3://bucket/x', 'bad-storage-path'],
      ['s3://', 'bad-storage-path'],
      ['upload:../x', 'bad-storage-path'],
      ['upload:x', 'bad-storage-path'],
      ['/a\0b', 'bad-storage-path'],
      [`/${'x'.repeat(2_048)}`, 'bad-storage-path'],
      [join(source.path, 'file'), 'bad-storage-path'],
      [join(source.path, 'nothing'), 'bundle-not-found'],
    ]
    for (const [path, code] of refusals)
      await assert.rejects(storage.fetch(path, staged.path, { limits, signal }), { code }, path)
    const closed = createStorage({ local: undefined })
    await assert.rejects(closed.fetch('/', staged.path, { limits, signal }), {
      code: 'bad-storage-path',
    })
  })

  test('a fetch that is given up ends', async () => {
    using source = directory({ a: '', b: '' })
    using staged = directory()
    const given = AbortSignal.abort(new Error('given up'))
    await assert.rejects(
      storage.fetch(source.path, staged.path, { limits, signal: given }),
      /given up/,
    )
    assert.deepEqual((await filesBelow(staged.path, 10)).files, [])
  })
})
