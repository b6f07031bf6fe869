/** What the routes of the orchestrator answer when they grant what is asked. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { desk, NOBODY, type Desk } from '../../../test/probe/desk.ts'
import { FAILED, FILES, PASSED } from '../../../test/probe/fakes.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

const statusPath = (testId: string): string => `/api/v1/test/${testId}/status`

async function finished(at: Desk, result = PASSED): Promise<string> {
  const testId = await at.startedOver({ 'test-type': 'smoke' })
  at.fakes.runOf(testId).finish(result)
  await at.settle()
  return testId
}

describe('POST /api/v1/test/initialize', () => {
  test('needs no body, and gives an id with 201', async () => {
    await using at = await desk()
    const { status, headers, body } = await at.ask('POST', '/api/v1/test/initialize')
    assert.equal(status, 201)
    assert.equal(headers['content-type'], 'application/json')
    assert.deepEqual(Object.keys(body), ['test-id', 'message'])
    assert.match(String(body['test-id']), UUID)
    assert.equal(body['message'], 'Test initialized')
  })

  test('gives everybody another id, also at the same time', async () => {
    await using at = await desk()
    const asked = Array.from({ length: 50 }, () =>
      at.beginAsking('POST', '/api/v1/test/initialize'),
    )
    const answers = await Promise.all(
      (await Promise.all(asked)).map(({ answer }) => at.town.until(answer)),
    )
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
    assert.equal(new Set(answers.map(({ body }) => body['test-id'])).size, 50)
  })

  test('gives the same test to the same request id', async () => {
    await using at = await desk()
    const body = { 'request-id': 'ci-7' }
    const first = await at.ask('POST', '/api/v1/test/initialize', body)
    const again = await at.ask('POST', '/api/v1/test/initialize', body)
    assert.deepEqual([first.status, again.status], [201, 201])
    assert.equal(again.body['test-id'], first.body['test-id'])
  })
})

describe('POST /api/v1/test/start', () => {
  test('is accepted with 202, and says where the test stands', async () => {
    await using at = await desk()
    const testId = await at.begun()
    const { status, body } = await at.ask('POST', '/api/v1/test/start', {
      'test-id': testId,
      'block-storage-path': '  s3://bucket/tests  ',
      'test-type': 'smoke',
    })
    assert.equal(status, 202)
    assert.deepEqual(body, {
      'test-id': testId,
      accepted: true,
      'test-type': 'smoke',
      message: 'Test loading initiated',
      position: 1,
    })
    const { body: seen } = await at.ask('GET', statusPath(testId))
    assert.equal(seen['bucket'], 's3://bucket/tests')
  })

  test('without a type answers without one', async () => {
    await using at = await desk()
    const testId = await at.begun()
    const { body } = await at.ask('POST', '/api/v1/test/start', {
      'test-id': testId,
      'block-storage-path': '/bundles/a',
    })
    assert.ok(!('test-type' in body))
  })

  test('takes tags, a priority, names to hold alone and a dry run', async () => {
    await using at = await desk()
    const testId = await at.startedOver({
      tags: '@smoke',
      priority: 9,
      exclusive: ['orders'],
      'dry-run': true,
    })
    assert.deepEqual(
      { tags: at.fakes.runOf(testId).job.tags, isDryRun: at.fakes.runOf(testId).job.isDryRun },
      { tags: '@smoke', isDryRun: true },
    )
    const { body } = await at.ask('GET', statusPath(testId))
    assert.equal(body['priority'], 9)
  })
})

describe('GET /api/v1/test/{testId}/status', () => {
  test('in Setup has what is known, and nothing is null', async () => {
    await using at = await desk()
    const testId = await at.begun()
    const { status, body, text } = await at.ask('GET', statusPath(testId))
    assert.equal(status, 200)
    assert.match(String(body['created-at']), ISO)
    assert.deepEqual(body, {
      'test-id': testId,
      state: 'Setup',
      'created-at': body['created-at'],
      by: 'ada',
      priority: 0,
      attempt: 0,
      evidence: 'none',
    })
    assert.ok(!text.includes('null'))
  })

  test('in Testing has a start and how far it is', async () => {
    await using at = await desk()
    const testId = await at.startedOver()
    at.fakes.runOf(testId).hooks.onProgress?.({
      scenarios: 4,
      scenariosDone: 1,
      scenariosFailed: 1,
      step: 'I wait',
    })
    await at.settle()
    const { body } = await at.ask('GET', statusPath(testId))
    assert.equal(body['state'], 'Testing')
    assert.match(String(body['start-time']), ISO)
    assert.deepEqual(body['progress'], {
      scenarios: 4,
      'scenarios-done': 1,
      'scenarios-failed': 1,
      step: 'I wait',
    })
    for (const absent of ['end-time', 'success', 'error', 'outcome']) assert.ok(!(absent in body))
  })

  test('in Completed has both times, success and the counts', async () => {
    await using at = await desk()
    const testId = await finished(at)
    const { body } = await at.ask('GET', statusPath(testId))
    const { state, outcome, success, 'test-type': type } = body
    assert.deepEqual([state, outcome, success, type], ['Completed', 'passed', true, 'smoke'])
    assert.match(String(body['end-time']), ISO)
    assert.deepEqual(body['result'], {
      passed: true,
      'scenario-count': 2,
      'scenarios-passed': 2,
      'scenarios-failed': 0,
      'scenarios-skipped': 0,
      'step-count': 6,
      'steps-passed': 6,
      'steps-failed': 0,
      'steps-skipped': 0,
      'steps-undefined': 0,
      'duration-millis': 12,
      'failed-scenarios': [],
    })
    assert.ok(!('error' in body))
  })

  test('of a test whose scenarios failed says so, and is no error', async () => {
    await using at = await desk()
    const testId = await finished(at, FAILED)
    const { body } = await at.ask('GET', statusPath(testId))
    assert.deepEqual(
      [body['state'], body['outcome'], body['success']],
      ['Completed', 'failed', false],
    )
    assert.deepEqual(
      (body['result'] as Record<string, unknown>)['failed-scenarios'],
      FAILED.failedScenarios,
    )
  })

  test('in Exception has the error, and no times where it never ran', async () => {
    await using at = await desk()
    at.fakes.onFetch = async () => Promise.reject(new Error('the bucket is gone'))
    const testId = await at.startedOver()
    const { body } = await at.ask('GET', statusPath(testId))
    assert.equal(body['state'], 'Exception')
    assert.match(String(body['error']), /the bucket is gone/)
    assert.equal(body['outcome'], 'errored')
    for (const absent of ['start-time', 'result']) assert.ok(!(absent in body), absent)
  })
})

describe('GET /api/v1/queue/status', () => {
  test('counts the tests by state, and the counts add up', async () => {
    await using at = await desk()
    await at.begun()
    const running = await at.startedOver()
    await at.startedOver()
    const { status, body } = await at.ask('GET', '/api/v1/queue/status')
    assert.equal(status, 200)
    assert.deepEqual(body, {
      'total-tests': 3,
      'setup-count': 1,
      'loading-count': 0,
      'loaded-count': 1,
      'testing-count': 1,
      'completed-count': 0,
      'exception-count': 0,
      'currently-testing': running,
      testing: [running],
      pending: 1,
      slots: 1,
      mode: 'open',
    })
  })

  test('without anything running names nobody', async () => {
    await using at = await desk()
    const { body } = await at.ask('GET', '/api/v1/queue/status')
    assert.ok(!('currently-testing' in body))
  })

  test('also says where the test stands that was asked for', async () => {
    await using at = await desk()
    await at.startedOver()
    const waiting = await at.startedOver()
    const { body } = await at.ask('GET', `/api/v1/queue/status?testId=${waiting}`)
    const standing = body['test'] as Record<string, unknown>
    assert.deepEqual(
      [standing['test-id'], standing['state'], standing['position']],
      [waiting, 'Loaded', 1],
    )
  })
})

describe('DELETE /api/v1/test/{testId}', () => {
  test('cancels in every state that has not ended', async () => {
    await using at = await desk()
    const setup = await at.begun()
    const testing = await at.startedOver()
    const loaded = await at.startedOver()
    for (const testId of [setup, loaded, testing]) {
      const { status, body } = await at.ask('DELETE', `/api/v1/test/${testId}`)
      assert.deepEqual([status, body['test-id'], body['cancelled']], [200, testId, true])
      const { body: seen } = await at.ask('GET', statusPath(testId))
      assert.equal(seen['outcome'], 'cancelled')
    }
  })

  test('leaves one that has ended as it is, with 200 and why', async () => {
    await using at = await desk()
    const testId = await finished(at)
    const { status, body } = await at.ask('DELETE', `/api/v1/test/${testId}`)
    assert.equal(status, 200)
    assert.deepEqual(body, {
      'test-id': testId,
      cancelled: false,
      message: 'Test already completed, cannot cancel',
    })
  })
})

describe('GET /api/v1/health', () => {
  test('is healthy for anybody while the queue answers', async () => {
    await using at = await desk()
    const { status, body } = await at.ask('GET', '/api/v1/health', undefined, { permissions: null })
    assert.equal(status, 200)
    const { timestamp } = body
    assert.equal(timestamp, at.town.clock.now())
    assert.deepEqual(body, { status: 'healthy', actorSystem: 'running', timestamp })
  })

  test('is 503 with the reason when it does not', async () => {
    await using at = await desk()
    await at.town.until(at.probe.close())
    const { status, body } = await at.ask('GET', '/api/v1/health')
    assert.equal(status, 503)
    assert.deepEqual([body['status'], body['actorSystem']], ['unhealthy', 'unavailable'])
    assert.match(String(body['error']), /closed/)
    assert.equal(typeof body['timestamp'], 'number')
  })
})

describe('what goes beyond the first API', () => {
  test('tests are listed, the latest first, by what was asked for, a page at a time', async () => {
    await using at = await desk()
    const first = await finished(at)
    await at.town.advance(1_000)
    const second = await finished(at, FAILED)
    await at.town.advance(1_000)
    const third = await at.begun()
    const ids = async (query: string): Promise<unknown[]> => {
      const { body } = await at.ask('GET', `/api/v1/tests${query}`)
      return (body['tests'] as Record<string, unknown>[]).map((each) => each['test-id'])
    }
    assert.deepEqual(await ids(''), [third, second, first])
    assert.deepEqual(await ids('?state=Completed'), [second, first])
    assert.deepEqual(await ids('?outcome=failed'), [second])
    assert.deepEqual(await ids('?test-type=smoke'), [second, first])
    assert.deepEqual(await ids(`?text=${first}`), [first])
    const { body: page } = await at.ask('GET', '/api/v1/tests?limit=2')
    assert.equal((page['tests'] as unknown[]).length, 2)
    assert.deepEqual(await ids(`?limit=2&after=${String(page['next'])}`), [first])
  })

  test('history has every event with its time', async () => {
    await using at = await desk()
    const testId = await finished(at)
    const { body } = await at.ask('GET', `/api/v1/test/${testId}/history`)
    const events = body['events'] as Record<string, unknown>[]
    assert.deepEqual(
      events.map(({ type }) => type),
      ['initialized', 'started', 'loaded', 'testing', 'result-kept', 'completed'],
    )
    for (const { at: when } of events) assert.match(String(when), ISO)
    assert.match(String(events[0]!['deadline-at']), ISO)
  })

  test('events come as lines, or as server-sent events that go on after the last', async () => {
    await using at = await desk()
    const testId = await finished(at)
    const url = `/api/v1/events?testId=${testId}&after=0&limit=3`
    const lines = await at.ask('GET', url)
    assert.equal(lines.headers['content-type'], 'application/x-ndjson')
    const read = lines.text
      .trim()
      .split('\n')
      .map((line): Record<string, unknown> => JSON.parse(line))
    assert.deepEqual(
      read.map(({ event }) => (event as Record<string, unknown>)['type']),
      ['initialized', 'started', 'loaded'],
    )
    const accept = { accept: 'text/event-stream' }
    const events = await at.ask('GET', url, undefined, { headers: accept })
    assert.match(events.text, /^id: \d+\nevent: initialized\ndata: \{"test-id"/)
    const after = await at.ask('GET', `/api/v1/events?testId=${testId}&limit=1`, undefined, {
      headers: { ...accept, 'last-event-id': String(read[0]!['position']) },
    })
    assert.match(after.text, /^id: \d+\nevent: started\n/)
  })

  test('evidence is listed with sizes and hashes, and each file can be had', async () => {
    await using at = await desk()
    const testId = await finished(at)
    const { body } = await at.ask('GET', `/api/v1/test/${testId}/evidence`)
    assert.deepEqual(body, { files: FILES })
    const file = await at.ask('GET', `/api/v1/test/${testId}/evidence/cucumber.json`)
    assert.deepEqual([file.status, file.text], [200, '[]'])
    assert.equal(file.headers['content-type'], 'application/json')
    assert.match(file.headers['content-security-policy'] ?? '', /sandbox/)
  })

  test('a bundle is brought, and its path is what the test is started with', async () => {
    await using at = await desk()
    const testId = await at.begun()
    const brought = await at.ask('PUT', `/api/v1/test/${testId}/bundle`, Buffer.from('PK'), {
      headers: { 'content-type': 'application/zip' },
    })
    assert.equal(brought.status, 201)
    assert.deepEqual(brought.body, {
      'test-id': testId,
      'block-storage-path': `upload:${testId}`,
    })
  })

  test('a test that has ended is run again as a further attempt', async () => {
    await using at = await desk()
    const testId = await finished(at, FAILED)
    const { status, body } = await at.ask('POST', `/api/v1/test/${testId}/retry`)
    assert.deepEqual([status, body['accepted']], [202, true])
    await at.settle()
    at.fakes.runOf(testId).finish(PASSED)
    await at.settle()
    const { body: seen } = await at.ask('GET', statusPath(testId))
    assert.deepEqual([seen['attempt'], seen['outcome']], [2, 'passed'])
  })

  test('a test is given more time', async () => {
    await using at = await desk({ settings: { setupMs: 60_000 } })
    const testId = await at.begun()
    const { status, body } = await at.ask('POST', `/api/v1/test/${testId}/extend`, { ms: 60_000 })
    assert.equal(status, 200)
    assert.match(String(body['deadline-at']), ISO)
    await at.town.advance(90_000)
    const { body: seen } = await at.ask('GET', statusPath(testId))
    assert.equal(seen['state'], 'Setup')
  })

  test('the queue is paused, opened and drained', async () => {
    await using at = await desk()
    const mode = async (word: string): Promise<unknown> =>
      (await at.ask('PUT', '/api/v1/queue/mode', { mode: word })).body
    assert.deepEqual(await mode('paused'), { mode: 'paused', running: 0 })
    const waiting = await at.startedOver()
    const { body } = await at.ask('GET', statusPath(waiting))
    assert.equal(body['state'], 'Loaded')
    assert.deepEqual(await mode('open'), { mode: 'open', running: 0 })
    await at.settle()
    at.fakes.runOf(waiting).finish()
    await at.settle()
    assert.deepEqual(await mode('draining'), { mode: 'draining', running: 0 })
  })

  test('a drain that takes long says how many still run', async () => {
    await using at = await desk()
    await at.startedOver()
    const { answer } = await at.beginAsking('PUT', '/api/v1/queue/mode', { mode: 'draining' })
    await at.town.advance(26_000)
    assert.deepEqual((await at.town.until(answer)).body, { mode: 'draining', running: 1 })
  })

  test('nobody’s test is nobody’s', async () => {
    await using at = await desk()
    for (const [method, path, body] of [
      ['GET', 'status'],
      ['GET', 'history'],
      ['GET', 'evidence'],
      ['GET', 'evidence/report.html'],
      ['POST', 'retry'],
      ['POST', 'extend', { ms: 1 }],
    ] as const) {
      const told = await at.ask(method, `/api/v1/test/${NOBODY}/${path}`, body)
      assert.deepEqual([told.status, told.body['error']], [404, 'not_found'], path)
    }
  })
})
