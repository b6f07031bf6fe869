/**
 * Testing: the features run, and then their evidence is stored.
 *
 *   run ── result kept ── evidence stored or given up for the moment ── Completed
 *   run ── too long, or a part failed ── worker ended ── evidence stored … ── Exception
 *
 * Whatever happens, the state has a deadline, and when it is left the worker has ended or was given up:
 * the next test does not run beside it.
 */
import { stay, to } from '../../kernel/index.ts'
import { CHILDREN_END_MS, TESTING_MS_MAX } from '../limits.ts'
import type {
  BlockStorageMessage,
  CucumberMessage,
  EventsMessage,
  ExecutionMessage,
} from '../protocol.ts'
import { errorOf, type EvidenceFile, type EvidenceState } from '../record.ts'
import type { RunResult } from '../result.ts'
import { errorInWords, resultInWords } from './answering.ts'
import {
  endedError,
  limited,
  logOf,
  NO_FILES,
  recordOf,
  withoutChild,
  written,
  type Ctx,
  type Data,
  type Ending,
  type ExecutionState,
  type Life,
  type Step,
} from './data.ts'
import { handling } from './handling.ts'
import { childOf } from './loading.ts'
import { cancelled, extended, otherwise, overdueError } from './otherwise.ts'

export const testingState: ExecutionState = {
  async enter(ctx, data) {
    const { life } = data
    const { testId, house, queue } = life
    const attempt = recordOf(data).attempt + 1
    const at = house.register.now()
    const after = await written(life, ctx, data, [{ type: 'testing', at, attempt }])
    const testing = limited(life, ctx, after, 'Testing', testingMs(life, data))
    for (const kind of ['producer', 'consumer'] as const)
      childOf<EventsMessage>(testing, kind)?.tell({ type: 'start-test' })
    if (testing.room !== undefined)
      childOf<CucumberMessage>(testing, 'cucumber')?.tell({
        type: 'start-test',
        room: testing.room,
      })
    queue.tell({ type: 'test-started', testId })
    return stay(testing)
  },
  on: handling('Testing', {
    progress(_ctx, data, { progress }) {
      const { house, testId } = data.life
      house.onProgress(testId, progress)
      return stay({ ...data, progress })
    },
    'test-complete': (ctx, data, { result }) =>
      isOver(data) ? stay(data) : kept(data.life, ctx, data, result),
    'evidence-stored': (_ctx, data, { files }) =>
      data.isStoring ? over(data, 'stored', files) : stay(data),
    'evidence-failed'(_ctx, data, { fault }) {
      if (!data.isStoring) return stay(data)
      logOf(data.life).warn('evidence could not be stored', { code: fault.code })
      return over(data, 'pending', NO_FILES)
    },
    'child-failed': (ctx, data, { kind, fault }) =>
      isOver(data)
        ? stay(data)
        : ending(data.life, ctx, data, { outcome: 'errored', error: errorOf(kind, fault) }),
    'child-ended': (ctx, data, message) =>
      data.children.get(message.kind) === message.actor
        ? childEnded(data.life, ctx, data, message)
        : stay(data),
    overdue: (ctx, data, { state }) =>
      state === 'Testing' ? overdue(data.life, ctx, data) : stay(data),
    cancel: (_ctx, data, message) => cancelled(data, message),
    extend: (ctx, data, message) =>
      isOver(data)
        ? otherwise(data.life, data, 'Testing', message)
        : extended(data.life, ctx, data, 'Testing', message),
  }),
}

/** The bundle knows best how long it takes. */
function testingMs({ house }: Life, { fetched }: Data): number {
  const wanted = fetched?.bundle.directive.testingMs ?? house.settings.testingMs
  return Math.min(wanted, TESTING_MS_MAX)
}

/** Whether how it went is decided already. */
function isOver(data: Data): boolean {
  return data.ending !== undefined || data.isStoring
}

async function kept(life: Life, ctx: Ctx, data: Data, result: RunResult): Promise<Step> {
  const at = life.house.register.now()
  const inWords = resultInWords(data.mask, result)
  const after = await written(life, ctx, data, [{ type: 'result-kept', at, result: inWords }])
  return store(life, ctx, after)
}

function store(life: Life, ctx: Ctx, data: Data): Step {
  const storage = childOf<BlockStorageMessage>(data, 'block-storage')
  if (storage === undefined || data.fetched === undefined) return over(data, 'pending', NO_FILES)
  const { bucket } = recordOf(data).start!
  storage.tell({ type: 'store-evidence', bucket, room: data.room })
  const { loadingMs } = life.house.settings
  return stay(limited(life, ctx, { ...data, isStoring: true }, 'Testing', loadingMs))
}

/** Asks the worker to end; what follows, follows when it has. */
function ending(life: Life, ctx: Ctx, data: Data, why: Ending): Step {
  const error = errorInWords(data.mask, why.error)
  const after = { ...data, ending: { ...why, error } }
  const worker = childOf<CucumberMessage>(after, 'cucumber')
  if (worker === undefined) return store(life, ctx, after)
  worker.tell({ type: 'stop' })
  const endMs = life.house.settings.graceMs + CHILDREN_END_MS
  return stay(limited(life, ctx, after, 'Testing', endMs))
}

function childEnded(
  life: Life,
  ctx: Ctx,
  before: Data,
  { kind, actor, ended }: Extract<ExecutionMessage, { type: 'child-ended' }>,
): Step {
  const data = withoutChild(before, kind, actor)
  if (data.isStoring) return kind === 'block-storage' ? over(data, 'pending', NO_FILES) : stay(data)
  if (data.ending !== undefined) return kind === 'cucumber' ? store(life, ctx, data) : stay(data)
  return ending(life, ctx, data, { outcome: 'errored', error: endedError(kind, ended) })
}

/** The run is too long; or its worker does not end, or its evidence is not stored: then without them. */
function overdue(life: Life, ctx: Ctx, data: Data): Step {
  if (data.isStoring) return over(data, 'pending', NO_FILES)
  if (data.ending === undefined)
    return ending(life, ctx, data, { outcome: 'timed-out', error: overdueError('Testing') })
  logOf(life).error('the worker of a test does not end', {})
  return over(data, 'none', NO_FILES)
}

function over(data: Data, evidence: EvidenceState, files: readonly EvidenceFile[]): Step {
  const { ending: why } = data
  if (why === undefined)
    return to('Completed', { ...data, arrival: { type: 'complete', evidence, files } })
  return to('Exception', { ...data, arrival: { type: 'fail', ...why, evidence, files } })
}
