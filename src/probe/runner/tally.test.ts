import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { ERROR_CHARACTERS_MAX, FAILED_SCENARIOS_MAX, Tally } from './tally.ts'

type Scenario = Readonly<{
  id: string
  name?: string
  /** Of one step, or of several. */
  ends: readonly string[]
  /** The first of its steps is a hook. */
  hasHook?: boolean
}>

function told(tally: Tally, scenarios: readonly Scenario[], success = true): Tally {
  tally.add({ source: { uri: 'a.feature' } })
  for (const { id, name = 'all the same', ends, hasHook = false } of scenarios) {
    const steps = ends.map((_status, n) => ({ id: `${id}-${n}`, text: `step ${n}` }))
    tally.add({
      pickle: { id: `p${id}`, name, uri: 'a.feature', location: { line: 7 }, steps },
    })
    const testSteps = steps.map(({ id: step }, n) =>
      hasHook && n === 0 ? { id: `t${step}` } : { id: `t${step}`, pickleStepId: step },
    )
    tally.add({ testCase: { id, pickleId: `p${id}`, testSteps } })
  }
  for (const { id, ends } of scenarios) run(tally, id, ends)
  tally.add({ testRunFinished: { success } })
  return tally
}

function run(tally: Tally, id: string, ends: readonly string[], willBeRetried = false): void {
  tally.add({ testCaseStarted: { id: `s${id}`, testCaseId: id } })
  ends.forEach((status, n) => {
    const place = { testCaseStartedId: `s${id}`, testStepId: `t${id}-${n}` }
    tally.add({ testStepStarted: place })
    tally.add({ testStepFinished: { ...place, testStepResult: { status, message: 'because' } } })
  })
  tally.add({ testCaseFinished: { testCaseStartedId: `s${id}`, willBeRetried } })
}

function fresh(isDryRun = false): Tally {
  return new Tally({ isDryRun, tags: '@a' })
}

function stepsAt(line: number): object {
  return { steps: [{ id: `n${line}`, location: { line } }] }
}

