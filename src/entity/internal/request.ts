/**
 * A command on its way: who asked, until when, and what was decided about it.
 *
 * The work and the caller end separately. A caller is told by its deadline at the latest; work that has
 * begun goes on without it, and work that has not is dropped when nobody waits for it any more. Callers
 * who ask with the same request id meanwhile follow the one that came first.
 */
import type { NewEvent } from '../../journal/index.ts'
import { assert, TimerEntry, type Accident } from '../../std/index.ts'
import type { Answer } from '../entities.ts'
import type { Active } from './active.ts'
import type { Core } from './core.ts'
import { deadlinePassed } from './faults.ts'
import type { Kind } from './kind.ts'
import type { EncodedLeg, Reaction } from './turn.ts'

export type Resolve = (answer: Answer<unknown>) => void
export type Reject = (error: unknown) => void

/** What goes along with a command. */
export type Asking = Readonly<{
  requestId?: string
  fingerprint?: string
  expected?: number
  actor?: string
  trace?: string
}>

/** Somebody who waits, until a deadline. */
export class Caller extends TimerEntry {
  declare resolve: Resolve | undefined
  declare reject: Reject | undefined
  declare readonly request: Request | undefined

  constructor(resolve: Resolve, reject: Reject, request?: Request) {
    super(expire)
    this.resolve = resolve
    this.reject = reject
    this.request = request
  }
}

/** The timers call it as a method of the caller, so that no caller needs a function of its own. */
function expire(this: TimerEntry): void {
  assert(this instanceof Caller, 'only callers expire')
  const request = this.request ?? this
  assert(request instanceof Request, 'a caller is a request or follows one')
  request.expire(this)
}

const NO_EVENTS: readonly NewEvent[] = []
const NO_LEGS: readonly EncodedLeg[] = []
const NO_REACTIONS: readonly Reaction[] = []

export class Request extends Caller {
  declare readonly core: Core
  declare readonly kind: Kind
  declare readonly id: string
  declare readonly command: unknown
  declare readonly asking: Asking
  /** Requests are decided again in the order of their arrival. */
  declare readonly arrival: number
  /** The record of an alarm that is due: the command is then what `alarm` says. */
  declare readonly wakeKey: string | undefined
  declare followers: Caller[] | undefined
  /** Where it waits to be decided again. */
  declare postponedIn: Active | undefined
  declare until: number
  declare untilTimer: TimerEntry | undefined
  /** A decision about it may have taken effect. */
  declare isStarted: boolean
  /** What was decided is final. */
  declare isReleased: boolean
  /** Nothing more will come of it. */
  declare isDone: boolean
  // What was decided.
  declare outcome: 'none' | 'accept' | 'answer' | 'refuse'
  declare events: readonly NewEvent[]
  declare legs: readonly EncodedLeg[]
  declare reactions: readonly Reaction[]
  declare reply: unknown
  declare version: number
  declare response: string
  declare error: Accident | undefined
  declare items: number
  declare chars: number

  constructor(
    core: Core,
    kind: Kind,
    id: string,
    command: unknown,
    asking: Asking,
    resolve: Resolve,
    reject: Reject,
    wakeKey?: string,
  ) {
    super(resolve, reject)
    this.core = core
    this.kind = kind
    this.id = id
    this.command = command
    this.asking = asking
    this.arrival = core.arrivals++
    this.wakeKey = wakeKey
    this.followers = undefined
    this.postponedIn = undefined
    this.until = NaN
    this.untilTimer = undefined
    this.isStarted = false
    this.isReleased = false
    this.isDone = false
    this.outcome = 'none'
    this.events = NO_EVENTS
    this.legs = NO_LEGS
    this.reactions = NO_REACTIONS
    this.reply = undefined
    this.version = 0
    this.response = ''
    this.error = undefined
    this.items = 0
    this.chars = 0
    core.pending++
  }

  /** Forgets what was decided: it is to be decided anew. */
  clear(): void {
    this.outcome = 'none'
    this.events = NO_EVENTS
    this.legs = NO_LEGS
    this.reactions = NO_REACTIONS
    this.reply = undefined
    this.response = ''
    this.error = undefined
    this.items = 0
    this.chars = 0
  }

  follow(follower: Caller): void {
    ;(this.followers ??= []).push(follower)
  }

  conclude(answer: Answer<unknown>): void {
    if (!this.#end()) return
    this.#tell(this, answer)
    for (const follower of this.followers ?? []) this.#tell(follower, answer)
  }

  refuse(error: unknown): void {
    if (!this.#end()) return
    this.#fail(this, error)
    for (const follower of this.followers ?? []) this.#fail(follower, error)
  }

  /** The deadline of a caller has come. */
  expire(caller: Caller): void {
    if (this.isDone) return
    this.#fail(caller, deadlinePassed(this, this.isStarted))
    const waits =
      this.reject !== undefined || this.followers?.some((other) => other.reject !== undefined)
    if (!this.isStarted && waits !== true) this.#end()
  }

  /** It is decided again at `until` at the latest. */
  postpone(within: Active, until: number, timer: TimerEntry): void {
    this.postponedIn = within
    this.until = until
    this.untilTimer = timer
    this.isStarted = false
  }

  unpostpone(): void {
    if (this.untilTimer !== undefined) this.core.timers.cancel(this.untilTimer)
    this.postponedIn = undefined
    this.untilTimer = undefined
    this.until = NaN
  }

  #end(): boolean {
    if (this.isDone) return false
    this.isDone = true
    this.isReleased = true
    const { core, asking } = this
    if (asking.requestId !== undefined) core.inFlight.delete(asking.requestId)
    this.postponedIn?.forget(this)
    core.ended()
    return true
  }

  #tell(caller: Caller, answer: Answer<unknown>): void {
    const { resolve } = caller
    this.#dismiss(caller)
    resolve?.(answer)
  }

  #fail(caller: Caller, error: unknown): void {
    const { reject } = caller
    this.#dismiss(caller)
    reject?.(error)
  }

  #dismiss(caller: Caller): void {
    if (caller.heapIndex >= 0) this.core.timers.cancel(caller)
    caller.resolve = undefined
    caller.reject = undefined
  }
}

/** What an entity's actor is told: the command for whoever reads the trace, the rest for the runtime. */
export class Told {
  readonly type = 'command'
  readonly command: unknown
  readonly requestId: string | undefined
  readonly #request: Request

  constructor(request: Request) {
    this.command = request.command
    this.requestId = request.asking.requestId
    this.#request = request
  }

  get request(): Request {
    return this.#request
  }
}
