/**
 * Weaknesses that APIs of this kind are known to have, each shown to be absent. The comment on a test says which
 * line, when it is taken away, makes it fail. O1 is in `access.test.ts`, O8 and O9 are in `src/server/`.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { desk, NOBODY } from '../../../test/probe/desk.ts'
import { fault } from '../../std/index.ts'
import { createProbe } from '../create-probe.ts'

const START = '/api/v1/test/start'

describe('weaknesses of the API', () => {
  // Without its line in `probeRoutes` (routes.ts) any of these is 404 `no-such-route`.
  test('probe-O2: tests can be listed, looked back at, followed and brought, and evidence had', async () => {
    await using at = await desk()
    const testId = await at.begun()
    const zip = { headers: { 'content-type': 'application/zip' } }
    const brought = await at.ask('PUT', `/api/v1/test/${testId}/bundle`, Buffer.from('PK'), zip)
    assert.equal(brought.status, 201)
    const body = { 'test-id': testId, 'block-storage-path': brought.body['block-storage-path'] }
    assert.equal((await at.ask('POST', START, body)).status, 202)
    await at.settle()
    const live = await at.beginAsking('GET', `/api/v1/events?testId=${testId}&limit=1`)
    at.fakes.runOf(testId).hooks.onProgress?.({
      scenarios: 2,
      scenariosDone: 1,
      scenariosFailed: 0,
      step: undefined,
    })
    assert.match((await at.town.until(live.answer)).text, /"progress":\{"scenarios":2/)
    at.fakes.runOf(testId).finish()
    await at.settle()
    for (const url of [
      '/api/v1/tests',
      `/api/v1/test/${testId}/history`,
      `/api/v1/test/${testId}/evidence`,
      `/api/v1/test/${testId}/evidence/cucumber.json`,
    ])
      assert.equal((await at.ask('GET', url)).status, 200, url)
  })

  // Without `'retry-after'` in `bodyOf` (refusing.ts) the header is missing; without a row of PROBE_REFUSALS, or
  // `refuse` of a route, such a fault is 500 or problem+json; without `testParams` and `queueQuery` a bad id is 404.
  test('probe-O3: every endpoint refuses alike: one body, a header to come back by, no 500', async () => {
    const gone = fault('probe-unavailable', 'the queue is being brought back')
    const refuse = async (): Promise<typeof gone> => gone
    await using at = await desk({
      instead: { status: refuse, queueStatus: refuse, cancel: refuse, initialize: refuse },
    })
    for (const [method, url] of [
      ['GET', `/api/v1/test/${NOBODY}/status`],
      ['GET', '/api/v1/queue/status'],
      ['DELETE', `/api/v1/test/${NOBODY}`],
      ['POST', '/api/v1/test/initialize'],
    ] as const) {
      const { status, headers, body } = await at.ask(method, url)
      assert.deepEqual([status, body['error'], body['retryAfter']], [503, 'not_ready', '5s'], url)
      assert.equal(headers['retry-after'], '5')
    }
    for (const url of ['/api/v1/test/seven/status', '/api/v1/queue/status?testId=seven']) {
      const { status, headers, body } = await at.ask('GET', url)
      assert.deepEqual([status, body['error']], [400, 'bad_request'])
      assert.equal(headers['content-type'], 'application/json')
    }
  })

  // Without `...(testType !== undefined && …)` in `startedReply` the type is there when it was not given; without
  // `refusals` of a route the desk finds an answer that its documentation does not know.
  test('probe-O4: the API keeps what its documents promise', async () => {
    await using at = await desk()
    const testId = await at.begun()
    const body = { 'test-id': testId, 'block-storage-path': '/bundles/a' }
    const started = await at.ask('POST', START, body)
    assert.ok(!('test-type' in started.body))
    await at.settle()
    const again = await at.ask('POST', START, { ...body, 'block-storage-path': '/bundles/b' })
    assert.equal(again.body['accepted'], false, 'a start can be rejected')
    const { body: queue } = await at.ask('GET', `/api/v1/queue/status?testId=${testId}`)
    assert.equal((queue['test'] as Record<string, unknown>)['test-id'], testId)
    const { body: cancelled } = await at.ask('DELETE', `/api/v1/test/${testId}`)
    assert.equal(cancelled['cancelled'], true, 'a test that runs can be cancelled')
  })

  // Without `tally.outcomes[outcome]++` or `countRun` (noticing.ts), or a count of `metricsOf`, the figures stay.
  test('probe-O5: what happens is counted', async () => {
    await using at = await desk({ settings: { depth: 1 } })
    const first = await at.startedOver()
    await at.town.advance(2_000)
    at.fakes.runOf(first).finish()
    await at.settle()
    await at.startedOver()
    await at.startedOver()
    const fourth = await at.begun()
    await at.ask('POST', START, { 'test-id': fourth, 'block-storage-path': '/bundles/a' })
    const { initialized, started, refused, outcomes, testing, pending } = at.probe.metrics()
    assert.deepEqual(
      { initialized, started, refused, passed: outcomes.passed, testing, pending },
      { initialized: 4, started: 3, refused: 1, passed: 1, testing: 1, pending: 1 },
    )
    const { buckets, count } = at.probe.metrics().runSeconds
    assert.deepEqual([buckets[0], buckets[1], count], [[1, 0], [2.5, 1], 1])
  })

  // Without `onStop` of the child `cucumber` the run goes on when its server has ended.
  test('probe-O6: a server that ends takes its runs with it, in time, and knows them again', async () => {
    await using at = await desk({ settings: { graceMs: 500 } })
    const testId = await at.startedOver()
    const run = at.fakes.runOf(testId)
    await at.restart()
    assert.ok(run.isOver, 'the run has ended before the server had')
    await at.settle()
    const status = await at.status(testId)
    assert.deepEqual([status.state, status.attempt], ['Testing', 2])
  })

  // Without `takeFence` in `createProbe` both would write, and both would run the test.
  test('probe-O7: of two servers on one store only the one that came last goes on', async () => {
    await using at = await desk()
    await at.startedOver()
    const { ports } = at.fakes
    const { system } = at.town
    const other = await at.town.until(
      createProbe({ system, journal: at.journal, ports, name: 'other' }),
    )
    const { status, body } = await at.ask('POST', '/api/v1/test/initialize')
    assert.deepEqual([status, body['code']], [503, 'probe-closed'])
    await at.settle()
    assert.equal(at.fakes.running, 1)
    await at.town.until(other.close())
  })
})
