/**
 * Completed and Exception: the outcome is on record, the children end, and the actor stays for a while.
 *
 * Evidence that could not be stored is tried again from here, for as long as it takes or until it was
 * tried too often; the actor stays as long. A test that has ended may be queued again once no
 * child of its last run is left.
 */
import { stay, to } from '../../kernel/index.ts'
import { fault, type Fault } from '../../std/index.ts'
import { EVIDENCE_RETRY_MS_MAX, EVIDENCE_RETRY_MS_MIN, EVIDENCE_TRIES_MAX } from '../limits.ts'
import type { BlockStorageMessage, CucumberMessage, ExecutionMessage } from '../protocol.ts'
import { errorOf, isLive, type TestEvent, type TestRecord } from '../record.ts'
import { notAccepted } from './answering.ts'
import {
  GO_ON,
  limited,
  logOf,
  NO_FILES,
  recordOf,
  unlimited,
  withoutChild,
  written,
  type Ctx,
  type Data,
  type ExecutionState,
  type Life,
  type Step,
} from './data.ts'
import { handling } from './handling.ts'
import { childOf, spawnChild } from './loading.ts'

export const completedState: ExecutionState = {
  async enter(ctx, data) {
    const { life } = data
    const { testId, queue } = life
    const isNews = data.arrival.type === 'complete'
    const after = isNews ? await written(life, ctx, data, completedEvents(life, data)) : data
    const record = recordOf(after)
    if (isNews) queue.tell({ type: 'test-completed', testId, outcome: record.outcome! })
    return stay(settled(life, ctx, after, 'Completed'))
  },
  on: finishedOn('Completed'),
}

export const exceptionState: ExecutionState = {
  async enter(ctx, data) {
    if (data.arrival.type === 'mourning') return mourn(data.life, ctx, data, data.arrival)
    const { life } = data
    const { testId, queue } = life
    const events = exceptionEvents(life, data)
    const after = events.length > 0 ? await written(life, ctx, data, events) : data
    const { outcome, error } = recordOf(after)
    if (events.length > 0 && outcome !== undefined && error !== undefined)
      queue.tell({ type: 'test-exception', testId, outcome, error })
    return stay(settled(life, ctx, after, 'Exception'))
  },
  on: finishedOn('Exception'),
}

function completedEvents(life: Life, data: Data): readonly TestEvent[] {
  const { arrival } = data
  const { result } = recordOf(data)
  if (arrival.type !== 'complete' || result === undefined) return []
  const { evidence, files } = arrival
  const outcome = result.passed ? 'passed' : 'failed'
  const at = life.house.register.now()
  return [{ type: 'completed', at, outcome, result, evidence, files }]
}

export function exceptionEvents(life: Life, { arrival }: Data): readonly TestEvent[] {
  const at = life.house.register.now()
  if (arrival.type === 'interrupted') return [{ type: 'interrupted', at }]
  if (arrival.type !== 'fail') return []
  const { outcome, error, evidence, files } = arrival
  return [{ type: 'errored', at, outcome, error, evidence, files }]
}

/** Brings to an end what is on record of a test whose actor has ended unasked. */
async function mourn(
  life: Life,
  ctx: Ctx,
  data: Data,
  { error }: Extract<Data['arrival'], { type: 'mourning' }>,
): Promise<Step> {
  const { signal } = ctx
  const record = await life.house.register.read(life.testId)
  signal.throwIfAborted()
  if (record === undefined) return to('ShuttingDown', { ...data, arrival: GO_ON })
  if (record.outcome !== undefined) {
    const { outcome, state } = record
    if (state === 'Completed')
      life.queue.tell({ type: 'test-completed', testId: life.testId, outcome })
    else
      life.queue.tell({
        type: 'test-exception',
        testId: life.testId,
        outcome,
        error: record.error ?? error,
      })
    return to(state === 'Completed' ? 'Completed' : 'Exception', {
      ...data,
      record,
      arrival: GO_ON,
    })
  }
  if (record.result !== undefined)
    return to('Completed', {
      ...data,
      record,
      arrival: { type: 'complete', evidence: 'pending', files: NO_FILES },
    })
  const evidence = await leftBehind(life, record)
  signal.throwIfAborted()
  return to('Exception', {
    ...data,
    record,
    arrival: { type: 'fail', outcome: 'errored', error, evidence, files: NO_FILES },
  })
}

/** Evidence that was being stored when its test ended is still there. */
async function leftBehind(
  { house, testId }: Life,
  { state }: TestRecord,
): Promise<'none' | 'pending'> {
  if (state !== 'Testing') return 'none'
  const staged = await house.ports.staging.reopen(testId).catch(() => undefined)
  return staged === undefined ? 'none' : 'pending'
}

