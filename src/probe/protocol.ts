/**
 * Everything the actors of the orchestrator tell each other, and what requests are answered with.
 *
 *   guardian ── queue-actor ── test-execution-<id> ── block-storage-, vault-, cucumber-, producer-, consumer-<id>
 *
 * Nobody asks: a request carries its `replyTo`, whoever can answer it tells that ref, and the queue
 * hands it on with the request instead of standing in between. Every `replyTo` is told exactly once.
 */
import type { Ended, Ref } from '../kernel/index.ts'
import type { Fault } from '../std/index.ts'
import type { Bundle } from './bundle/directive.ts'
import type { EventRoom, Fetched, Security } from './children/ports.ts'
import type {
  EvidenceFile,
  EvidenceState,
  RecordedState,
  StartOptions,
  TestError,
  TestRecord,
} from './record.ts'
import type { Outcome, RunResult } from './result.ts'
import type { Progress } from './runner/runner.ts'
import type { LiveMask, Mask } from './secrets/secrets.ts'

/** States of the machine; whoever asks is told what is on record. */
export type TestState = RecordedState | 'ShuttingDown'

export type ProbeFaultCode =
  | 'no-such-test'
  | 'no-such-evidence'
  | 'bad-test-request'
  | 'request-mismatch'
  | 'not-extendable'
  | 'probe-draining'
  | 'probe-overloaded'
  | 'probe-unavailable'
  | 'probe-closed'
  | 'test-crashed'
  | 'unknown-outcome'

export type ProbeFault = Fault<ProbeFaultCode>

export type Initialized = Readonly<{ testId: string; message: string }>

/** Why a start was not accepted. */
export type StartRefusal =
  | 'queue-full'
  | 'draining'
  | 'already-started'
  | 'finished'
  | 'shutting-down'
  | 'never-started'
  | 'not-finished'
  | 'evidence-pending'

export type Started = Readonly<{
  testId: string
  accepted: boolean
  message: string
  testType?: string
  reason?: StartRefusal
  /** From 1, the next to run. */
  position?: number
  /** How long it will wait, as far as earlier tests tell. */
  estimateMs?: number
}>

export type TestStatus = Readonly<{
  testId: string
  state: RecordedState
  outcome?: Outcome
  createdAt: number
  by?: string
  priority: number
  bucket?: string
  testType?: string
  startTime?: number
  endTime?: number
  /** Whether it passed; absent as long as that is open. */
  success?: boolean
  error?: string
  errorKind?: string
  errorCode?: string
  errorRemedy?: string
  attempt: number
  result?: RunResult
  progress?: Progress
  evidence: EvidenceState
  files: readonly EvidenceFile[]
  position?: number
  estimateMs?: number
}>

export type QueueMode = 'open' | 'paused' | 'draining'

/** Counts of tests that have an actor; they add up to `totalTests`. */
export type QueueStatus = Readonly<{
  totalTests: number
  setupCount: number
  loadingCount: number
  loadedCount: number
  testingCount: number
  completedCount: number
  exceptionCount: number
  /** The one that has run for longest. */
  currentlyTesting?: string
  testing: readonly string[]
  pending: number
  slots: number
  mode: QueueMode
  /** Of the one test that was asked for. */
  test?: Readonly<{ testId: string; state: RecordedState; position?: number; estimateMs?: number }>
}>

export type Cancelled = Readonly<{ testId: string; cancelled: boolean; message?: string }>
export type Extended = Readonly<{ testId: string; deadlineAt: number }>
export type ModeChanged = Readonly<{ mode: QueueMode; running: number }>

/** Where a test stands in line, as the queue knows it when it hands a request on. */
export type Standing = Readonly<{ position?: number; estimateMs?: number }>

export type GuardianMessage =
  | Readonly<{ type: 'initialize'; replyTo: Ref<Ref<QueueMessage> | ProbeFault> }>
  | Readonly<{ type: 'get-queue'; replyTo: Ref<Ref<QueueMessage> | ProbeFault> }>
  | Readonly<{ type: 'queue-ended'; ended: Ended }>
  | Readonly<{ type: 'recreate' }>

/** Without a priority it has the one that it was initialized with. */
export type WantedStart = Omit<StartOptions, 'priority'> & Readonly<{ priority?: number }>

/** What clients want of the queue. */
export type QueueRequest =
  | Readonly<{
      type: 'initialize-test'
      priority: number
      by?: string
      requestId?: string
      replyTo: Ref<Initialized | ProbeFault>
    }>
  | Readonly<{
      type: 'start-test'
      testId: string
      options: WantedStart
      replyTo: Ref<Started | ProbeFault>
    }>
  | Readonly<{ type: 'test-status'; testId: string; replyTo: Ref<TestStatus | ProbeFault> }>
  | Readonly<{
      type: 'cancel-test'
      testId: string
      by?: string
      replyTo: Ref<Cancelled | ProbeFault>
    }>
  | Readonly<{
      type: 'extend-test'
      testId: string
      ms: number
      replyTo: Ref<Extended | ProbeFault>
    }>
  | Readonly<{ type: 'retry-test'; testId: string; replyTo: Ref<Started | ProbeFault> }>
  | Readonly<{ type: 'queue-status'; testId?: string; replyTo: Ref<QueueStatus | ProbeFault> }>
  | Readonly<{ type: 'set-mode'; mode: QueueMode; replyTo: Ref<ModeChanged | ProbeFault> }>

