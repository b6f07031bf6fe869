/**
 * The test orchestrator as programs see it: tests by id, the line they stand in, what came of them.
 *
 * A refusal is a value. What was promised survives a restart: a test that was initialized, started or
 * cancelled is so on record before that is said.
 */
import type { Fault } from '../std/index.ts'
import type { ProbeMetrics } from './metrics.ts'
import type {
  Cancelled,
  Extended,
  Initialized,
  ModeChanged,
  ProbeFault,
  QueueStatus,
  Started,
  TestStatus,
} from './protocol.ts'
import type { EvidenceFile, RecordedState, TestEvent } from './record.ts'
import type { Outcome } from './result.ts'
import type { Progress } from './runner/runner.ts'

export type InitializeOptions = Readonly<{
  /** The same id again gives the same test. */
  requestId?: string
  /** 0 to 9, higher first. */
  priority?: number
  /** Who wants it. */
  by?: string
}>

export type StartTestOptions = Readonly<{
  bucket: string
  testType?: string
  /** A tag expression, instead of the one of the bundle. */
  tags?: string
  priority?: number
  /** Names that no other test may hold while this one runs. */
  exclusive?: readonly string[]
  dryRun?: boolean
  requestId?: string
}>

export type ListTestsOptions = Readonly<{
  state?: RecordedState
  outcome?: Outcome
  testType?: string
  /** A part of the id, the bucket, the type, who wanted it, or the error. */
  text?: string
  /** The cursor of the page before. */
  after?: string
  limit?: number
}>

/** The latest first. */
export type TestPage = Readonly<{ tests: readonly TestStatus[]; next?: string }>

export type TestChange = Readonly<{
  testId: string
  /** Ask for what comes after it. Progress is live only and has that of the event before it. */
  position: number
}> &
  (
    | Readonly<{ type: 'event'; event: TestEvent }>
    | Readonly<{ type: 'progress'; progress: Progress }>
  )

export type ChangesOptions = Readonly<{ after?: number; testId?: string; signal: AbortSignal }>
export type UploadOptions = Readonly<{ contentType: string; signal: AbortSignal }>

export interface Probe extends AsyncDisposable {
  initialize(options?: InitializeOptions): Promise<Initialized | ProbeFault>
  start(testId: string, options: StartTestOptions): Promise<Started | ProbeFault>
  status(testId: string): Promise<TestStatus | ProbeFault>
  queueStatus(testId?: string): Promise<QueueStatus | ProbeFault>
  cancel(testId: string, options?: Readonly<{ by?: string }>): Promise<Cancelled | ProbeFault>
  /** Puts off the end of the state that the test is in. */
  extend(testId: string, ms: number): Promise<Extended | ProbeFault>
  /** Queues a test that has ended again, as a further attempt. */
  retry(testId: string): Promise<Started | ProbeFault>
  list(options?: ListTestsOptions): Promise<TestPage | ProbeFault>
  history(testId: string): Promise<readonly TestEvent[] | ProbeFault>
  /** No test starts to run until `resume`; kept over a restart. */
  pause(): Promise<ModeChanged | ProbeFault>
  resume(): Promise<ModeChanged | ProbeFault>
  /** Nothing is admitted and nothing starts to run; settles when nothing runs any more. */
  drain(options?: Readonly<{ deadlineMs?: number }>): Promise<ModeChanged | ProbeFault>
  changes(options: ChangesOptions): AsyncIterable<TestChange>
  evidence(testId: string): Promise<readonly EvidenceFile[] | ProbeFault>
  openEvidence(testId: string, name: string): Promise<AsyncIterable<Uint8Array> | ProbeFault>
  /** Takes a bundle for a test; its path is a bucket to start the test with. */
  upload(
    testId: string,
    stream: AsyncIterable<Uint8Array>,
    options: UploadOptions,
  ): Promise<Readonly<{ path: string }> | Fault>
  metrics(): ProbeMetrics
  close(): Promise<void>
}