/** Ends the children, and sets what comes next: another try for the evidence, or the end. */
function settled(life: Life, ctx: Ctx, data: Data, state: 'Completed' | 'Exception'): Data {
  const isPending = recordOf(data).evidence === 'pending'
  for (const [kind, actor] of data.children)
    // Told to stop, the block storage would give up evidence that is still to be stored.
    if (isPending && kind === 'block-storage') ctx.stop(actor)
    else childOf<CucumberMessage>(data, kind)?.tell({ type: 'stop' })
  const after = { ...data, isStoring: false, room: undefined, security: undefined }
  return isPending ? storeLater(life, ctx, after) : leaving(life, ctx, after, state)
}

function leaving(life: Life, ctx: Ctx, data: Data, state: 'Completed' | 'Exception'): Data {
  const { completedMs, exceptionMs } = life.house.settings
  return limited(life, ctx, data, state, state === 'Completed' ? completedMs : exceptionMs)
}

function storeLater(life: Life, ctx: Ctx, data: Data): Data {
  const ms = Math.min(EVIDENCE_RETRY_MS_MIN * 2 ** data.tries, EVIDENCE_RETRY_MS_MAX)
  ctx.timers.after('store', ms, { type: 'store-again' })
  return unlimited(ctx, data)
}

function finishedOn(state: 'Completed' | 'Exception'): ExecutionState['on'] {
  return handling(state, {
    overdue: (_ctx, data, message) =>
      message.state === state ? to('ShuttingDown', { ...data, arrival: GO_ON }) : stay(data),
    retry: (ctx, data, message) => retried(data.life, ctx, data, message),
    'store-again': (ctx, data) => storeAgain(data.life, ctx, data, state),
    'evidence-stored': (ctx, data, { files }) =>
      data.isStoring ? stored(data.life, ctx, data, state, files) : stay(data),
    'evidence-failed': (ctx, data, { fault: reason }) =>
      data.isStoring ? notStored(data.life, ctx, data, state, reason) : stay(data),
    'child-ended'(ctx, data, { kind, actor }) {
      if (data.children.get(kind) !== actor) return stay(data)
      const after = withoutChild(data, kind, actor)
      if (after.children.size === 0) ctx.unstash()
      if (kind !== 'block-storage' || !data.isStoring) return stay(after)
      return stay(
        storeLater(data.life, ctx, { ...after, isStoring: false, tries: after.tries + 1 }),
      )
    },
  })
}

function retried(
  life: Life,
  ctx: Ctx,
  data: Data,
  message: Extract<ExecutionMessage, { type: 'retry' }>,
): Step {
  const record = recordOf(data)
  const { replyTo, place, standing } = message
  if (record.start === undefined) replyTo.tell(notAccepted(life.testId, 'never-started'))
  else if (isLive(record)) replyTo.tell(notAccepted(life.testId, 'evidence-pending'))
  else if (data.children.size > 0) {
    if (ctx.stash(message) !== undefined) replyTo.tell(notAccepted(life.testId, 'shutting-down'))
  } else
    return to('Loading', {
      ...data,
      arrival: { type: 'requeue', why: 'retry', place, standing, replyTo },
    })
  return stay(data)
}

/** By an actor of its own each time; one that takes too long has failed, and is not waited for. */
function storeAgain(
  life: Life,
  ctx: Ctx,
  data: Data,
  state: 'Completed' | 'Exception',
): Step | Promise<Step> {
  if (recordOf(data).evidence !== 'pending') return stay(data)
  if (data.children.has('block-storage')) return notStored(life, ctx, data, state, storeOverdue())
  const after = spawnChild(life, ctx, data, 'block-storage')
  childOf<BlockStorageMessage>(after, 'block-storage')?.tell({
    type: 'store-evidence',
    bucket: recordOf(data).start!.bucket,
    room: undefined,
  })
  ctx.timers.after('store', life.house.settings.loadingMs, { type: 'store-again' })
  return stay({ ...after, isStoring: true })
}

async function stored(
  life: Life,
  ctx: Ctx,
  data: Data,
  state: 'Completed' | 'Exception',
  files: Extract<ExecutionMessage, { type: 'evidence-stored' }>['files'],
): Promise<Step> {
  const at = life.house.register.now()
  const after = await written(life, ctx, data, [{ type: 'evidence-stored', at, files }])
  return stay(settled(life, ctx, after, state))
}

async function notStored(
  life: Life,
  ctx: Ctx,
  data: Data,
  state: 'Completed' | 'Exception',
  reason: Extract<ExecutionMessage, { type: 'evidence-failed' }>['fault'],
): Promise<Step> {
  const tries = data.tries + 1
  const isGone = reason.code === 'child-not-ready' // there is no directory to store it from
  if (tries < EVIDENCE_TRIES_MAX && !isGone)
    return stay(settled(life, ctx, { ...data, tries }, state))
  logOf(life).error('evidence is given up', { code: reason.code, tries })
  const error = errorOf('block-storage', reason)
  const at = life.house.register.now()
  const after = await written(life, ctx, data, [{ type: 'evidence-lost', at, error }])
  return stay(settled(life, ctx, { ...after, tries }, state))
}

function storeOverdue(): Fault<'test-overdue'> {
  return fault('test-overdue', 'storing the evidence took longer than it may', {
    remedy: 'look at the store of the evidence',
  })
}