/** What an execution tells the queue of itself. */
export type TestNotice =
  | Readonly<{ type: 'test-initialized'; testId: string }>
  | Readonly<{ type: 'test-loading'; testId: string; priority: number }>
  | Readonly<{ type: 'test-loaded'; testId: string; exclusive: readonly string[] }>
  | Readonly<{ type: 'test-started'; testId: string }>
  | Readonly<{ type: 'test-completed'; testId: string; outcome: Outcome }>
  | Readonly<{ type: 'test-exception'; testId: string; outcome: Outcome; error: TestError }>
  /** It will not run any more; its children end meanwhile. */
  | Readonly<{ type: 'test-ending'; testId: string }>
  | Readonly<{ type: 'test-stopping'; testId: string; outcome?: Outcome }>

export type QueueMessage =
  | QueueRequest
  /** `life` says which actor it is of; those of one that was followed by another come too late. */
  | Readonly<{ type: 'test-notice'; life: number; notice: TestNotice }>
  | Readonly<{ type: 'recover' }>
  | Readonly<{ type: 'test-ended'; testId: string; life: number; ended: Ended }>
  | Readonly<{ type: 'not-confirmed'; testId: string }>
  /** A finished test is to be queued again; its record was read meanwhile. */
  | Readonly<{ type: 'revive-test'; record: TestRecord; replyTo: Ref<Started | ProbeFault> }>
  | Readonly<{ type: 'forget-old' }>

export type ChildKind = 'block-storage' | 'vault' | 'cucumber' | 'producer' | 'consumer'
export const CHILD_KINDS: readonly ChildKind[] = [
  'block-storage',
  'vault',
  'cucumber',
  'producer',
  'consumer',
]

/** What children tell the execution that they belong to. */
export type ChildNotice =
  | Readonly<{ type: 'child-ready'; kind: ChildKind }>
  | Readonly<{ type: 'child-failed'; kind: ChildKind; fault: Fault }>
  | Readonly<{ type: 'child-ended'; kind: ChildKind; actor: Ref<never>; ended: Ended }>
  | Readonly<{ type: 'bundle-fetched'; fetched: Fetched }>
  | Readonly<{ type: 'security-fetched'; security: Security }>
  | Readonly<{ type: 'progress'; progress: Progress }>
  | Readonly<{ type: 'test-complete'; result: RunResult }>
  | Readonly<{ type: 'evidence-stored'; files: readonly EvidenceFile[] }>
  | Readonly<{ type: 'evidence-failed'; fault: Fault }>

export type ExecutionMessage =
  | Readonly<{
      type: 'start'
      options: StartOptions
      place: number
      standing: Standing
      replyTo: Ref<Started | ProbeFault>
    }>
  | Readonly<{
      type: 'retry'
      place: number
      standing: Standing
      replyTo: Ref<Started | ProbeFault>
    }>
  | Readonly<{ type: 'cancel'; by?: string; replyTo: Ref<Cancelled | ProbeFault> }>
  | Readonly<{ type: 'extend'; ms: number; replyTo: Ref<Extended | ProbeFault> }>
  | Readonly<{
      type: 'get-status'
      standing: Standing
      replyTo: Ref<TestStatus | ProbeFault>
    }>
  | Readonly<{ type: 'start-testing' }>
  /** Its state has lasted as long as it may. */
  | Readonly<{ type: 'overdue'; state: TestState }>
  | Readonly<{ type: 'store-again' }>
  | ChildNotice

export type BlockStorageMessage =
  | Readonly<{ type: 'initialize'; bucket: string }>
  | Readonly<{ type: 'fetched'; fetched: Fetched }>
  | Readonly<{ type: 'store-evidence'; bucket: string; room: EventRoom | undefined }>
  | Readonly<{ type: 'stored'; files: readonly EvidenceFile[] }>
  | Readonly<{ type: 'failed'; during: 'fetch' | 'store'; error: unknown }>
  | Readonly<{ type: 'stop' }>

export type VaultMessage =
  | Readonly<{ type: 'initialize'; bundle: Bundle; mask: Mask }>
  | Readonly<{ type: 'fetched'; security: Security }>
  | Readonly<{ type: 'failed'; error: unknown }>
  | Readonly<{ type: 'stop' }>

export type CucumberMessage =
  | Readonly<{
      type: 'initialize'
      fetched: Fetched
      tags: string | undefined
      isDryRun: boolean
      mask: LiveMask
    }>
  | Readonly<{ type: 'start-test'; room: EventRoom }>
  | Readonly<{ type: 'ran'; result: RunResult }>
  | Readonly<{ type: 'failed'; error: unknown }>
  | Readonly<{ type: 'stop' }>

/** Of the producer and of the consumer alike. */
export type EventsMessage =
  | Readonly<{ type: 'initialize'; room: EventRoom; security: Security }>
  | Readonly<{ type: 'opened' }>
  | Readonly<{ type: 'failed'; error: unknown }>
  | Readonly<{ type: 'start-test' }>
  | Readonly<{ type: 'stop' }>
