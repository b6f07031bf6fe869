/** `run` with real runs: what it says, what it ends with, and the settings that bound a run. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'

import { directory, type Files } from '../../../test/probe/bundles.ts'
import { MAIN, Serving } from '../../../test/server/processes.ts'
import { systemClock } from '../../std/index.ts'
import { run } from '../cli.ts'

type Ran = Readonly<{ code: number; out: string; log: string; files: readonly string[] }>

const TOPIC =
  'topics:\n  - { topic: orders, role: producer }\n  - { topic: orders, role: consumer }\n'
const GOOD = `Feature: Orders
  Scenario: announced
    Given I have a topic "orders"
    When I produce event {"id": 7} to topic "orders"
    Then I should receive an event from topic "orders" within 10 seconds
`

async function ran(files: Files, ...args: readonly string[]): Promise<Ran> {
  using bundle = directory(files)
  let out = ''
  const code = await run(['run', bundle.path, ...args], {
    out: (text) => (out += text),
    err: (text) => (out += text),
    isWatched: false,
    environment: {},
    directory: bundle.path,
    clock: systemClock,
    self: 'flytower',
    versions: { product: '1', node: process.version },
  })
  const evidence = join(bundle.path, 'evidence')
  const log = join(evidence, 'run.log')
  return {
    code,
    out,
    log: existsSync(log) ? readFileSync(log, 'utf8') : '',
    files: existsSync(evidence) ? readdirSync(evidence).toSorted() : [],
  }
}

const steps = (body: string): string =>
  `import { Given } from 'flytower/steps'\nGiven('it is done', async () => {\n${body}\n})\n`
const DONE = 'Feature: Own\n  Scenario: one\n    Given it is done\n'

describe('run', { timeout: 180_000 }, () => {
  test('ends with 0 where everything passed, and leaves its evidence beside the features', async () => {
    const { code, out, files } = await ran({
      'features/a.feature': GOOD,
      'topic-directive.yaml': TOPIC,
    })
    assert.equal(code, 0, out)
    assert.match(out, /^1 scenario: 1 passed \(.* s\)\npassed\nreport: file:.*report\.html\n$/)
    assert.deepEqual(files, [
      'cucumber.json',
      'events.jsonl',
      'junit.xml',
      'messages.ndjson',
      'metadata.json',
      'report.html',
      'run.log',
    ])
  })

  test('ends with 1 where a scenario failed, or a step has no definition', async () => {
    const failing = steps(`  throw new Error('no such luck')`)
    const { code, out } = await ran({ 'features/a.feature': DONE, 'steps/a.ts': failing })
    assert.equal(code, 1, out)
    assert.match(out, /features\/a\.feature:\d+ {2}one\n[\s\S]*no such luck[\s\S]*\nfailed\n/)
    const undefinedStep = await ran({ 'features/a.feature': DONE })
    assert.equal(undefinedStep.code, 1, undefinedStep.out)
    assert.match(undefinedStep.out, /1 step undefined/)
  })

  test('ends with 2 where the bundle could not be run', async () => {
    const empty = await ran({ 'readme.txt': 'nothing here' })
    assert.equal(empty.code, 2, empty.out)
    assert.match(empty.out, /^bad-bundle: .*\nfeatures\/: there is no \*\.feature file; put/)
    const odd = { 'features/a.feature': DONE, 'topic-directive.yaml': 'tgas: 1\ntopics: 1\n' }
    const { out } = await ran(odd)
    assert.match(out, /\ntopic-directive\.yaml:1: .*; did you mean tags\?\n.*:2: .*\nerrored\n$/)
    const leaving = steps('  process.exit(0)')
    const left = await ran({ 'features/a.feature': DONE, 'steps/a.ts': leaving })
    assert.equal(left.code, 2, left.out)
    assert.match(left.out, /run-ended-early/)
    const unloadable = 'const a = 1\nenum Colour { red }\nexport { a, Colour }\n'
    const bad = await ran({ 'features/a.feature': DONE, 'steps/a.ts': unloadable })
    assert.equal(bad.code, 2, bad.out)
    assert.match(bad.out, /^bad-steps: .*: steps\/a\.ts:2: .*enum is not supported.*\nwhat to do: /)
    assert.match(bad.out, /\nlog: file:.*\/evidence\/run\.log\n$/)
    assert.match(bad.log, /at parseTypeScript/)
  })

  test('chooses scenarios by tags, and runs none in a dry run', async () => {
    const two = `${GOOD}\n  @slow\n  Scenario: later\n    Given I wait 1 second\n`
    const files = { 'features/a.feature': two, 'topic-directive.yaml': TOPIC }
    const chosen = await ran(files, '--tags', 'not @slow')
    assert.match(chosen.out, /^1 scenario: 1 passed/)
    const nothing = await ran(files, '--tags', '@nothing')
    assert.equal(nothing.code, 1)
    assert.match(nothing.out, /^0 scenarios: .*\nno scenario matches the tags @nothing\nfailed\n/)
    const wrong = await ran(files, '--tags', '@a and and')
    assert.equal(wrong.code, 2)
    assert.match(wrong.out, /^bad-test-request: tags is no tag expression: .*\nwhat to do: write/)
    const dry = await ran(files, '--dry-run', '--json')
    const { result } = JSON.parse(dry.out) as { result: { stepsPassed: number } }
    assert.equal(result.stepsPassed, 0)
  })
})

/** A run in a process of its own, with a step that waits for an answer which never comes. */
async function holding(t: TestContext, grace: string) {
  const called = Promise.withResolvers<void>()
  const service = createServer(() => called.resolve())
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  const bundle = directory({
    'features/a.feature': `Feature: Held
  Scenario: before
    Given it is done
  Scenario: held
    When I GET "${origin}/orders/1"
`,
    'steps/a.ts': steps(`  process.on('SIGTERM', () => undefined) // only a kill ends it`),
  })
  const temporary = directory()
  t.after(() => {
    service.closeAllConnections()
    service.close()
    bundle[Symbol.dispose]()
    temporary[Symbol.dispose]()
  })
  const held = new Serving(
    t,
    [MAIN, 'run', bundle.path, '--set', `probe.httpAllow=["${origin}"]`, `probe.grace=${grace}`],
    ['env', `TMPDIR=${temporary.path}`],
  )
  await Promise.race([called.promise, held.says(/^passed$/)]) // the second fails where it ends too soon
  return { held, evidence: join(bundle.path, 'evidence'), temporary: temporary.path }
}

