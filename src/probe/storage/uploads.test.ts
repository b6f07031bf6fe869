import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { directory, FEATURE } from '../../../test/probe/bundles.ts'
import { zipOf, type ZipEntry } from '../../../test/probe/zips.ts'
import { isFault } from '../../std/index.ts'
import { filesBelow } from '../bundle/files.ts'
import { createStorage } from './create-storage.ts'
import type { BundleLimits } from './storage.ts'
import { COMPRESSION_JUDGED_BYTES_MIN, COMPRESSION_RATIO_MAX } from './unzip.ts'
import { createUploads, type Uploads } from './uploads.ts'
import { zipBundle } from './zip.ts'

const signal = new AbortController().signal
const limits: BundleLimits = { files: 5, fileBytes: 4_000_000, totalBytes: 6_000_000 }

async function* chunks(bytes: Uint8Array, size = 1_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function sent(
  archive: Uint8Array | AsyncIterable<Uint8Array>,
  judge: (answer: Awaited<ReturnType<Uploads['receive']>>, root: string) => void | Promise<void>,
): Promise<void> {
  using data = directory()
  const uploads = await createUploads({ root: data.path, limits })
  const stream = archive instanceof Uint8Array ? chunks(archive) : archive
  await judge(await uploads.receive('t1', stream, { signal }), data.path)
}

/** The code, and the words of the refusal; nothing may be left behind. */
async function refused(archive: Uint8Array | AsyncIterable<Uint8Array>): Promise<string> {
  let words = ''
  await sent(archive, (answer, root) => {
    assert.ok(isFault(answer), 'it is refused')
    assert.deepEqual(readdirSync(root), [], 'nothing is left behind')
    assert.notEqual(answer.detail['remedy'] ?? '', '')
    words = `${answer.code} ${answer.message}`
  })
  return words
}

/** Packs about ten to one. */
function noise(bytes: number): Buffer {
  return Buffer.alloc(
    bytes,
    Array.from({ length: 40_000 }, (_, n) => String((n * n) % 9_973)).join(''),
  )
}

const feature: ZipEntry = { name: 'features/a.feature', data: FEATURE }

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('PK')
  throw new Error('the connection broke')
}

const taken = (entries: readonly ZipEntry[]): Promise<void> =>
  sent(zipOf(entries), (answer) => assert.equal(answer.ok, true, JSON.stringify(answer)))

const some = (count: number): ZipEntry[] =>
  Array.from({ length: count }, (_, n) => ({ name: `f${n}` }))

const stored = (name: string, bytes: number): ZipEntry => ({
  name,
  data: Buffer.alloc(bytes),
  stored: true,
})

async function* endlessZeros(): AsyncGenerator<Uint8Array> {
  for (;;) yield Buffer.alloc(1_000_000)
}

