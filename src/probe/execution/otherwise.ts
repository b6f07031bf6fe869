/** What a state does with a message that it has no opinion of its own about: every request is answered. */
import { stay, to } from '../../kernel/index.ts'
import { unreachable } from '../../std/index.ts'
import { EXTEND_MS_MAX } from '../limits.ts'
import type { ExecutionMessage, TestState } from '../protocol.ts'
import type { TestError } from '../record.ts'
import {
  errorInWords,
  notAccepted,
  notCancelled,
  notExtendable,
  startedBefore,
  statusOf,
} from './answering.ts'
import {
  logOf,
  NO_FILES,
  recordOf,
  withoutChild,
  written,
  type Ctx,
  type Data,
  type Life,
  type Step,
} from './data.ts'

export function otherwise(
  life: Life,
  data: Data,
  state: TestState,
  message: ExecutionMessage,
): Step {
  const { testId } = life
  switch (message.type) {
    case 'get-status':
      message.replyTo.tell(statusOf(recordOf(data), message.standing, data.progress))
      return stay(data)
    case 'start':
      message.replyTo.tell(
        state === 'ShuttingDown'
          ? notAccepted(testId, 'shutting-down')
          : startedBefore(recordOf(data), message.options, message.standing),
      )
      return stay(data)
    case 'retry':
      message.replyTo.tell(notAccepted(testId, 'not-finished'))
      return stay(data)
    case 'cancel':
      message.replyTo.tell(notCancelled(recordOf(data)))
      return stay(data)
    case 'extend':
      message.replyTo.tell(notExtendable(testId, state))
      return stay(data)
    case 'child-ended':
      return stay(withoutChild(data, message.kind, message.actor))
    case 'child-failed':
    case 'child-ready':
    case 'bundle-fetched':
    case 'security-fetched':
    case 'progress':
    case 'test-complete':
    case 'evidence-stored':
    case 'evidence-failed':
    case 'start-testing':
    case 'overdue':
    case 'store-again':
      logOf(life).debug('a message came in a state that has no use for it', {
        state,
        message: message.type,
      })
      return stay(data)
    default:
      return unreachable(message)
  }
}

/** Puts off the deadline of the present state. */
export async function extended(
  life: Life,
  ctx: Ctx,
  data: Data,
  state: TestState,
  { ms, replyTo }: Extract<ExecutionMessage, { type: 'extend' }>,
): Promise<Step> {
  const { register } = life.house
  const at = register.now()
  const deadlineAt = Math.min(data.deadlineAt ?? at, at + EXTEND_MS_MAX) + ms
  const after = await written(life, ctx, data, [{ type: 'extended', at, ms, deadlineAt }])
  ctx.timers.after('deadline', Math.max(0, deadlineAt - at), { type: 'overdue', state })
  replyTo.tell({ testId: life.testId, deadlineAt })
  return stay({ ...after, deadlineAt })
}

export function cancelled(
  data: Data,
  { by, replyTo }: Extract<ExecutionMessage, { type: 'cancel' }>,
): Step {
  return to('ShuttingDown', { ...data, arrival: { type: 'cancel', by, replyTo } })
}

/** To the state of a test that could not run. */
export function failed(data: Data, error: TestError): Step {
  return to('Exception', {
    ...data,
    arrival: {
      type: 'fail',
      outcome: 'errored',
      error: errorInWords(data.mask, error),
      evidence: 'none',
      files: NO_FILES,
    },
  })
}

/** To the end of a test that took too long before it ran. */
export function timedOut(data: Data, state: TestState): Step {
  return to('ShuttingDown', {
    ...data,
    arrival: {
      type: 'fail',
      outcome: 'timed-out',
      error: overdueError(state),
      evidence: 'none',
      files: NO_FILES,
    },
  })
}

export function overdueError(state: TestState): TestError {
  return {
    kind: 'deadline',
    code: 'test-overdue',
    message: `the test was ${state} for longer than it may be`,
  }
}
