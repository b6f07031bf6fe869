/**
 * The port to whatever runs the features of a bundle: Cucumber in a process of its own.
 *
 * The process is told nothing but its bundle, and reaches events and secrets only by asking its
 * runner, so it may run without any network. It ends with the run, whatever its steps do.
 */
import type { Fault } from '../../std/index.ts'
import type { Bundle } from '../bundle/directive.ts'
import type { RunResult } from '../result.ts'
import type { LiveMask } from '../secrets/secrets.ts'

export type Isolation = 'sandbox' | 'process'

export type RunJob = Readonly<{
  testId: string
  bundle: Bundle
  /** Where the evidence of the run is written; the run itself cannot write there. */
  evidence: string
  /** Instead of those of the directive. */
  tags: string | undefined
  isDryRun: boolean
}>

export type RunnerFaultCode =
  | 'sandbox-unavailable'
  | 'run-refused'
  | 'bad-steps'
  | 'run-ended-early'
  | 'run-killed'

/** Carried by an `Accident`. */
export type RunnerFault = Fault<RunnerFaultCode>

export type Progress = Readonly<{
  scenarios: number
  scenariosDone: number
  scenariosFailed: number
  /** The step that runs. */
  step: string | undefined
}>

/** What steps ask for; each is answered once, and a rejection fails the step that asked. */
export interface StepServices {
  call(name: string, input: unknown): Promise<unknown>
}

export type RunHooks = Readonly<{
  services: StepServices
  /** Everything that comes from the run goes through it: progress, log, result and evidence. */
  mask: LiveMask
  onProgress: (progress: Progress) => void
  onLog: (line: string) => void
}>

export interface Run {
  /**
   * Settles when no process of the run is left and its evidence is written. Rejects with a
   * `RunnerFault`; a scenario that fails is a result.
   */
  readonly result: Promise<RunResult>
  /** Asks the process to end, and kills it and all it has started when `graceMs` are over. */
  cancel(graceMs: number): Promise<void>
}

export interface Runner {
  start(job: RunJob, hooks: RunHooks): Run
}
