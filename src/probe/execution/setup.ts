/** Setup: the test is there and waits for its bundle, for as long as it may. */
import { stay, to } from '../../kernel/index.ts'
import { fault } from '../../std/index.ts'
import type { Initialized, ProbeFault } from '../protocol.ts'
import { errorOf, type TestEvent } from '../record.ts'
import { faultOf } from '../children/child.ts'
import type { RepeatedRequest } from '../register.ts'
import { notAccepted } from './answering.ts'
import {
  GO_ON,
  limited,
  recordOf,
  type Arrival,
  type Ctx,
  type Data,
  type ExecutionState,
  type Life,
  type Step,
} from './data.ts'
import { handling } from './handling.ts'
import { cancelled, extended, failed, timedOut } from './otherwise.ts'

type Fresh = Extract<Arrival, { type: 'fresh' }>

export const setupState: ExecutionState = {
  async enter(ctx, data) {
    if (data.arrival.type === 'fresh') return initialize(data.life, ctx, data, data.arrival)
    return stay(armed(data.life, ctx, { ...data, arrival: GO_ON }))
  },
  on: handling('Setup', {
    start: (_ctx, data, { options, place, standing, replyTo }) =>
      to('Loading', { ...data, arrival: { type: 'start', options, place, standing, replyTo } }),
    retry(_ctx, data, { replyTo }) {
      replyTo.tell(notAccepted(data.life.testId, 'never-started'))
      return stay(data)
    },
    cancel: (_ctx, data, message) => cancelled(data, message),
    extend: (ctx, data, message) => extended(data.life, ctx, data, 'Setup', message),
    overdue: (_ctx, data, { state }) => (state === 'Setup' ? timedOut(data, 'Setup') : stay(data)),
    'child-failed': (_ctx, data, { kind, fault: reason }) => failed(data, errorOf(kind, reason)),
  }),
}

/** The one `enter` that answers when it cannot write: nothing of the test is there yet. */
async function initialize(life: Life, ctx: Ctx, data: Data, fresh: Fresh): Promise<Step> {
  const { testId, queue, house } = life
  const { signal } = ctx
  const { replyTo } = fresh
  let answer: Initialized | ProbeFault
  try {
    const appended = await house.register.append(
      testId,
      undefined,
      [initializedEvent(life, fresh)],
      requestOf(fresh),
    )
    signal.throwIfAborted()
    if (appended.type === 'appended') {
      const after = armed(life, ctx, { ...data, record: appended.record, arrival: GO_ON })
      replyTo.tell({ testId, message: 'Test initialized' })
      queue.tell({ type: 'test-initialized', testId })
      return stay(after)
    }
    answer =
      appended.type === 'duplicate'
        ? { testId: appended.testId, message: 'Test initialized' }
        : mismatch(appended.fields)
  } catch (error) {
    signal.throwIfAborted()
    answer = unavailable(error)
  }
  replyTo.tell(answer)
  queue.tell({ type: 'test-stopping', testId })
  return 'stopped'
}

function initializedEvent({ house }: Life, { priority, by }: Fresh): TestEvent {
  const at = house.register.now()
  const deadlineAt = at + house.settings.setupMs
  return { type: 'initialized', at, deadlineAt, priority, ...(by !== undefined && { by }) }
}

function requestOf({ requestId, priority, by }: Fresh): RepeatedRequest | undefined {
  if (requestId === undefined) return undefined
  return { id: requestId, content: { priority, ...(by !== undefined && { by }) } }
}

/** What is left of its time, also after a restart. */
function armed(life: Life, ctx: Ctx, data: Data): Data {
  const { deadlineAt = 0 } = recordOf(data)
  return limited(life, ctx, data, 'Setup', Math.max(0, deadlineAt - life.house.register.now()))
}

function mismatch(fields: readonly string[]): ProbeFault {
  return fault('request-mismatch', 'another test was initialized with this request id', {
    fields,
    remedy: 'give a request id of its own to each test',
  })
}

function unavailable(error: unknown): ProbeFault {
  const { code, message, detail } = faultOf(error)
  if (code === 'probe-closed') return fault('probe-closed', message, detail)
  return fault('probe-overloaded', `the test could not be written down: ${message}`, {
    remedy: 'try again later',
    ...detail,
  })
}