describe('uploads', () => {
  test('an archive becomes a bundle that storage fetches, and keeps the evidence', async () => {
    using data = directory()
    using staged = directory()
    using evidence = directory({ 'cucumber.json': '[]' })
    const uploads = await createUploads({ root: data.path })
    const zip = zipOf([
      feature,
      { name: 'steps/', mode: 0o040755 },
      { name: 'steps/a.ts', data: 'x' },
    ])

    const answer = await uploads.receive('t1', chunks(zip), { signal })
    assert.deepEqual(answer, { ok: true, path: 'upload:t1' })
    const storage = createStorage({ local: undefined, uploads })
    await storage.fetch('upload:t1', staged.path, { limits, signal })
    await storage.store('upload:t1', evidence.path, ['cucumber.json'], { signal })

    const { files } = await filesBelow(staged.path, 10)
    assert.deepEqual(
      files.map(({ name }) => name),
      ['features/a.feature', 'steps/a.ts'],
    )
    assert.equal(readFileSync(join(staged.path, 'features/a.feature'), 'utf8'), FEATURE)
    assert.equal(readFileSync(join(data.path, 't1/evidence/cucumber.json'), 'utf8'), '[]')
    assert.equal(statSync(data.path).mode & 0o777, 0o700)
  })

  test('what the command line packs is what the server unpacks', async () => {
    using bundle = directory({
      'features/ä b.feature': FEATURE,
      'steps/a.ts': 'x'.repeat(100_000),
      'evidence/old.json': '',
      '.env': 'PASSWORD=hunter22',
    })
    await sent(await zipBundle(bundle.path), async (answer, root) => {
      assert.equal(answer.ok, true)
      const { files } = await filesBelow(join(root, 't1'), 10)
      assert.deepEqual(files, [
        { name: 'features/ä b.feature', bytes: FEATURE.length },
        { name: 'steps/a.ts', bytes: 100_000 },
      ])
      assert.deepEqual(readdirSync(join(root, 't1')).toSorted(), ['features', 'steps'])
    })
  })

  test('a folder that was packed as a whole is the bundle, and what archivers add is left out', async () => {
    const entries = [
      { ...feature, name: 'my-bundle/features/a.feature' },
      { name: '__MACOSX/my-bundle/._a', data: 'x' },
      { name: 'my-bundle/.DS_Store', data: 'x' },
    ]
    await sent(zipOf(entries), (answer, root) => {
      assert.equal(answer.ok, true)
      assert.deepEqual(readdirSync(root, { recursive: true, encoding: 'utf8' }).toSorted(), [
        't1',
        't1/features',
        't1/features/a.feature',
      ])
    })
  })

  test('another upload of the same id replaces the first, unless both are on their way', async () => {
    using data = directory()
    const uploads = await createUploads({ root: data.path, limits })
    const first = uploads.receive('t1', chunks(zipOf([feature])), { signal })
    const second = await uploads.receive('t1', chunks(zipOf([feature])), { signal })
    assert.equal(isFault(second) && second.code, 'upload-busy')
    assert.equal((await first).ok, true)

    const third = zipOf([{ name: 'features/b.feature', data: FEATURE }])
    assert.equal((await uploads.receive('t1', chunks(third), { signal })).ok, true)
    assert.deepEqual(readdirSync(join(data.path, 't1/features')), ['b.feature'])
  })

  test('an upload that was on its way when the server ended is gone after its start, and others are swept by id', async () => {
    using data = directory({ 'incoming-x/archive.zip': '', 't1/a': '', 't2/a': '' })
    const uploads = await createUploads({ root: data.path })
    assert.deepEqual(readdirSync(data.path), ['t1', 't2'])
    await uploads.sweep((id) => id === 't2')
    assert.deepEqual(readdirSync(data.path), ['t2'])
    await uploads.remove('t2')
    assert.deepEqual(readdirSync(data.path), [])
  })

  test('an upload that is given up leaves nothing behind', async () => {
    using data = directory()
    const uploads = await createUploads({ root: data.path })
    const abort = new AbortController()
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('PK')
      abort.abort(new Error('gone'))
      yield Buffer.from('PK')
    }
    await assert.rejects(uploads.receive('t1', endless(), { signal: abort.signal }), {
      name: 'AbortError',
    })
    await assert.rejects(uploads.receive('t1', broken(), { signal }), /the connection broke/)
    assert.deepEqual(readdirSync(data.path), [])
  })
})

