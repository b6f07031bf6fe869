/**
 * The guardian: it has one child, the queue, and sees to it that there is one.
 *
 * A queue that fails is restarted at the same address with what is on record. One that fails too often
 * ends; then it is made anew after a while, or as soon as somebody wants it. Whoever holds the ref of a
 * queue that has ended asks for another.
 */
import {
  receive,
  restart,
  setup,
  type Behavior,
  type ChildFactory,
  type Ref,
} from '../kernel/index.ts'
import { fault, unreachable, type Log } from '../std/index.ts'
import { faultOf } from './children/child.ts'
import {
  QUEUE_RECREATE_MS,
  QUEUE_RESTARTS_MAX,
  QUEUE_RESTARTS_WINDOW_MS,
  TEST_QUEUE_MAIL_MAX,
} from './limits.ts'
import type { GuardianMessage, ProbeFault, QueueMessage } from './protocol.ts'

export function guardian(
  queueFactory: ChildFactory<[], QueueMessage>,
  log: Log,
): Behavior<GuardianMessage> {
  return setup((ctx) => {
    let queue: Ref<QueueMessage> | undefined
    return receive((_ctx, message) => {
      switch (message.type) {
        case 'initialize':
          return void message.replyTo.tell(initialized())
        case 'get-queue':
          return void message.replyTo.tell(queue ?? notInitialized())
        case 'queue-ended':
          log.error('the queue of tests has ended', { cause: message.ended.cause })
          queue = undefined
          ctx.timers.after('recreate', QUEUE_RECREATE_MS, { type: 'recreate' })
          return undefined
        case 'recreate':
          initialized()
          return undefined
        default:
          return unreachable(message)
      }
    })

    function initialized(): Ref<QueueMessage> | ProbeFault {
      if (queue !== undefined) return queue
      ctx.timers.cancel('recreate')
      try {
        const supervision = restart({
          max: QUEUE_RESTARTS_MAX,
          windowMs: QUEUE_RESTARTS_WINDOW_MS,
        })
        const made = ctx.spawn('queue-actor', queueFactory(), {
          supervision,
          bound: TEST_QUEUE_MAIL_MAX,
        })
        ctx.watch(made, (ended) => ({ type: 'queue-ended', ended }))
        queue = made
        return made
      } catch (error) {
        return fault('probe-unavailable', `there is no queue: ${faultOf(error).message}`, {
          remedy: 'try again, and look at the log of the server',
        })
      }
    }
  })
}

function notInitialized(): ProbeFault {
  return fault('probe-unavailable', 'the queue was asked for before it was initialized', {
    remedy: 'initialize the guardian first',
  })
}
