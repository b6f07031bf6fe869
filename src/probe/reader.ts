/** Answers one request about a test that has no actor, from its record, and is gone. */
import { receive, setup, type Behavior, type Ref } from '../kernel/index.ts'
import { fault, unreachable } from '../std/index.ts'
import { faultOf } from './children/child.ts'
import {
  noSuchTest,
  notAccepted,
  notCancelled,
  notExtendable,
  startedBefore,
  statusOf,
} from './execution/answering.ts'
import type { House } from './house.ts'
import type { ProbeFault, QueueMessage, QueueRequest, QueueStatus } from './protocol.ts'
import type { TestRecord } from './record.ts'

export type RecordRequest = Exclude<
  QueueRequest,
  Readonly<{ type: 'initialize-test' | 'set-mode' | 'queue-status' }>
> &
  Readonly<{ testId: string }>

export type StatusRequest = Readonly<{
  type: 'queue-status'
  testId: string
  /** What there is to say but for the one test. */
  status: QueueStatus
  replyTo: Ref<QueueStatus | ProbeFault>
}>

type Message = Readonly<{ record: TestRecord | undefined }> | Readonly<{ error: unknown }>

export function reader(
  { register }: House,
  queue: Ref<QueueMessage>,
  request: RecordRequest | StatusRequest,
): Behavior<Message> {
  return setup((ctx) => {
    const { testId } = request
    const owed = ctx.owe<unknown>(unlessHandedOn(request.replyTo), unread(testId))
    ctx.pipe<TestRecord | undefined>(
      register.read(testId),
      (record) => ({ record }),
      (error) => ({ error }),
    )
    return receive((_ctx, message) => {
      if ('error' in message) owed.tell(unread(testId, message.error))
      else if (message.record === undefined) owed.tell(noSuchTest(testId))
      else owed.tell(answer(message.record))
      return 'stopped'
    })
  })

  function answer(record: TestRecord): unknown {
    const { testId, state } = record
    if (request.type === 'test-status') return statusOf(record)
    if (request.type === 'queue-status') return { ...request.status, test: { testId, state } }
    if (record.outcome === undefined) {
      queue.tell(request) // it has an actor again since it was asked for
      return HANDED_ON
    }
    switch (request.type) {
      case 'start-test': {
        const { priority = record.priority, ...options } = request.options
        return startedBefore(record, { ...options, priority }, {})
      }
      case 'cancel-test':
        return notCancelled(record)
      case 'extend-test':
        return notExtendable(testId, state)
      case 'retry-test':
        if (record.start === undefined) return notAccepted(testId, 'never-started')
        queue.tell({ type: 'revive-test', record, replyTo: request.replyTo })
        return HANDED_ON
      default:
        return unreachable(request)
    }
  }
}

const HANDED_ON = Symbol('handed on')

/** What was owed is settled as well when somebody else will answer. */
function unlessHandedOn(replyTo: Ref<never>): Ref<unknown> {
  return {
    path: replyTo.path,
    tell: (answer) =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an answer to that request
      answer === HANDED_ON ? undefined : replyTo.tell(answer as never),
  }
}

function unread(testId: string, error?: unknown): ProbeFault {
  const why = error === undefined ? 'whoever read it has ended' : faultOf(error).message
  return fault('probe-unavailable', `the test ${testId} could not be looked up: ${why}`, {
    testId,
    remedy: 'try again',
  })
}