describe('a run that a signal wants to end', { timeout: 180_000 }, () => {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    test(`is cancelled by ${signal}, keeps its evidence so far, and ends with ${code}`, async (t) => {
      const { held, evidence, temporary } = await holding(t, '100ms')
      held.child.kill(signal)
      assert.equal(await held.ended, code, held.lines.join('\n'))
      assert.deepEqual(held.lines, [
        'cancelling; a second signal ends it at once',
        'cancelled: the test was cancelled',
        'cancelled',
        `report: file://${evidence}/report.html`,
      ])
      assert.match(readFileSync(join(evidence, 'run.log'), 'utf8'), /the run was cancelled/)
      assert.match(readFileSync(join(evidence, 'report.html'), 'utf8'), /before/)
      assert.deepEqual(readdirSync(temporary), [])
    })

  test('ends at once when a second signal comes, also where its steps take long to end', async (t) => {
    const { held, evidence } = await holding(t, '1h')
    held.child.kill('SIGTERM')
    await held.says(/^cancelling/)
    held.child.kill('SIGINT')
    assert.equal(await held.ended, 130)
    assert.equal(existsSync(evidence), false)
  })
})

describe('settings that bound a run', { timeout: 180_000 }, () => {
  test('probe-O9: probe.isolation says where steps run', async () => {
    const files = { 'features/a.feature': DONE, 'steps/a.ts': steps('') }
    const { code, log } = await ran(files, '--set', 'probe.isolation=process')
    assert.equal(code, 0, log)
    assert.match(log, /isolation: process/)
  })

  test('probe-O9: probe.memoryMax ends a run that takes more', async () => {
    const eating = steps(`  const held = []
  for (let n = 0; n < 40; n++) {
    held.push(Buffer.alloc(16 * 2 ** 20, 1))
    await new Promise((go) => setImmediate(go))
  }
  await new Promise(() => undefined)`)
    const files = { 'features/a.feature': DONE, 'steps/a.ts': eating }
    const { code, out } = await ran(files, '--set', 'probe.memoryMax=256MiB')
    assert.equal(code, 2, out)
    assert.match(out, /run-killed|run-ended-early/)
  })

  test('probe-O9: probe.processesMax ends a run that has more', async () => {
    const forking = steps(`  const { spawn } = await import('node:child_process')
  for (let n = 0; n < 20; n++) spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] }).on('error', () => undefined)
  await new Promise(() => undefined)`)
    const files = {
      'features/a.feature': DONE,
      'steps/a.ts': forking,
      'topic-directive.yaml': 'testingMs: 60000\n',
    }
    const { code, out } = await ran(files, '--set', 'probe.processesMax=8')
    assert.equal(code, 2, out)
    assert.match(out, /run-killed/)
  })

  test('probe-O9: probe.httpAllow lets steps call an origin, and no other is called', async () => {
    let asked = 0
    const service = createServer((_, response) => {
      asked++
      response.setHeader('content-type', 'application/json').end('{"id":1}')
    })
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
    const origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
    const feature = `Feature: Calls\n  Scenario: one\n    When I GET "${origin}/orders/1"\n    Then the response status should be 200\n`
    const files = { 'features/a.feature': feature }
    const refused = await ran(files)
    assert.deepEqual([refused.code, asked], [1, 0], refused.out)
    assert.match(refused.out, /http-refused|may not call/)
    const allowed = await ran(files, '--set', `probe.httpAllow=["${origin}"]`)
    assert.deepEqual([allowed.code, asked], [0, 1], allowed.out)
    service.close()
  })
})
