/**
 * Counts what Cucumber tells of a run while it runs.
 *
 * A scenario is known by the id of its test case, never by its name, so every row of an outline counts
 * for itself. Only the last attempt of a scenario counts. A run is passed if it came to its end, at
 * least one scenario passed and none failed, was pending or had a step that is not defined; everything
 * else is no pass. In a dry run nothing can pass, and it is enough that every step is defined.
 */
import type { FailedScenario, RunResult } from '../result.ts'
import { isRecord } from './channel.ts'
import type { Progress } from './runner.ts'

export type ParseFinding = Readonly<{ file: string; line: number; message: string }>

type Fields = Readonly<Record<string, unknown>>
type PickleStep = Readonly<{ text: string; location: string }>
type Pickle = Readonly<{ name: string; location: string; steps: ReadonlyMap<string, PickleStep> }>
/** A hook is no step. */
type TestCase = Readonly<{ pickle: Pickle; steps: ReadonlyMap<string, PickleStep | undefined> }>
type StepResult = Readonly<{ status: Status; message: string; step: PickleStep | undefined }>
type Attempt = Readonly<{ testCaseId: string; testCase: TestCase; results: StepResult[] }>
type Scenario = Readonly<{ pickle: Pickle; results: readonly StepResult[]; status: Status }>

/** From best to worst. */
const STATUSES = [
  'PASSED',
  'SKIPPED',
  'PENDING',
  'UNDEFINED',
  'AMBIGUOUS',
  'UNKNOWN',
  'FAILED',
] as const
type Status = (typeof STATUSES)[number]

/** Scenarios that failed and are named in the result of a run. */
export const FAILED_SCENARIOS_MAX = 20

/** Of each error in the result of a run. */
export const ERROR_CHARACTERS_MAX = 2_000

const FINDINGS_MAX = 20

export class Tally {
  readonly #isDryRun: boolean
  readonly #tags: string
  /** Of the steps in the features, by id. */
  readonly #lines = new Map<string, number>()
  readonly #findings: ParseFinding[] = []
  readonly #pickles = new Map<string, Pickle>()
  readonly #testCases = new Map<string, TestCase>()
  readonly #attempts = new Map<string, Attempt>()
  readonly #ended = new Map<string, readonly StepResult[]>()
  #features = 0
  #failed = 0
  #step: string | undefined
  #finish: Readonly<{ success: boolean; message: string }> | undefined

  constructor({ isDryRun, tags }: Readonly<{ isDryRun: boolean; tags: string }>) {
    this.#isDryRun = isDryRun
    this.#tags = tags
  }

  /** What makes features of the bundle unreadable. */
  get findings(): readonly ParseFinding[] {
    return this.#findings
  }

  /** How many features were read. */
  get features(): number {
    return this.#features
  }

  /** Whether Cucumber said that the run is over. */
  get isFinished(): boolean {
    return this.#finish !== undefined
  }

  /** True if the progress is another one now. */
  add(envelope: Fields): boolean {
    const [kind = '', fields] = Object.entries(envelope)[0] ?? []
    if (!isRecord(fields)) return false
    switch (kind) {
      case 'source':
        this.#features += 1
        return false
      case 'parseError':
        if (this.#findings.length < FINDINGS_MAX) this.#findings.push(findingOf(fields))
        return false
      case 'gherkinDocument':
        this.#keepLines(fields['feature'])
        return false
      case 'pickle':
        this.#pickles.set(text(fields['id']), this.#pickleOf(fields))
        return false
      case 'testCase':
        return this.#addTestCase(fields)
      case 'testCaseStarted':
        return this.#startAttempt(fields)
      case 'testStepStarted':
        return this.#startStep(fields)
      case 'testStepFinished':
        return this.#endStep(fields)
      case 'testCaseFinished':
        return this.#endAttempt(fields)
      case 'testRunFinished': {
        const { success, message, exception } = fields
        const about = isRecord(exception) ? exception['message'] : message
        this.#finish = { success: success === true, message: text(about) }
        return false
      }
      default:
        return false
    }
  }

  progress(): Progress {
    return {
      scenarios: this.#testCases.size,
      scenariosDone: this.#ended.size,
      scenariosFailed: this.#failed,
      step: this.#step,
    }
  }

  result(durationMillis: number): RunResult {
    const scenarios = [...this.#testCases].map(([id, { pickle }]): Scenario => {
      const results = this.#ended.get(id)
      return { pickle, results: results ?? [], status: results ? worst(results) : 'UNKNOWN' }
    })
    const steps = scenarios.flatMap(({ results }) =>
      results.filter((each) => each.step !== undefined),
    )
    const reason = this.#reason(scenarios)
    const failures = scenarios.filter(({ status }) => isFailure(status))
    return {
      passed: reason === undefined,
      scenarioCount: scenarios.length,
      scenariosPassed: count(scenarios, 'PASSED'),
      scenariosFailed: failures.length,
      scenariosSkipped: count(scenarios, 'SKIPPED', 'PENDING'),
      stepCount: steps.length,
      stepsPassed: count(steps, 'PASSED'),
      stepsFailed: count(steps, 'FAILED', 'UNKNOWN'),
      stepsSkipped: count(steps, 'SKIPPED', 'PENDING'),
      stepsUndefined: count(steps, 'UNDEFINED', 'AMBIGUOUS'),
      durationMillis,
      ...(reason !== undefined && { errorMessage: reason }),
      failedScenarios: failures.slice(0, FAILED_SCENARIOS_MAX).map(failureOf),
    }
  }