describe('an archive', () => {
  const names = [
    ['../evil', 'leads out of the bundle'],
    ['features/../../evil', 'leads out of the bundle'],
    ['./features/a.feature', 'leads out of the bundle or back'],
    ['/etc/passwd', 'absolute'],
    ['C:/evil', 'absolute'],
    ['a\\..\\evil', 'backslash'],
    ['a\0b', 'control character'],
    ['a\nb', 'control character'],
    ['a//b', 'empty'],
    ['x'.repeat(256), 'a part of its name has more than 255 bytes'],
    [`${'x/'.repeat(600)}x`, 'its name has more than 1024 bytes'],
    ['', 'it has no name'],
  ] as const
  for (const [name, why] of names)
    test(`with the name ${JSON.stringify(name.slice(0, 30))} is refused`, async () => {
      const words = await refused(zipOf([feature, { name, data: 'x' }]))
      assert.ok(words.startsWith('bundle-file-refused ') && words.includes(why), words)
      assert.equal(/\p{Cc}/u.test(words), false)
    })

  test('with a link, a device, an encrypted or a double entry is refused', async () => {
    const cases: readonly (readonly [readonly ZipEntry[], RegExp])[] = [
      [[{ name: 'l', data: '/etc/passwd', mode: 0o120777 }], /l: it is a link/],
      [[{ name: 'd', mode: 0o020666 }], /d: it is a link, or no file/],
      [[{ name: 'd/', mode: 0o120777 }], /it is a link/],
      [[{ name: 'e', data: 'x', flags: 0x0801 }], /e: it is encrypted/],
      [
        [
          { name: 'a', data: '1' },
          { name: 'a', data: '2' },
        ],
        /a: it is there twice/,
      ],
      [
        [
          { name: 'a', data: '1' },
          { name: 'a/', mode: 0o040755 },
        ],
        /a: it is there twice/,
      ],
      [
        [
          { name: 'a', data: '1' },
          { name: 'a/b', data: '2' },
        ],
        /a\/b: it is a file and a directory/,
      ],
      [
        [
          { name: 'a/b', data: '1' },
          { name: 'a', data: '2' },
        ],
        /a: it is a file and a directory/,
      ],
    ]
    for (const [entries, words] of cases) assert.match(await refused(zipOf(entries)), words)
  })

  test('that is damaged or none at all is refused', async () => {
    assert.match(
      await refused(Buffer.from('hello')),
      /^bundle-file-refused the archive: it is no proper ZIP/,
    )
    assert.match(await refused(Buffer.alloc(0)), /it is no proper ZIP/)
    assert.match(await refused(zipOf([feature]).subarray(0, -30)), /it is no proper ZIP/)
    assert.match(
      await refused(zipOf([{ ...feature, sum: 1 }])),
      /features\/a.feature: it is damaged/,
    )
    const half = zipOf([feature])
    half.fill(0, 40, 80)
    assert.match(
      await refused(half),
      /^bundle-file-refused features\/a.feature: it is no proper ZIP/,
    )
  })

  test('is taken at each limit and refused one past it', async () => {
    await taken(some(5))
    assert.match(
      await refused(zipOf(some(6))),
      /^bundle-too-large the bundle: it has more than 5 files/,
    )

    await taken([stored('a', 4_000_000)])
    assert.match(
      await refused(zipOf([stored('a', 4_000_001)])),
      /^bundle-too-large a: it has more than 4000000 bytes/,
    )
    assert.match(
      await refused(
        zipOf([feature, stored('a', 2_999_999), { name: 'b', data: noise(3_000_000) }]),
      ),
      /^bundle-too-large the bundle: it has more than 6000000 bytes/,
    )
    assert.match(
      await refused(endlessZeros()),
      /^bundle-too-large the bundle: the archive has more than/,
    )
  })

  test('that is a bomb is refused, by what it claims and by what comes out', async () => {
    const zeros = Buffer.alloc(COMPRESSION_JUDGED_BYTES_MIN)
    const bomb: ZipEntry = { name: 'bomb', data: zeros }
    assert.match(
      await refused(zipOf([bomb])),
      new RegExp(`bomb: it grows more than ${COMPRESSION_RATIO_MAX} times`),
    )
    // Many small ones grow as much as one large.
    const parts = Array.from({ length: 5 }, (_, n) => ({ name: `${n}`, data: zeros.subarray(1) }))
    assert.match(await refused(zipOf(parts)), /the bundle: it grows more than 200 times/)
    // What claims to be small is cut off where it is larger.
    assert.match(
      await refused(zipOf([{ ...bomb, size: 10 }])),
      /bomb: it is no proper ZIP: too many bytes/,
    )
    assert.match(await refused(zipOf([{ ...bomb, size: 0xfffffff0 }])), /^bundle-too-large /)
    // An archive of very many entries is refused by its count.
    assert.match(await refused(zipOf([feature], 60_000)), /more than 5 files/)
  })
})
