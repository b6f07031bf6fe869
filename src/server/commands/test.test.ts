/** The verbs of `test` and of `secret`: what they say, and what they end with. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { desk, type Desk } from '../../../test/probe/desk.ts'
import { directory, FEATURE } from '../../../test/probe/bundles.ts'
import { FAILED, PASSED } from '../../../test/probe/fakes.ts'
import { Accident, fault, systemClock, type Clock } from '../../std/index.ts'
import { run } from '../cli.ts'
import type { Io } from '../io.ts'
import { showEvidence } from './test-evidence.ts'
import { exitCodeOf, resultText } from './test-text.ts'
import {
  cancelTest,
  listTests,
  showTest,
  startTest,
  validateBundle,
  watchTest,
  type TestCall,
} from './test.ts'

type Said = { out: string; err: string }

function ioOf(said: Said, over: Partial<Io> = {}): Io {
  return {
    out: (text) => (said.out += text),
    err: (text) => (said.err += text),
    isWatched: false,
    environment: {},
    directory: '/',
    clock: systemClock,
    self: 'flytower',
    versions: { product: '1', node: 'v24.12.0' },
    ...over,
  }
}

/** A clock whose pauses are over at once, after somebody had a look. */
function hurried(onPause: () => void): Clock {
  return {
    ...systemClock,
    setTimer(_at, due) {
      onPause()
      queueMicrotask(due)
      return { cancel: () => undefined }
    },
  }
}

function callOf(at: Desk, over: Partial<{ json: boolean; clock: Clock }> = {}): TestCall & Said {
  const said: Said = { out: '', err: '' }
  const { json = false, clock } = over
  return Object.assign(said, {
    json,
    io: ioOf(said, clock === undefined ? {} : { clock }),
    server: {
      url: 'http://here',
      async *read(path: string) {
        yield Buffer.from((await at.ask('GET', path)).text)
      },
      async ask(method: string, path: string, sent: Readonly<Record<string, unknown>> = {}) {
        const { body, bytes, query = {} } = sent
        const fields = Object.entries(query as object).filter(([, value]) => value !== undefined)
        const text = fields.map(([name, value]) => `${name}=${String(value)}`).join('&')
        const url = text === '' ? path : `${path}?${text}`
        const upload = bytes as Readonly<{ type: string; bytes: Buffer }> | undefined
        const told = await at.ask(method, url, upload?.bytes ?? body, {
          headers: upload === undefined ? {} : { 'content-type': upload.type },
        })
        if (told.status < 400) return told.body
        const why = String(told.body['message'])
        throw new Accident(fault('server-refused', why, { reason: told.body['code'] }))
      },
    },
  })
}

describe('test start', () => {
  test('sends a directory, and says where the test stands', async () => {
    await using at = await desk({ uploadBytesMax: 100_000 })
    using bundle = directory({ 'features/a.feature': FEATURE })
    const call = callOf(at)
    assert.equal(await startTest(call, bundle.path, { type: 'smoke', waits: false }), 0)
    assert.equal(call.out, '10000000-0000-4000-8000-000000000001 is started\n')
    await at.settle()
    const { bucket, testType } = await at.status('10000000-0000-4000-8000-000000000001')
    assert.deepEqual([bucket, testType], ['upload:10000000-0000-4000-8000-000000000001', 'smoke'])
  })

  test('refuses a directory that something is wrong with, and tags that are none, before it asks', async () => {
    await using at = await desk()
    using bundle = directory({
      'features/a.feature': 'Feature: A\n  Scenario: x\n    Given a\n    oops\n    oh\n',
    })
    const call = callOf(at)
    await assert.rejects(startTest(call, bundle.path, { waits: false }), { code: 'bad-bundle' })
    const wrong = startTest(call, '/bundles/a', { tags: '@a and and', waits: false })
    await assert.rejects(wrong, { code: 'bad-test-request', message: /^tags is no tag expression/ })
    const { body } = await at.ask('GET', '/api/v1/tests')
    assert.deepEqual(body['tests'], [])
    const said: Said = { out: '', err: '' }
    assert.equal(await run(['test', 'start', bundle.path], ioOf(said)), 2)
    assert.match(
      said.err,
      /^bad-bundle: .*\n {2}features\/a\.feature:4: .*; .*\n {2}features\/a\.feature:5/,
    )
  })

  test('names any other place to the server', async () => {
    await using at = await desk()
    const call = callOf(at, { json: true })
    assert.equal(await startTest(call, 's3://bucket/tests', { waits: false }), 0)
    const { 'test-id': testId } = JSON.parse(call.out) as Record<string, string>
    assert.equal((await at.status(testId!)).bucket, 's3://bucket/tests')
  })

  test('waits until it has ended, and ends as it did', async () => {
    for (const [result, code] of [
      [PASSED, 0],
      [FAILED, 1],
    ] as const) {
      await using at = await desk()
      at.fakes.onRun = (begun) => begun.finish(result)
      const call = callOf(at, { clock: hurried(() => undefined) })
      assert.equal(await startTest(call, '/bundles/a', { waits: true }), code)
    }
  })
})