  /** Why this is no pass. */
  #reason(scenarios: readonly Scenario[]): string | undefined {
    const failed = scenarios.filter(({ status }) => isFailure(status)).length
    const pending = count(scenarios, 'PENDING')
    if (this.#finish === undefined) return 'the run did not come to its end'
    if (scenarios.length === 0) return bounded(`no scenario matches the tags ${this.#tags}`)
    if (failed > 0) return `${failed} scenario(s) failed`
    if (pending > 0) return `${pending} scenario(s) are pending`
    if (!this.#finish.success) return bounded(this.#finish.message || 'a hook failed')
    const isIdle = count(scenarios, 'PASSED') === 0 && !this.#isDryRun
    return isIdle ? 'every scenario was skipped' : undefined
  }

  #keepLines(feature: unknown): void {
    for (const { background, scenario, rule } of childrenOf(feature)) {
      if (rule !== undefined) this.#keepLines(rule)
      for (const { id, location } of stepsOf(background).concat(stepsOf(scenario)))
        this.#lines.set(text(id), lineOf(location))
    }
  }

  #pickleOf({ name, uri, location, steps }: Fields): Pickle {
    const file = text(uri)
    const texts = records(steps).map(({ id, text: words, astNodeIds }) => {
      const [node] = Array.isArray(astNodeIds) ? astNodeIds : []
      const line = this.#lines.get(text(node)) ?? lineOf(location)
      return [text(id), { text: text(words), location: `${file}:${line}` }] as const
    })
    return { name: text(name), location: `${file}:${lineOf(location)}`, steps: new Map(texts) }
  }

  #addTestCase({ id, pickleId, testSteps }: Fields): boolean {
    const pickle = this.#pickles.get(text(pickleId))
    if (pickle === undefined) return false
    const steps = records(testSteps).map(
      (each) => [text(each['id']), pickle.steps.get(text(each['pickleStepId']))] as const,
    )
    this.#testCases.set(text(id), { pickle, steps: new Map(steps) })
    return true
  }

  #startAttempt({ id, testCaseId }: Fields): boolean {
    const testCase = this.#testCases.get(text(testCaseId))
    if (testCase !== undefined)
      this.#attempts.set(text(id), { testCaseId: text(testCaseId), testCase, results: [] })
    return false
  }

  #startStep({ testCaseStartedId, testStepId }: Fields): boolean {
    const attempt = this.#attempts.get(text(testCaseStartedId))
    const step = attempt?.testCase.steps.get(text(testStepId))
    if (step === undefined) return false
    this.#step = step.text
    return true
  }

  #endStep({ testCaseStartedId, testStepId, testStepResult }: Fields): boolean {
    const attempt = this.#attempts.get(text(testCaseStartedId))
    if (attempt === undefined || !isRecord(testStepResult)) return false
    attempt.results.push({
      status: STATUSES.find((each) => each === testStepResult['status']) ?? 'UNKNOWN',
      message: text(testStepResult['message']),
      step: attempt.testCase.steps.get(text(testStepId)),
    })
    return false
  }

  #endAttempt({ testCaseStartedId, willBeRetried }: Fields): boolean {
    const attempt = this.#attempts.get(text(testCaseStartedId))
    this.#attempts.delete(text(testCaseStartedId))
    if (attempt === undefined || willBeRetried === true) return false
    this.#ended.set(attempt.testCaseId, attempt.results)
    if (isFailure(worst(attempt.results))) this.#failed += 1
    if (this.#attempts.size === 0) this.#step = undefined
    return true
  }
}

function childrenOf(of: unknown): readonly Fields[] {
  return isRecord(of) ? records(of['children']) : []
}

function stepsOf(of: unknown): readonly Fields[] {
  return isRecord(of) ? records(of['steps']) : []
}

function lineOf(location: unknown): number {
  return isRecord(location) ? Number(location['line']) : 1
}

function findingOf({ source, message }: Fields): ParseFinding {
  const { uri, location } = isRecord(source) ? source : {}
  return { file: text(uri), line: lineOf(location), message: bounded(text(message)) }
}

function failureOf({ pickle, results }: Scenario): FailedScenario {
  const cause = results.find(({ status }) => isFailure(status))
  return { name: pickle.name, location: pickle.location, error: bounded(errorOf(cause)) }
}

function errorOf(cause: StepResult | undefined): string {
  if (cause === undefined) return 'it did not come to its end'
  const { text: name, location } = cause.step ?? { text: 'a hook', location: '' }
  if (cause.status === 'UNDEFINED') return `${location}: no step definition fits: ${name}`
  if (cause.status === 'AMBIGUOUS') return `${location}: several step definitions fit: ${name}`
  return `${name}: ${cause.message}`
}

/** A scenario without steps has nothing that could fail. */
function worst(results: readonly StepResult[]): Status {
  const rank = results.reduce((most, { status }) => Math.max(most, STATUSES.indexOf(status)), 0)
  return STATUSES[rank] ?? 'FAILED'
}

function isFailure(status: Status): boolean {
  return status !== 'PASSED' && status !== 'SKIPPED' && status !== 'PENDING'
}

function count(list: readonly Readonly<{ status: Status }>[], ...wanted: Status[]): number {
  return list.filter(({ status }) => wanted.includes(status)).length
}

function bounded(message: string): string {
  return message.length <= ERROR_CHARACTERS_MAX
    ? message
    : `${message.slice(0, ERROR_CHARACTERS_MAX)}…`
}

function records(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
}
