/**
 * ShuttingDown: what ended the test is written and answered first, then the children end, and when none
 * is left the queue is told and the actor ends. Children that take too long are not waited for.
 *
 * The block storage ends last: a worker that is being ended still writes to the directories that go with it.
 * What a run that was cancelled has left as evidence is stored before that, once, if it can be.
 * What a child has left behind that failed is removed here, so that nothing of a test stays after it.
 */
import { stay } from '../../kernel/index.ts'
import { CHILDREN_END_MS } from '../limits.ts'
import type { BlockStorageMessage, ChildKind, CucumberMessage } from '../protocol.ts'
import type { TestEvent } from '../record.ts'
import {
  limited,
  logOf,
  withoutChild,
  written,
  type Ctx,
  type Data,
  type ExecutionState,
  type Life,
  type Step,
} from './data.ts'
import { exceptionEvents } from './finished.ts'
import { handling } from './handling.ts'
import { childOf } from './loading.ts'

export const shuttingDownState: ExecutionState = {
  async enter(ctx, data) {
    const { life, arrival } = data
    const isOwed = arrival.type === 'cancel' && data.record?.state === 'Testing'
    const events = eventsOf(life, data)
    const noted = events.length > 0 ? await written(life, ctx, data, events) : data
    const after = { ...noted, isOwed: (isOwed || data.isOwed) && !data.isStoring }
    ctx.timers.cancel('store')
    if (arrival.type === 'cancel') arrival.replyTo.tell({ testId: life.testId, cancelled: true })
    if (after.children.size === 0) return gone(after)
    life.queue.tell({ type: 'test-ending', testId: life.testId })
    for (const kind of after.children.keys()) if (kind !== 'block-storage') tellStop(after, kind)
    const endMs = life.house.settings.graceMs + CHILDREN_END_MS
    return stay(endLast(life, ctx, limited(life, ctx, after, 'ShuttingDown', endMs)))
  },
  on: handling('ShuttingDown', {
    'child-ended'(ctx, data, { kind, actor }) {
      const after = withoutChild(data, kind, actor)
      return after.children.size === 0 ? gone(after) : stay(endLast(data.life, ctx, after))
    },
    async 'evidence-stored'(ctx, data, { files }) {
      if (!data.isStoring) return stay(data)
      const { life } = data
      const at = life.house.register.now()
      const after = await written(life, ctx, data, [{ type: 'evidence-stored', at, files }])
      return stay(endLast(life, ctx, { ...after, isStoring: false }))
    },
    'evidence-failed'(ctx, data, { fault }) {
      if (!data.isStoring) return stay(data)
      logOf(data.life).warn('evidence of a cancelled test is not kept', { code: fault.code })
      return stay(endLast(data.life, ctx, { ...data, isStoring: false }))
    },
    overdue(_ctx, data, { state }) {
      if (state !== 'ShuttingDown') return stay(data)
      logOf(data.life).error('parts of a test do not end', { parts: [...data.children.keys()] })
      return gone(data)
    },
  }),
}

/** The block storage is asked for what it still owes, and ends when it is the last. */
function endLast(life: Life, ctx: Ctx, data: Data): Data {
  if (data.children.size > 1 || data.isStoring) return data
  const storage = childOf<BlockStorageMessage>(data, 'block-storage')
  const start = data.record?.start
  if (!data.isOwed || storage === undefined || start === undefined) {
    tellStop(data, 'block-storage')
    return data
  }
  storage.tell({ type: 'store-evidence', bucket: start.bucket, room: data.room })
  const storing = { ...data, isOwed: false, isStoring: true }
  return limited(life, ctx, storing, 'ShuttingDown', life.house.settings.loadingMs)
}

function tellStop(data: Data, kind: ChildKind): void {
  childOf<CucumberMessage>(data, kind)?.tell({ type: 'stop' })
}

function eventsOf(life: Life, data: Data): readonly TestEvent[] {
  const { arrival } = data
  if (arrival.type !== 'cancel') return exceptionEvents(life, data)
  const { by } = arrival
  return [{ type: 'cancelled', at: life.house.register.now(), ...(by !== undefined && { by }) }]
}

async function gone({ life, record }: Data): Promise<Step> {
  const { queue, testId } = life
  await clear(life)
  const outcome = record?.outcome
  queue.tell({ type: 'test-stopping', testId, ...(outcome !== undefined && { outcome }) })
  return 'stopped'
}

/** Directories that a child has left which could not do it itself any more. */
async function clear(life: Life): Promise<void> {
  const { staging } = life.house.ports
  try {
    const left = await staging.reopen(life.testId)
    await left?.remove()
  } catch (error) {
    logOf(life).error('the directories of a test could not be removed', { error: String(error) })
  }
}
