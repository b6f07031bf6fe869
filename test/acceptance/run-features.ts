/**
 * Runs features by Cucumber in a process of its own, and tells each scenario as a line of JSON on
 * standard output when it is over. The last line says that all of them are.
 *
 *   node run-features.ts DIRECTORY [NAME]    only scenarios whose name matches
 *
 * A scenario that is tagged `@real-time` says how soon something is done, which a machine that has
 * much else to do may keep from being so: it has failed when it has failed each time.
 */
import { writeSync } from 'node:fs'
import { Writable } from 'node:stream'

import { loadConfiguration, runCucumber } from '@cucumber/cucumber/api'

export type Told =
  | Readonly<{ type: 'scenario'; name: string; failures: readonly string[] }>
  /** It failed, and is tried again. */
  | Readonly<{ type: 'again'; name: string; failures: readonly string[] }>
  | Readonly<{ type: 'end'; success: boolean }>

type Envelope = Parameters<NonNullable<Parameters<typeof runCucumber>[2]>>[0]
type Pickle = NonNullable<Envelope['pickle']>
type TestCase = NonNullable<Envelope['testCase']>
type Running = { testCase: TestCase; pickle: Pickle; failures: string[] }

const STANDARD_OUTPUT = 1
const TRIES = 4

const [directory, name] = process.argv.slice(2)
const pickles = new Map<string, Pickle>()
const testCases = new Map<string, TestCase>()
const running = new Map<string, Running>()

const { runConfiguration } = await loadConfiguration({
  file: false,
  provided: {
    paths: [`${directory}/*.feature`],
    import: [`${directory}/steps/*.ts`],
    retry: TRIES - 1,
    retryTagFilter: '@real-time',
    ...(name !== undefined && { name: [name] }),
  },
})
const { success } = await runCucumber(runConfiguration, { stdout: nowhere() }, hear)
tell({ type: 'end', success })

function hear(message: Envelope): void {
  const { pickle, testCase, testCaseStarted, testStepFinished, testCaseFinished } = message
  if (pickle) pickles.set(pickle.id, pickle)
  if (testCase) testCases.set(testCase.id, testCase)
  if (testCaseStarted) {
    const started = testCases.get(testCaseStarted.testCaseId)!
    const about = pickles.get(started.pickleId)!
    running.set(testCaseStarted.id, { testCase: started, pickle: about, failures: [] })
  }
  if (testStepFinished) {
    const { testStepResult: result, testStepId } = testStepFinished
    const scenario = running.get(testStepFinished.testCaseStartedId)!
    if (result.status.toString() !== 'PASSED')
      scenario.failures.push(
        `${result.status}: ${textOf(scenario, testStepId)}\n${result.message ?? ''}`,
      )
  }
  if (testCaseFinished) {
    const { pickle: about, failures } = running.get(testCaseFinished.testCaseStartedId)!
    const type = testCaseFinished.willBeRetried ? 'again' : 'scenario'
    tell({ type, name: `${fileOf(about)}: ${about.name}`, failures })
  }
}

function textOf({ testCase, pickle }: Running, testStepId: string): string {
  const step = testCase.testSteps.find(({ id }) => id === testStepId)
  return pickle.steps.find(({ id }) => id === step?.pickleStepId)?.text ?? 'a hook'
}

function fileOf({ uri }: Pickle): string {
  return uri.replace(/^.*\//, '')
}

/** What Cucumber says for people. */
function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() })
}

function tell(told: Told): void {
  writeSync(STANDARD_OUTPUT, `${JSON.stringify(told)}\n`)
}
