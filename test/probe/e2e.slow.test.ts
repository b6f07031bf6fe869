/**
 * Tests from the request to the evidence, by a real server and real processes: how each kind of end is
 * told, what it leaves behind, and what it does not.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import { until } from '../acceptance/until.ts'
import { doing, E2E_MS_MAX, station, testingMs, type Station } from './e2e.ts'
import { processesOf } from './running.ts'
import { zipOf } from './zips.ts'

const EVIDENCE = [
  'cucumber.json',
  'junit.xml',
  'messages.ndjson',
  'metadata.json',
  'report.html',
  'run.log',
]

const MIXED = {
  'features/mixed.feature': `Feature: mixed
  Scenario: passes
    Given it passes
  Scenario: fails
    Given it fails
    Then it passes
  Scenario: nobody has written it
    Given nobody has written this
  Scenario Outline: <n> is odd
    Given <n> is odd
    Examples:
      | n |
      | 1 |
      | 2 |
      | 3 |
`,
  'steps/mixed.ts': `import { Given, Then } from 'flytower/steps'
type Odd = Readonly<{ n: number }>
Given('it passes', () => { console.log('said by a step') })
Given('it fails', () => { throw new Error('as it should') })
Given('{int} is odd', (n: number) => { const odd: Odd = { n }; if (odd.n % 2 === 0) throw new Error('even') })
`,
}

const AT_ONCE = { timeout: E2E_MS_MAX } as const

describe('a server that runs tests', () => {
  let at: Station
  before(async () => (at = await station({ 'probe.slots': 2 })))
  after(() => at[Symbol.asyncDispose]())

  test(
    'a bundle that was sent passes, and its events are seen from first to last',
    AT_ONCE,
    async () => {
      const testId = await at.initialize()
      const archive = zipOf(
        Object.entries(doing("console.log('said by a step')")).map(([name, data]) => ({
          name,
          data,
        })),
      )
      const sent = await fetch(`${at.url}/api/v1/test/${testId}/bundle`, {
        method: 'PUT',
        headers: { 'content-type': 'application/zip' },
        body: new Uint8Array(archive),
      })
      const { 'block-storage-path': path } = (await sent.json()) as Record<string, string>
      assert.equal(sent.status, 201)
      await at.ask('POST', '/api/v1/test/start', { 'test-id': testId, 'block-storage-path': path })

      const status = await at.ended(testId)
      assert.partialDeepStrictEqual(status, {
        state: 'Completed',
        outcome: 'passed',
        success: true,
        attempt: 1,
        evidence: 'stored',
        result: {
          passed: true,
          'scenario-count': 1,
          'scenarios-passed': 1,
          'step-count': 1,
          'steps-passed': 1,
          'failed-scenarios': [],
        },
      })
      assert.deepEqual(at.eventsOf(testId), [
        'initialized',
        'extended',
        'started',
        'loaded',
        'testing',
        'result-kept',
        'completed',
      ])
      assert.ok(at.changes.some(({ data }) => data['step'] === 'it happens'))

      const files = await at.evidence(testId)
      assert.deepEqual([...files.keys()].toSorted(), EVIDENCE)
      assert.match(String(files.get('run.log')), /said by a step/)
      await at.tidied()
    },
  )

  test('scenarios that fail and steps that nobody has written are counted', AT_ONCE, async () => {
    const testId = await at.start(at.bundle(MIXED))
    const status = await at.ended(testId)
    assert.equal(status.outcome, 'failed')
    assert.equal(status['success'], false)
    assert.partialDeepStrictEqual(status.result, {
      passed: false,
      'scenario-count': 6,
      'scenarios-passed': 3,
      'scenarios-failed': 3,
      'scenarios-skipped': 0,
      'step-count': 7,
      'steps-passed': 3,
      'steps-failed': 2,
      'steps-skipped': 1,
      'steps-undefined': 1,
    })
    const failed = status.result!['failed-scenarios'] as { location: string; error: string }[]
    assert.deepEqual(
      failed.map(({ location }) => location),
      ['features/mixed.feature:4', 'features/mixed.feature:7', 'features/mixed.feature:14'],
    )
    assert.match(failed[0]!.error, /as it should/)
    assert.match(failed[1]!.error, /nobody has written this/)
    const files = await at.evidence(testId)
    assert.deepEqual([...files.keys()].toSorted(), EVIDENCE)
    assert.match(String(files.get('junit.xml')), /tests="6" failures="3"/)
    await at.tidied()
  })

  test(
    'steps that hang are ended at the deadline, whether they wait or loop',
    AT_ONCE,
    async () => {
      // What a run takes here and now; the deadline has to be long enough for a step to be reached.
      const usual = await at.ended(await at.start(at.bundle(doing(''))))
      const deadlineMs = 2_000 + 4 * Number(usual.result!['duration-millis'])
      const bodies = ['await new Promise(() => undefined)', 'for (;;);']
      const ids = await Promise.all(
        bodies.map((body) =>
          at.start(at.bundle(testingMs(doing(body, '{ timeout: -1 }'), deadlineMs))),
        ),
      )
      for (const testId of ids) {
        await at.reaches(testId, 'it happens')
        const status = await at.ended(testId)
        assert.partialDeepStrictEqual(status, {
          state: 'Exception',
          outcome: 'timed-out',
          success: false,
          'error-code': 'test-overdue',
          evidence: 'stored',
        })
        const files = await at.evidence(testId)
        assert.deepEqual([...files.keys()].toSorted(), EVIDENCE)
        assert.deepEqual(processesOf(testId), [])
      }
      await at.tidied()
    },
  )

  test('steps that end their process have not passed', AT_ONCE, async () => {
    const testId = await at.start(at.bundle(doing('process.exit(0)')))
    const status = await at.ended(testId)
    assert.partialDeepStrictEqual(status, {
      state: 'Exception',
      outcome: 'errored',
      success: false,
      'error-kind': 'cucumber',
      evidence: 'stored',
    })
    assert.match(status.error!, /ended/)
    const files = await at.evidence(testId)
    assert.deepEqual([...files.keys()].toSorted(), EVIDENCE)
    assert.doesNotMatch(String(files.get('junit.xml')), /failures="0" errors="0"/)
    await at.tidied()
  })

  test(
    'evidence that a later test has replaced is not given out as that of the first',
    AT_ONCE,
    async () => {
      const bundle = at.bundle(doing(''))
      const first = await at.start(bundle)
      const second = await at.start(bundle)
      for (const testId of [first, second])
        assert.equal((await at.ended(testId)).outcome, 'passed', testId)
      const given: string[] = []
      for (const testId of [first, second]) {
        const response = await fetch(`${at.url}/api/v1/test/${testId}/evidence/metadata.json`)
        const text = await response.text()
        if (response.status === 404) continue
        assert.match(text, new RegExp(testId))
        given.push(testId)
      }
      assert.equal(given.length, 1)
      await at.tidied()
    },
  )

  test('a test that is cancelled while it loops leaves no process', AT_ONCE, async () => {
    const testId = await at.start(at.bundle(doing('for (;;);', '{ timeout: -1 }')))
    await at.reaches(testId, 'it happens')
    assert.notDeepEqual(processesOf(testId), [])
    const cancelled = await at.ask('DELETE', `/api/v1/test/${testId}`)
    assert.equal(cancelled['cancelled'], true)
    const status = await at.ended(testId)
    assert.equal(status.outcome, 'cancelled')
    await until('its processes are gone', E2E_MS_MAX, () => processesOf(testId).length === 0)
    await at.tidied()
    const { files } = await at.ask('GET', `/api/v1/test/${testId}/evidence`)
    const names = (files as readonly { name: string }[]).map(({ name }) => name)
    assert.ok(names.includes('run.log') && names.includes('messages.ndjson'), names.join(' '))
  })
})