describe('a tally', () => {
  test('counts a scenario of a million steps, and keeps few of many findings', () => {
    const tally = told(fresh(), [{ id: '1', ends: Array<string>(1_000_000).fill('PASSED') }])
    assert.equal(tally.result(5).stepsPassed, 1_000_000)
    for (let n = 0; n < 1_000; n += 1)
      tally.add({ parseError: { source: { uri: 'a.feature' }, message: 'x' } })
    assert.equal(tally.findings.length, 20)
  })

  test('passes a run of which something passed and nothing else happened', () => {
    const { result } = { result: told(fresh(), [{ id: '1', ends: ['PASSED'] }]).result(5) }
    assert.deepEqual(result, {
      passed: true,
      scenarioCount: 1,
      scenariosPassed: 1,
      scenariosFailed: 0,
      scenariosSkipped: 0,
      stepCount: 1,
      stepsPassed: 1,
      stepsFailed: 0,
      stepsSkipped: 0,
      stepsUndefined: 0,
      durationMillis: 5,
      failedScenarios: [],
    })
  })

  const reasons: readonly (readonly [string, readonly Scenario[], string])[] = [
    ['nothing', [], 'no scenario matches the tags @a'],
    ['a failure', [{ id: '1', ends: ['FAILED'] }], '1 scenario(s) failed'],
    ['what is not defined', [{ id: '1', ends: ['UNDEFINED'] }], '1 scenario(s) failed'],
    ['what is ambiguous', [{ id: '1', ends: ['AMBIGUOUS'] }], '1 scenario(s) failed'],
    ['a status nobody knows', [{ id: '1', ends: ['ODD'] }], '1 scenario(s) failed'],
    ['what is pending', [{ id: '1', ends: ['PENDING'] }], '1 scenario(s) are pending'],
    ['what is skipped', [{ id: '1', ends: ['SKIPPED'] }], 'every scenario was skipped'],
  ]
  for (const [what, scenarios, reason] of reasons)
    test(`does not pass ${what} alone`, () => {
      const result = told(fresh(), scenarios).result(0)
      assert.equal(result.passed, false)
      assert.equal(result.errorMessage, reason)
    })

  test('passes what is skipped beside what passes, and not what is pending', () => {
    const passing = { id: '1', ends: ['PASSED'] }
    assert.equal(told(fresh(), [passing, { id: '2', ends: ['SKIPPED'] }]).result(0).passed, true)
    assert.equal(told(fresh(), [passing, { id: '2', ends: ['PENDING'] }]).result(0).passed, false)
  })

  test('does not pass a run that is not over, or of which a hook failed', () => {
    const tally = fresh()
    run(tally, '1', ['PASSED'])
    assert.equal(tally.isFinished, false)
    assert.equal(tally.result(0).errorMessage, 'the run did not come to its end')
    const hooked = told(fresh(), [{ id: '1', ends: ['PASSED'] }], false).result(0)
    assert.equal(hooked.passed, false)
    assert.equal(hooked.errorMessage, 'a hook failed')
  })

  test('passes a dry run in which all is skipped, and not one with an undefined step', () => {
    assert.equal(told(fresh(true), [{ id: '1', ends: ['SKIPPED'] }]).result(0).passed, true)
    assert.equal(told(fresh(true), [{ id: '1', ends: ['UNDEFINED'] }]).result(0).passed, false)
  })

  test('knows scenarios of one name and place apart, whichever comes last', () => {
    for (const ends of [
      ['FAILED', 'PASSED'],
      ['PASSED', 'FAILED'],
    ]) {
      const result = told(
        fresh(),
        ends.map((status, n) => ({ id: String(n), ends: [status] })),
      ).result(0)
      assert.deepEqual(
        [result.scenarioCount, result.scenariosPassed, result.scenariosFailed],
        [2, 1, 1],
      )
    }
  })

  test('counts only the last attempt of a scenario', () => {
    const tally = fresh()
    tally.add({ pickle: { id: 'p1', steps: [{ id: '1-0', text: 'x' }] } })
    tally.add({
      testCase: { id: '1', pickleId: 'p1', testSteps: [{ id: 't1-0', pickleStepId: '1-0' }] },
    })
    run(tally, '1', ['FAILED'], true)
    assert.equal(tally.progress().scenariosFailed, 0)
    run(tally, '1', ['PASSED'])
    tally.add({ testRunFinished: { success: true } })
    assert.equal(tally.result(0).passed, true)
    assert.equal(tally.result(0).stepCount, 1)
  })

  test('counts hooks as no steps, but what fails in them fails the scenario', () => {
    const result = told(fresh(), [{ id: '1', ends: ['FAILED', 'SKIPPED'], hasHook: true }]).result(
      0,
    )
    assert.deepEqual([result.stepCount, result.stepsFailed, result.scenariosFailed], [1, 0, 1])
    assert.equal(result.failedScenarios[0]?.error, 'a hook: because')
  })

  test('names the line of a step that has no definition, also in a rule and in an outline', () => {
    const feature = {
      children: [{ background: stepsAt(3) }, { rule: { children: [{ scenario: stepsAt(9) }] } }],
    }
    for (const line of [3, 9]) {
      const tally = fresh()
      tally.add({ gherkinDocument: { uri: 'a.feature', feature } })
      const step = { id: '1-0', text: 'x', astNodeIds: [`n${line}`, 'row'] }
      tally.add({ pickle: { id: 'p1', uri: 'a.feature', location: { line: 8 }, steps: [step] } })
      const testSteps = [{ id: 't1-0', pickleStepId: '1-0' }]
      tally.add({ testCase: { id: '1', pickleId: 'p1', testSteps } })
      run(tally, '1', ['UNDEFINED'])
      const [failure] = tally.result(0).failedScenarios
      assert.equal(failure?.location, 'a.feature:8')
      assert.equal(failure.error, `a.feature:${line}: no step definition fits: x`)
    }
  })

  test('names so many failures and no more, each with a bound', () => {
    for (const count of [FAILED_SCENARIOS_MAX, FAILED_SCENARIOS_MAX + 1]) {
      const scenarios = Array.from({ length: count }, (_, n) => ({ id: `${n}`, ends: ['FAILED'] }))
      const result = told(fresh(), scenarios).result(0)
      assert.equal(result.scenariosFailed, count)
      assert.equal(result.failedScenarios.length, FAILED_SCENARIOS_MAX)
    }
    for (const length of [ERROR_CHARACTERS_MAX, ERROR_CHARACTERS_MAX + 1]) {
      const tally = told(fresh(), [{ id: '1', ends: ['PASSED'] }], false)
      tally.add({ testRunFinished: { success: false, message: 'x'.repeat(length) } })
      const kept = tally.result(0).errorMessage ?? ''
      assert.equal(kept.endsWith('…'), length > ERROR_CHARACTERS_MAX)
    }
  })

  test('takes whatever it is told without failing over it', () => {
    const tally = fresh()
    const odd = [null, 7, 'x', [], {}, { id: 5 }, { steps: 'x', testSteps: [null], uri: {} }]
    for (const kind of [
      'source',
      'parseError',
      'gherkinDocument',
      'pickle',
      'testCase',
      'testCaseStarted',
      'testStepStarted',
      'testStepFinished',
      'testCaseFinished',
      'testRunFinished',
      'unheardOf',
    ])
      for (const value of odd) tally.add({ [kind]: value })
    tally.add({})
    assert.equal(tally.result(0).passed, false)
  })
})