describe('test status, list, watch and cancel', () => {
  test('say where a test is', async () => {
    await using at = await desk()
    const testId = await at.startedOver()
    const call = callOf(at)
    assert.equal(await showTest(call, testId), 0)
    assert.equal(call.out, `${testId}  Testing\n`)
    const waiting = await at.startedOver()
    const next = callOf(at)
    await showTest(next, waiting)
    assert.equal(next.out, `${waiting}  Loaded, number 1 in line\n`)
    const started = callOf(at)
    await startTest(started, '/bundles/b', { waits: false })
    assert.match(started.out, / is number 2 in line\n$/)
    const why = fault('bad-steps', 'no such file', { remedy: 'mend it' })
    at.fakes.runOf(testId).fail(new Accident(why))
    await at.settle()
    const over = callOf(at)
    await showTest(over, testId)
    assert.equal(
      over.out,
      `${testId}  Exception, errored\nbad-steps: no such file\nwhat to do: mend it\nlog: http://here/api/v1/test/${testId}/evidence/run.log\n`,
    )
  })

  test('refuse a test that is not there, with what the server says', async () => {
    await using at = await desk()
    const call = callOf(at)
    await assert.rejects(showTest(call, '00000000-0000-4000-8000-000000000000'), /there is no test/)
  })

  test('refuse what is no id with what an id is', async () => {
    const said: Said = { out: '', err: '' }
    assert.equal(await run(['test', 'cancel', 'nix'], ioOf(said)), 2)
    assert.match(said.err, /^bad-usage: nix is not the id of a test\nwhat to do: an id is a UUID/)
  })

  test('bring evidence to a directory, and no file to anywhere else', async () => {
    await using at = await desk()
    const testId = await at.startedOver()
    at.fakes.runOf(testId).finish()
    await at.settle()
    const listed = callOf(at)
    assert.equal(await showEvidence(listed, testId, undefined), 0)
    const { body } = await at.ask('GET', `/api/v1/test/${testId}/evidence`)
    const files = body['files'] as readonly Readonly<{ name: string; bytes: number }>[]
    assert.ok(files.length > 0)
    assert.equal(listed.out, files.map(({ name, bytes }) => `${name}  ${bytes} bytes\n`).join(''))
    using home = directory({})
    assert.equal(await showEvidence(callOf(at), testId, join(home.path, 'new')), 0)
    for (const { name, bytes } of files)
      assert.equal(readFileSync(join(home.path, 'new', name)).length, bytes)
    for (const name of ['../out', '/etc/x', '.hidden', 'a/b', '..', '']) {
      const call = callOf(at)
      const server = { ...call.server, ask: async () => ({ files: [{ name, bytes: 1 }] }) }
      const asked = showEvidence({ ...call, server }, testId, join(home.path, 'bad'))
      await assert.rejects(asked, { code: 'server-refused' })
    }
    assert.deepEqual(readdirSync(home.path), ['new'])
  })

  test('list what was asked for', async () => {
    await using at = await desk()
    const call = callOf(at)
    await listTests(call, {})
    assert.equal(call.out, 'there are no tests\n')
    const testId = await at.startedOver()
    at.fakes.runOf(testId).finish()
    await at.settle()
    const other = await at.begun()
    const all = callOf(at)
    assert.equal(await listTests(all, { outcome: 'passed' }), 0)
    assert.equal(all.out, `${testId}  Completed, passed  /bundles/a  2026-01-01T00:00:00.000Z\n`)
    assert.ok(!all.out.includes(other))
    const first = callOf(at)
    await listTests(first, { limit: 1 })
    const [, after] = /^there may be more: --after (\S+)$/m.exec(first.out) ?? []
    const rest = callOf(at)
    await listTests(rest, { limit: 1, after })
    const shown = [first.out, rest.out].map((out) => out.slice(0, testId.length))
    assert.deepEqual(shown.toSorted(), [testId, other].toSorted())
    assert.doesNotMatch(all.out, /there may be more/)
  })

  test('show how a test goes until it has ended', async () => {
    await using at = await desk()
    const testId = await at.startedOver()
    let looks = 0
    const clock = hurried(() => {
      looks++
      if (looks === 2) at.fakes.runOf(testId).finish(FAILED)
    })
    const call = callOf(at, { clock })
    assert.equal(await watchTest(call, testId), 1)
    assert.match(call.err, /Testing[\s\S]*Completed, failed/)
    assert.match(call.out, /^features\/a\.feature:3 {2}a\n {2}expected 1, got 2\n2 scenarios: /)
  })

  test('cancel, and end with 1 where there is nothing to cancel any more', async () => {
    await using at = await desk()
    const running = await at.startedOver()
    const call = callOf(at)
    assert.equal(await cancelTest(call, running), 0)
    assert.equal(call.out, `${running} is cancelled\n`)
    const over = await at.startedOver()
    await at.settle()
    at.fakes.runOf(over).finish()
    await at.settle()
    const late = callOf(at)
    assert.equal(await cancelTest(late, over), 1)
    assert.match(late.out, /^not cancelled: Test already completed/)
  })
})

