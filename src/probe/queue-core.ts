/**
 * The queue from inside: what its actor keeps between two messages, and what both its halves need. What
 * it does for clients is in `routing.ts`, what it does when tests tell of themselves in `noticing.ts`.
 */
import { retry, stop, type Context, type Ref, type Supervision } from '../kernel/index.ts'
import { assert } from '../std/index.ts'
import type { Begin } from './execution/data.ts'
import type { House } from './house.ts'
import { CONFIRM_MS } from './limits.ts'
import type { ExecutionMessage, QueueMessage, Standing } from './protocol.ts'
import { reader, type RecordRequest, type StatusRequest } from './reader.ts'
import type { TestError } from './record.ts'
import { Request, Requests } from './requests.ts'
import { Schedule } from './schedule.ts'

/** A journal that is overloaded for a moment costs no test; what an actor cannot end, another one does. */
const EXECUTION: Supervision = retry({ max: 5, backoff: { maxMs: 5_000 }, otherwise: stop() })
const MOURNING: Supervision = retry({ max: 20, backoff: { maxMs: 5_000 } })

export type Entry = {
  readonly testId: string
  actor: Ref<ExecutionMessage>
  /** Which of the actors that were made for tests it is; notices of earlier ones are late. */
  life: number
  /** Requests that its actor has and has not answered. */
  readonly open: Requests
  /** Its actor has said that it ends. */
  isLeaving: boolean
  /** Why its actor is made to end. */
  doom: TestError | undefined
  ranFrom: number | undefined
}

export type Of<T extends QueueMessage['type']> = Extract<QueueMessage, { type: T }>

export class QueueCore {
  readonly ctx: Context<QueueMessage>
  readonly house: House
  readonly schedule: Schedule
  readonly tests: Map<string, Entry> = new Map()
  /** Requests that are in nobody else's hands. */
  readonly open: Requests = new Requests()
  readonly drainers: Requests = new Requests()
  nextPlace = 1

  constructor(ctx: Context<QueueMessage>, house: House) {
    this.ctx = ctx
    this.house = house
    const { slots, policy, depth } = house.settings
    this.schedule = new Schedule({ slots, policy, depth })
    house.seen.schedule = this.schedule
  }

  /** One that can answer for itself. */
  live(testId: string): Entry | undefined {
    const entry = this.tests.get(testId)
    return entry === undefined || entry.isLeaving ? undefined : entry
  }

  /** An actor for a test; `before` is what is known of one that has ended. */
  spawn(testId: string, begin: Begin, before?: Entry): Entry {
    const { ctx, house } = this
    const { self } = ctx
    const life = ++house.seen.lives
    const queue = {
      get path() {
        return self.path
      },
      tell: (notice: Of<'test-notice'>['notice']) =>
        self.tell({ type: 'test-notice', life, notice }),
    }
    const behavior = house.factories.execution({ testId, queue, house, begin })
    const supervision = begin.type === 'mourning' ? MOURNING : EXECUTION
    const actor = ctx.spawn(`test-execution-${testId}`, behavior, { supervision })
    ctx.watch(actor, (ended) => ({ type: 'test-ended', testId, life, ended }))
    if (before !== undefined) {
      before.actor = actor
      before.life = life
      return before
    }
    const entry: Entry = {
      testId,
      actor,
      life,
      open: new Requests(),
      isLeaving: false,
      doom: undefined,
      ranFrom: undefined,
    }
    this.tests.set(testId, entry)
    return entry
  }

  /** The answer comes from what is on record. */
  read(request: RecordRequest | StatusRequest): undefined {
    this.ctx.spawnAnonymous(reader(this.house, this.ctx.self, request))
    return undefined
  }

  /** Starts whatever can, and tells whoever waits for all to be still. */
  process(): undefined {
    const { schedule } = this
    for (let testId = schedule.next(); testId !== undefined; testId = schedule.next()) {
      const entry = this.tests.get(testId)
      assert(entry !== undefined, 'who stands in line has an actor')
      entry.ranFrom = this.house.register.now()
      this.ctx.timers.after(confirmKey(testId), CONFIRM_MS, { type: 'not-confirmed', testId })
      entry.actor.tell({ type: 'start-testing' })
    }
    const { mode, running } = schedule
    if (mode !== 'draining' || running === 0)
      for (const request of this.drainers) request.tell({ mode, running })
    return undefined
  }

  standing(testId: string): Standing {
    const position = this.schedule.position(testId)
    return position === undefined ? {} : this.standingAt(position)
  }

  standingAt(position: number): Standing {
    const estimateMs = this.schedule.estimateMs(position)
    return { position, ...(estimateMs !== undefined && { estimateMs }) }
  }
}

/** The actor of a test has the request from here on. */
export function handOver(replyTo: Ref<never>, { open }: Entry): void {
  if (replyTo instanceof Request) replyTo.handTo(open)
}

export function confirmKey(testId: string): string {
  return `confirm-${testId}`
}
