/** What came of running one bundle: counts, and how a test can end. */

/** How a test ends, once and for all. */
export type Outcome = 'passed' | 'failed' | 'errored' | 'cancelled' | 'timed-out' | 'interrupted'

/** Each row of an outline is a scenario of its own. */
export type RunResult = Readonly<{
  passed: boolean
  scenarioCount: number
  scenariosPassed: number
  scenariosFailed: number
  scenariosSkipped: number
  stepCount: number
  stepsPassed: number
  stepsFailed: number
  stepsSkipped: number
  /** Undefined and ambiguous ones. */
  stepsUndefined: number
  durationMillis: number
  errorMessage?: string
  /** The first of those that failed; the evidence has all. */
  failedScenarios: readonly FailedScenario[]
}>

export type FailedScenario = Readonly<{
  name: string
  /** Such as `features/orders.feature:12`. */
  location: string
  error: string
}>
