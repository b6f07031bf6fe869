/**
 * The queue: which tests there are, who stands where, and who runs.
 *
 * It routes and schedules, and does nothing else: every request goes on to the actor of its test with the
 * ref that is told the answer. Whatever ends a test, also the sudden end of its actor, takes it out of the
 * line and frees its slot; what is on record of it is brought to an end by another actor of its name.
 *
 * It has no memory of its own to lose. A queue that starts, for the first time or after a failure,
 * begins with what is on record, and takes no request before.
 */
import { receive, setup, type Behavior, type Context } from '../kernel/index.ts'
import { fault, unreachable } from '../std/index.ts'
import type { House } from './house.ts'
import { RETENTION_CHECK_MS } from './limits.ts'
import { notConfirmed, noticed, testEnded } from './noticing.ts'
import type { ProbeFault, QueueMessage, QueueRequest } from './protocol.ts'
import { QueueCore } from './queue-core.ts'
import { lineUp } from './recovery.ts'
import { refuseAll, Request } from './requests.ts'
import { retention } from './retention.ts'
import { revive, route } from './routing.ts'

export function testQueue(house: House): Behavior<QueueMessage> {
  return setup((ctx) => {
    const actor = new QueueActor(ctx, house)
    ctx.self.tell({ type: 'recover' })
    return receive((_ctx, message) => actor.take(message), { onStop: () => actor.fall() })
  })
}

class QueueActor {
  readonly #core: QueueCore
  #isRecovered = false

  constructor(ctx: Context<QueueMessage>, house: House) {
    this.#core = new QueueCore(ctx, house)
  }

  take(message: QueueMessage): undefined | Promise<undefined> {
    const taken = isRequest(message) ? new Request(message, this.#core.open).message : message
    if (this.#isRecovered) return this.#handle(taken)
    return this.#recover().then(() => this.#handle(taken))
  }

  /** Whoever waits for an answer is told that there will be none. */
  fall(): void {
    const { open, drainers, tests } = this.#core
    const reason = unavailable()
    refuseAll(open, reason)
    refuseAll(drainers, reason)
    for (const entry of tests.values()) refuseAll(entry.open, reason)
  }

  async #recover(): Promise<void> {
    const core = this.#core
    const { signal } = core.ctx
    const { register, ports, settings, log, tally } = core.house
    core.schedule.mode = await register.mode()
    const { tests, nextPlace, kept } = lineUp(await register.live(), settings)
    await ports.staging.sweep(kept).catch((error: unknown) => {
      log.warn('directories of earlier tests could not be removed', { error: String(error) })
    })
    signal.throwIfAborted()
    core.nextPlace = nextPlace
    for (const { record, state, place, isWaiting } of tests) {
      core.schedule.add(record.testId, record.priority, state)
      if (isWaiting) core.schedule.enqueue(record.testId, record.priority)
      core.spawn(record.testId, { type: 'recovered', record, place })
    }
    this.#isRecovered = true
    tally.recoveries++
    core.ctx.self.tell({ type: 'forget-old' })
  }

  #handle(message: QueueMessage): undefined | Promise<undefined> {
    const core = this.#core
    if (isRequest(message)) return route(core, message)
    switch (message.type) {
      case 'test-notice':
        return noticed(core, message)
      case 'test-ended':
        return testEnded(core, message)
      case 'not-confirmed':
        return notConfirmed(core, message.testId)
      case 'revive-test':
        return revive(core, message)
      case 'forget-old':
        core.ctx.timers.after('forget-old', RETENTION_CHECK_MS, message)
        core.ctx.spawnAnonymous(retention(core.house))
        return undefined
      case 'recover':
        return core.process()
      default:
        return unreachable(message)
    }
  }
}

function isRequest(message: QueueMessage): message is QueueRequest {
  return 'replyTo' in message && message.type !== 'revive-test'
}

function unavailable(): ProbeFault {
  return fault('probe-unavailable', 'the queue has ended in the middle of it', {
    remedy: 'look at the status of the test, and try again',
  })
}
