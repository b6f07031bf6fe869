/**
 * Bundles that cannot be run, brought to a server in each way and to `run` alike: the refusal names the
 * file, and the line where there is one, and nothing is left where tests are prepared.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, symlinkSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'

import { MAIN, shell } from '../server/processes.ts'
import { FEATURE, type Files } from './bundles.ts'
import { doing, E2E_MS_MAX, station, type Station } from './e2e.ts'
import { zipOf, type ZipEntry } from './zips.ts'

type Case = Readonly<{
  name: string
  files: Files
  /** What files alone cannot say. */
  prepare?: (directory: string) => void
  code: string
  says: RegExp
}>

const GOOD: Files = { 'features/a.feature': FEATURE }
const TWICE = `topics:
  - topic: orders
    role: producer
  - topic: orders
    role: producer
`

const CASES: readonly Case[] = [
  {
    name: 'no features',
    files: { 'steps/a.ts': '' },
    code: 'bad-bundle',
    says: /^features\/: there is no \*\.feature file/,
  },
  {
    name: 'broken YAML',
    files: { ...GOOD, 'topic-directive.yaml': 'tags: "@a"\ntopics: [\n  - x: }\n' },
    code: 'bad-bundle',
    says: /^topic-directive\.yaml:[23]: /,
  },
  {
    name: 'a topic twice',
    files: { ...GOOD, 'topic-directive.yaml': TWICE },
    code: 'bad-bundle',
    says: /^topic-directive\.yaml:4: the topic orders is there twice as producer, first in line 2/,
  },
  {
    name: 'a malformed feature',
    files: { 'features/a.feature': 'Feature: a\n  Scenario: b\n    Given c\n    | d |\n    e\n' },
    code: 'bad-bundle',
    says: /^features\/a\.feature:5: /,
  },
  {
    name: 'an unknown key',
    files: { ...GOOD, 'topic-directive.yaml': 'tags: "@a"\ntimeout: 5\n' },
    code: 'bad-bundle',
    says: /^topic-directive\.yaml:2: .*timeout/,
  },
  {
    name: 'a file of a gigabyte',
    files: { ...GOOD, 'data/large.bin': '' },
    prepare: (directory) => truncateSync(join(directory, 'data/large.bin'), 2 ** 30),
    code: 'bundle-too-large',
    says: /^data\/large\.bin: it has more than \d+ bytes/,
  },
  {
    name: 'a link',
    files: GOOD,
    prepare: (directory) => symlinkSync('/etc/passwd', join(directory, 'features/b.feature')),
    code: 'bundle-file-refused',
    says: /^features\/b\.feature: it is a link/,
  },
]

/** What only an archive can have in it. */
const ARCHIVES: readonly Readonly<{
  name: string
  entries: readonly ZipEntry[]
  status: number
  says: RegExp
}>[] = [
  {
    name: 'a name that leads out',
    entries: [{ name: '../../outside.feature', data: FEATURE }],
    status: 400,
    says: /outside\.feature: /,
  },
  {
    name: 'a link',
    entries: [{ name: 'features/a.feature', data: '/etc/passwd', mode: 0o120777 }],
    status: 400,
    says: /features\/a\.feature: it is a link/,
  },
  {
    name: 'a gigabyte that was packed into nothing',
    entries: [{ name: 'features/a.feature', data: FEATURE, size: 2 ** 30 }],
    status: 413,
    says: /features\/a\.feature: /,
  },
]

describe('bundles that cannot be run', () => {
  let at: Station
  before(async () => (at = await station()))
  after(() => at[Symbol.asyncDispose]())

  for (const { name, files, prepare, code, says } of CASES)
    test(`${name}: a server says so and keeps nothing`, { timeout: E2E_MS_MAX }, async () => {
      const bundle = at.bundle(files)
      prepare?.(bundle)
      const testId = await at.start(bundle)
      const status = await at.ended(testId)
      assert.equal(status.state, 'Exception')
      assert.equal(status.outcome, 'errored')
      assert.equal(status['error-code'], code, status.error)
      assert.equal(status['error-kind'], 'block-storage')
      assert.match(status.error!, says)
      assert.equal(status['evidence'], 'none')
      await at.tidied()
      assert.ok(!readdirSync(bundle).includes('evidence'))
    })

  for (const { name, entries, status, says } of ARCHIVES)
    test(`an archive with ${name} is not taken`, { timeout: E2E_MS_MAX }, async () => {
      const testId = await at.initialize()
      const response = await fetch(`${at.url}/api/v1/test/${testId}/bundle`, {
        method: 'PUT',
        headers: { 'content-type': 'application/zip' },
        body: new Uint8Array(zipOf(entries)),
      })
      const { message } = (await response.json()) as { message: string }
      assert.equal(response.status, status, message)
      assert.match(message, says)
      assert.deepEqual(at.uploads(), [])
      assert.deepEqual(at.staged(), [])
      const { state } = await at.status(testId)
      assert.equal(state, 'Setup')
    })

  test('a path that leads out of what the server may read is refused', async () => {
    for (const path of ['/etc', `${at.directory}/../..`, 'relative/path', `${at.directory}/none`]) {
      const status = await at.ended(await at.start(path))
      assert.equal(status.outcome, 'errored')
      assert.match(String(status['error-code']), /^(bad-storage-path|bundle-not-found)$/, path)
    }
    await at.tidied()
  })

  test('the queue goes on as if nothing had been', { timeout: E2E_MS_MAX }, async () => {
    const status = await at.ended(await at.start(at.bundle(doing(''))))
    assert.equal(status.outcome, 'passed')
    await at.tidied()
  })

  test('run says the same, ends with 2 and keeps nothing', { timeout: E2E_MS_MAX }, async () => {
    const temporary = join(at.directory, 'temporary-of-run')
    mkdirSync(temporary)
    for (const { name, files, prepare, code, says } of CASES) {
      const bundle = at.bundle(files)
      prepare?.(bundle)
      const { code: exit, out } = await shell(
        `TMPDIR='${temporary}' '${process.execPath}' '${MAIN}' run '${bundle}' --json`,
      )
      const told = JSON.parse(out) as Record<string, string>
      assert.equal(exit, 2, name)
      assert.equal(told['errorCode'], code, name)
      assert.match(told['error']!, says)
      assert.ok(!readdirSync(bundle).includes('evidence'), name)
    }
    assert.deepEqual(readdirSync(temporary), [])
  })
})