describe('test validate', () => {
  test('finds nothing wrong with a good bundle, and ends with 0', async () => {
    using bundle = directory({ 'features/a.feature': FEATURE })
    const said: Said = { out: '', err: '' }
    assert.equal(await validateBundle({ json: false, io: ioOf(said) }, bundle.path), 0)
    assert.equal(said.out, 'nothing is wrong; feature files: 1, topics: 0\n')
  })

  test('says everything that is wrong with file and line, and ends with 1', async () => {
    using bundle = directory({
      'features/a.feature': 'Feature: A\n  Scenario: x\n    Given a\n    Gibberish\n',
      'topic-directive.yaml': 'topics:\n  - { topic: orders, role: reader }\ncolour: blue\n',
    })
    const said: Said = { out: '', err: '' }
    assert.equal(await validateBundle({ json: false, io: ioOf(said) }, bundle.path), 1)
    assert.match(said.out, /topic-directive\.yaml:2: .*role/)
    assert.match(said.out, /topic-directive\.yaml:3: .*colour/)
    assert.match(said.out, /features\/a\.feature:4: /)
  })
})

describe('what a test is said to have come to', () => {
  test('is 0 where it passed, 1 where it failed, 2 where it could not be run', () => {
    const codes = ['passed', 'failed', 'errored', 'cancelled', 'timed-out', 'interrupted'].map(
      (outcome) => exitCodeOf({ outcome }),
    )
    assert.deepEqual(codes, [0, 1, 2, 2, 2, 2])
  })

  test('names failed scenarios with their places, counts, and where the report is', () => {
    assert.equal(
      resultText({ outcome: 'failed', result: FAILED }, 'file:///e/'),
      'features/a.feature:3  a\n  expected 1, got 2\n2 scenarios: 1 passed, 1 failed (0.0 s)\nfailed\nreport: file:///e/report.html',
    )
    assert.equal(
      resultText(
        { outcome: 'errored', error: 'no file', errorCode: 'bad-steps', errorRemedy: 'mend it' },
        'file:///e/',
      ),
      'bad-steps: no file\nwhat to do: mend it\nerrored\nlog: file:///e/run.log',
    )
    const none = { ...FAILED, failedScenarios: [], errorMessage: 'no scenario matches the tags @a' }
    assert.match(
      resultText({ outcome: 'failed', result: none }),
      /\nno scenario matches the tags @a\nfailed$/,
    )
    assert.equal(
      resultText({ outcome: 'passed', evidence: 'pending' }),
      'its evidence could not be stored\npassed',
    )
  })
})

describe('secret', () => {
  test('without a file for secrets is refused with what to set', async () => {
    const said: Said = { out: '', err: '' }
    assert.equal(await run(['secret', 'list'], ioOf(said)), 2)
    assert.match(said.err, /bad-usage: no file of secrets[\s\S]*probe\.secrets\.file/)
  })

  test('takes fields that are texts, from a file, and never shows one', async () => {
    using home = directory({ 'good.json': '["hunter2"]', 'number.json': '{"password": 12345678}' })
    const environment = {
      FLYTOWER_PROBE_SECRETS_FILE: join(home.path, 'secrets.json'),
      FLYTOWER_SECRETS_PASSPHRASE: 'three words and a number',
    }
    for (const file of ['good.json', 'number.json', 'none.json']) {
      const said: Said = { out: '', err: '' }
      const io = ioOf(said, { environment, directory: home.path })
      assert.equal(await run(['secret', 'put', 'svc', '--from', file], io), 2)
      assert.match(said.err, /unreadable-file/)
      assert.doesNotMatch(said.err, /hunter2|12345678/)
    }
  })
})
