/**
 * What the machine of one test carries from state to state.
 *
 * A handler that chooses another state says in `arrival` why; the `enter` of that state writes down what
 * follows from it and only then acts on it. If the writing fails, `enter` runs again and finds the
 * same arrival, so that what was decided is written once and nothing is done before it is.
 */
import type { Context, Ended, Move, Ref, State } from '../../kernel/index.ts'
import { assert, type Log } from '../../std/index.ts'
import type { EventRoom, Fetched, Security } from '../children/ports.ts'
import type { House } from '../house.ts'
import type {
  Cancelled,
  ChildKind,
  ExecutionMessage,
  Initialized,
  ProbeFault,
  Standing,
  Started,
  TestNotice,
  TestState,
} from '../protocol.ts'
import type {
  EvidenceFile,
  EvidenceState,
  StartOptions,
  TestError,
  TestEvent,
  TestRecord,
} from '../record.ts'
import type { Progress } from '../runner/runner.ts'
import type { LiveMask } from '../secrets/secrets.ts'

/** Why there is an actor for a test. */
export type Begin =
  | Readonly<{
      type: 'fresh'
      priority: number
      by?: string
      requestId?: string
      replyTo: Ref<Initialized | ProbeFault>
    }>
  /** It was there before the queue was; `place` is where it stands in line, if it does. */
  | Readonly<{ type: 'recovered'; record: TestRecord; place: number }>
  /** It has ended, and is looked at once more. */
  | Readonly<{ type: 'revived'; record: TestRecord }>
  /** The actor before has ended unasked: what there is on record is brought to an end. */
  | Readonly<{ type: 'mourning'; error: TestError }>

export type ExecutionOptions = Readonly<{
  testId: string
  queue: Ref<TestNotice>
  house: House
  begin: Begin
}>

/** Why a state was entered. */
export type Arrival =
  | Extract<Begin, { type: 'fresh' | 'mourning' }>
  | Readonly<{
      type: 'start'
      options: StartOptions
      place: number
      standing: Standing
      replyTo: Ref<Started | ProbeFault>
    }>
  | Readonly<{
      type: 'requeue'
      why: 'restart' | 'interrupted' | 'retry'
      place: number
      standing: Standing
      replyTo: Ref<Started | ProbeFault> | undefined
    }>
  | Readonly<{ type: 'complete'; evidence: EvidenceState; files: readonly EvidenceFile[] }>
  | Readonly<{
      type: 'fail'
      outcome: 'errored' | 'timed-out'
      error: TestError
      evidence: EvidenceState
      files: readonly EvidenceFile[]
    }>
  | Readonly<{ type: 'interrupted' }>
  | Readonly<{ type: 'cancel'; by: string | undefined; replyTo: Ref<Cancelled | ProbeFault> }>
  /** There is nothing to be written down. */
  | Readonly<{ type: 'go-on' }>

/** A run that is being brought to an end for this reason. */
export type Ending = Readonly<{ outcome: 'errored' | 'timed-out'; error: TestError }>

export type Data = Readonly<{
  life: Life
  /** Undefined only until it was written for the first time. */
  record: TestRecord | undefined
  arrival: Arrival
  /** Those that have not ended. */
  children: ReadonlyMap<ChildKind, Ref<never>>
  ready: ReadonlySet<ChildKind>
  /** When the present state is over. */
  deadlineAt: number | undefined
  mask: LiveMask | undefined
  fetched: Fetched | undefined
  security: Security | undefined
  room: EventRoom | undefined
  progress: Progress | undefined
  ending: Ending | undefined
  /** Whether a run was cancelled, whose evidence is stored as soon as its worker has ended. */
  isOwed: boolean
  /** Whether evidence is on its way, and how often it has failed to arrive. */
  isStoring: boolean
  tries: number
}>

/** What is the same in all states. The states themselves are the same for all tests. */
export type Life = Readonly<{ testId: string; queue: Ref<TestNotice>; house: House }>
export type Ctx = Context<ExecutionMessage>
export type Step = Move<TestState, Data>
export type ExecutionState = State<TestState, Data, ExecutionMessage>

export const GO_ON: Arrival = { type: 'go-on' }
export const NO_FILES: readonly EvidenceFile[] = []

const NO_CHILDREN: Data['children'] = new Map()
const NOBODY: Data['ready'] = new Set()

export function newData(life: Life, record: TestRecord | undefined, arrival: Arrival): Data {
  return {
    life,
    record,
    arrival,
    children: NO_CHILDREN,
    ready: NOBODY,
    deadlineAt: undefined,
    mask: undefined,
    fetched: undefined,
    security: undefined,
    room: undefined,
    progress: undefined,
    ending: undefined,
    isOwed: false,
    isStoring: false,
    tries: 0,
  }
}

export function logOf({ house, testId }: Life): Log {
  return house.log.child({ testId })
}

export function recordOf({ record }: Data): TestRecord {
  assert(record !== undefined, 'a test is on record once it was initialized')
  return record
}

/**
 * Writes events down and gives the data with the record after them. Whoever has ended meanwhile goes no
 * further: what follows is for the actor that is there by then.
 */
export async function written(
  life: Life,
  ctx: Ctx,
  data: Data,
  events: readonly TestEvent[],
): Promise<Data> {
  const { signal } = ctx
  const appended = await life.house.register.append(life.testId, data.record, events)
  signal.throwIfAborted()
  assert(appended.type === 'appended', 'only a first event is a request of its own')
  return { ...data, record: appended.record, arrival: GO_ON }
}

/** Sets the one time limit of a state. */
export function limited(life: Life, ctx: Ctx, data: Data, state: TestState, ms: number): Data {
  ctx.timers.after('deadline', ms, { type: 'overdue', state })
  return { ...data, deadlineAt: life.house.register.now() + ms }
}

export function unlimited(ctx: Ctx, data: Data): Data {
  ctx.timers.cancel('deadline')
  return { ...data, deadlineAt: undefined }
}

export function withoutChild(data: Data, kind: ChildKind, actor: Ref<never>): Data {
  if (data.children.get(kind) !== actor) return data
  const children = new Map(data.children)
  children.delete(kind)
  return { ...data, children }
}

/** A child ended that was not asked to. */
export function endedError(kind: ChildKind, { cause, error }: Ended): TestError {
  const words = error instanceof Error ? `: ${error.message}` : ''
  return { kind, code: 'child-ended', message: `the ${kind} of the test ended (${cause})${words}` }
}
