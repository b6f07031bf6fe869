/** The S3 store of bundles against a server that speaks the protocol. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'

import { createStorage } from '../../src/probe/storage/create-storage.ts'
import { createS3Store, S3_LISTED_MAX, type S3Store } from '../../src/probe/storage/s3.ts'
import type { BlockStorage, BundleLimits } from '../../src/probe/storage/storage.ts'
import { ATTEMPTS_MAX, createTrying } from '../../src/probe/trying.ts'
import { afterIo, random, systemClock } from '../../src/std/index.ts'
import { virtualClock } from '../../src/testkit/index.ts'
import { directory, FEATURE, write } from './bundles.ts'
import { noStore, startStore, type Store } from './s3-store.ts'

const limits: BundleLimits = { files: 2_000, fileBytes: 2 ** 27, totalBytes: 2 ** 27 }
const { signal } = new AbortController()
const PAGE_OBJECTS = 1_000

describe('S3', { skip: noStore() ?? false }, () => {
  let store: Store
  let s3: S3Store
  let storage: BlockStorage

  before(async () => {
    store = await startStore()
    const trying = createTrying({ clock: systemClock, random: random(1) })
    s3 = createS3Store({ ...store.options, trying })
    storage = createStorage({ local: undefined, s3 })
  })

  after(async () => {
    await s3[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
  })

  async function put(objects: Readonly<Record<string, string>>): Promise<void> {
    const { PutObjectCommand } = await import('@aws-sdk/client-s3')
    const left = Object.entries(objects).values()
    const worker = async (): Promise<void> => {
      for (const [Key, Body] of left)
        await store.client.send(
          new PutObjectCommand({
            Bucket: store.bucket,
            Key,
            Body,
            ContentLength: Buffer.byteLength(Body),
          }),
        )
    }
    await Promise.all(Array.from({ length: 32 }, worker))
  }

  async function fetched(prefix: string, most = limits): Promise<Record<string, string>> {
    using to = directory()
    await storage.fetch(`s3://${store.bucket}/${prefix}`, to.path, { limits: most, signal })
    const files = readdirSync(to.path, { recursive: true, withFileTypes: true })
    return Object.fromEntries(
      files
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => {
          const path = join(parentPath, name)
          return [path.slice(to.path.length + 1), readFileSync(path, 'utf8')] as const
        })
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    )
  }

  test('a bundle is what lies below its prefix, without evidence and folders, and nothing of its neighbours', async () => {
    await put({
      'one/features/ä b+c&d.feature': FEATURE,
      'one/features/deep/er.feature': FEATURE,
      'one/topic-directive.yaml': 'topics: []',
      'one/evidence/old.json': '[]',
      'one/.hidden': 'x',
      'one/steps/': '',
      'one-more/features/b.feature': FEATURE,
    })
    const expected = {
      'features/deep/er.feature': FEATURE,
      'features/ä b+c&d.feature': FEATURE,
      'topic-directive.yaml': 'topics: []',
    }
    assert.deepEqual(await fetched('one'), expected)
    assert.deepEqual(await fetched('one/'), expected)
  })

  // It fails without `next = …` in `objectsOf`, and with another `Prefix`.
  test('probe-S3: objects come page by page, and those of the last page too', async () => {
    // What is hidden fills the first page; it is listed, and costs no download.
    await put(
      Object.fromEntries(
        Array.from({ length: PAGE_OBJECTS }, (_, n) => [`many/.hidden/${n}`, 'x']),
      ),
    )
    await put({ 'many/a': '1', 'many/b/c': '2', 'many/d': '3', 'many2/e': '4' })
    assert.deepEqual(await fetched('many'), { a: '1', 'b/c': '2', d: '3' })
    await assert.rejects(fetched('many', { ...limits, files: 2 }), { code: 'bundle-too-large' })
  })

  test('a listing that does not end is ended', async () => {
    let pages = 0
    const server = createServer((_request, response) => {
      pages += 1
      const keys = Array.from(
        { length: PAGE_OBJECTS },
        (_, n) => `<Contents><Key>p/.${n}</Key></Contents>`,
      )
      response.setHeader('content-type', 'application/xml')
      response.end(
        `<ListBucketResult><KeyCount>${PAGE_OBJECTS}</KeyCount>${keys.join('')}<NextContinuationToken>again</NextContinuationToken></ListBucketResult>`,
      )
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const trying = createTrying({ clock: systemClock, random: random(1) })
    await using endless = createS3Store({
      ...store.options,
      endpoint: `http://127.0.0.1:${port}`,
      trying,
    })
    using to = directory()
    await assert.rejects(
      endless.fetch({ bucket: 'bucket', prefix: 'p/' }, to.path, { limits, signal }),
      { code: 'bundle-too-large' },
    )
    assert.equal(pages, S3_LISTED_MAX / PAGE_OBJECTS + 1)
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  test('evidence goes below evidence/, over what was there, and is read from there', async () => {
    using evidence = directory({ 'cucumber.json': '1', 'shots/ä.png': 'png', 'empty.log': '' })
    const path = `s3://${store.bucket}/two`
    const files = ['cucumber.json', 'shots/ä.png', 'empty.log']
    await storage.store(path, evidence.path, files, { signal })
    write(evidence.path, { 'cucumber.json': '2' })
    await storage.store(path, evidence.path, files, { signal })

    for (const [name, content] of [
      ['cucumber.json', '2'],
      ['shots/ä.png', 'png'],
      ['empty.log', ''],
    ] as const) {
      const chunks: Uint8Array[] = []
      for await (const chunk of await storage.read(path, name, { signal })) chunks.push(chunk)
      assert.equal(Buffer.concat(chunks).toString(), content)
    }
    await assert.rejects(storage.read(path, 'nothing', { signal }), { code: 'bundle-not-found' })
    await assert.rejects(storage.read(path, '../one/topic-directive.yaml', { signal }), {
      code: 'bundle-file-refused',
    })
    await assert.rejects(fetched('two'), { code: 'bundle-not-found' }) // evidence is no bundle
  })

  test('a large object is streamed both ways, and never held as a whole', async () => {
    const MIB = 2 ** 20
    using evidence = directory()
    const hash = createHash('sha256')
    const file = createWriteStream(join(evidence.path, 'large.bin'))
    for (let n = 0; n < 32; n++) {
      const chunk = randomBytes(MIB)
      hash.update(chunk)
      await new Promise((resolve) => file.write(chunk, resolve))
    }
    await new Promise((resolve) => file.end(resolve))
    const digest = hash.digest('hex')

    const path = `s3://${store.bucket}/large`
    let peak = 0
    const watching = { isOver: false }
    const look = (): void => {
      if (process.memoryUsage().arrayBuffers - start > 8 * MIB) globalThis.gc?.()
      peak = Math.max(peak, process.memoryUsage().arrayBuffers)
      if (!watching.isOver) afterIo(look)
    }
    globalThis.gc?.()
    const start = process.memoryUsage().arrayBuffers
    look()
    await storage.store(path, evidence.path, ['large.bin'], { signal })
    const read = createHash('sha256')
    for await (const chunk of await storage.read(path, 'large.bin', { signal })) read.update(chunk)
    watching.isOver = true
    assert.equal(read.digest('hex'), digest)
    assert.ok(peak - start < 16 * MIB, `${(peak - start) / MIB} MiB at once`)

    // The same object as a file of a bundle.
    using to = directory()
    await storage.fetch(`${path}/evidence`, to.path, { limits, signal })
    const copy = createHash('sha256')
    for await (const chunk of createReadStream(join(to.path, 'large.bin'))) copy.update(chunk)
    assert.equal(copy.digest('hex'), digest)
    using none = directory()
    const small = { ...limits, fileBytes: 32 * MIB - 1 }
    await assert.rejects(storage.fetch(`${path}/evidence`, none.path, { limits: small, signal }), {
      code: 'bundle-too-large',
      message: /large.bin/,
    })
    assert.deepEqual(readdirSync(none.path), [])
  })

  test('keys that lead elsewhere, or mean two files, are refused before anything is written', async () => {
    for (const key of ['evil-1/a//b', 'evil-2/a\\b', 'evil-3/..hidden/../../b']) {
      await put({ [key]: 'x' })
      await assert.rejects(fetched(key.split('/', 1)[0]!), { code: 'bundle-file-refused' }, key)
    }
    await put({ 'evil-4/a': 'x', 'evil-4/a/b': 'x' })
    await assert.rejects(fetched('evil-4'), { code: 'bundle-file-refused' })
  })

  test('what is not there is not found, and what is not allowed is denied; neither is tried again', async () => {
    using to = directory()
    const at = (from: BlockStorage, bucket: string): Promise<void> =>
      from.fetch(`s3://${bucket}/one`, to.path, { limits, signal })
    await assert.rejects(at(storage, 'there-is-no-such-bucket'), { code: 'bundle-not-found' })
    await assert.rejects(fetched('nothing'), { code: 'bundle-not-found' })

    let tries = 0
    const clock = virtualClock()
    const counted = createTrying({ clock, random: random(1) })
    const { accessKeyId, secretAccessKey } = store.options.credentials!
    for (const credentials of [
      { accessKeyId, secretAccessKey: 'wrong-secret-key' },
      { accessKeyId: 'probe:nobody', secretAccessKey },
    ]) {
      await using wrong = createS3Store({
        ...store.options,
        credentials,
        trying: {
          ...counted,
          run: (dependency, act, options) =>
            counted.run(dependency, () => ((tries += 1), act()), options),
        },
      })
      const denied = createStorage({ local: undefined, s3: wrong })
      await assert.rejects(at(denied, store.bucket), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'storage-denied')
        assert.equal(JSON.stringify(error).includes(credentials.secretAccessKey), false)
        return true
      })
    }
    assert.equal(tries, 2)
    assert.deepEqual(readdirSync(to.path), [])
  })

  test('a store that cannot be reached is tried again, and then unavailable', async () => {
    using to = directory()
    const clock = virtualClock()
    let tries = 0
    const trying = createTrying({ clock, random: random(1) })
    await using away = createS3Store({
      ...store.options,
      endpoint: 'http://127.0.0.1:9', // nobody listens there
      trying: {
        ...trying,
        run: (name, act, options) => trying.run(name, () => ((tries += 1), act()), options),
      },
    })
    const failing = away
      .fetch({ bucket: store.bucket, prefix: 'one/' }, to.path, { limits, signal })
      .then(() => undefined)
      .catch((error: unknown) => error as Error & { code?: string; detail?: unknown })
    const state = { isOver: false }
    void failing.then(() => (state.isOver = true))
    while (!state.isOver) {
      await new Promise<void>((resolve) => afterIo(resolve))
      if (clock.next !== undefined) clock.advance(clock.next - clock.monotonic())
    }
    const error = await failing
    assert.equal(error?.code, 'storage-unavailable')
    assert.equal(tries, ATTEMPTS_MAX)
  })

  test('a fetch that is given up ends, and so does a store', async () => {
    using to = directory()
    const abort = new AbortController()
    const path = `s3://${store.bucket}/large/evidence`
    const fetching = storage.fetch(path, to.path, { limits, signal: abort.signal })
    const settled = fetching.catch((error: unknown) => String(error))
    while (!existsSync(join(to.path, 'large.bin')))
      await new Promise<void>((resolve) => afterIo(resolve))
    abort.abort(new Error('given up'))
    assert.equal(await settled, 'Error: given up')
    assert.deepEqual(readdirSync(to.path), [])

    using evidence = directory({ a: 'x' })
    await assert.rejects(
      storage.store(path, evidence.path, ['a'], {
        signal: AbortSignal.abort(new Error('given up')),
      }),
      /given up/,
    )
  })
})
