/**
 * A command on its way: who asked, until when, and what was decided about it.
 *
 * The work and the caller end separately. A caller is told by its deadline at the latest; work that has
 * begun goes on without it, and work that has not is dropped when nobody waits for it any more. Callers
 * who ask with the same request id meanwhile follow the one that came first.
 *
 * There are as many of these as commands, so what few of them need is in objects of its own.
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

/** What a turn writes besides its own events. */
export type Extra = { legs: EncodedLeg[]; reactions: Reaction[]; response: string }

/** Where a command waits to be decided again, and until when. */
type Postponement = Readonly<{ within: Active; until: number; timer: TimerEntry }>

// Waiting to be decided; decided, so that it may take effect; final; nothing more will come of it.
const [WAITING, STARTED, RELEASED, DONE] = [0, 1, 2, 3]

/** Somebody who waits, until a deadline. */
export class Caller extends TimerEntry {
  declare resolve: Resolve | undefined
  declare reject: Reject | undefined

  constructor(resolve: Resolve, reject: Reject) {
    super(expire)
    this.resolve = resolve
    this.reject = reject
  }
}

/** The timers call it as a method of the caller, so that no caller needs a function of its own. */
function expire(this: TimerEntry): void {
  if (this instanceof Follower) this.request.expire(this)
  else if (this instanceof Request) this.expire(this)
}

/** Somebody who asked with the request id of another. */
export class Follower extends Caller {
  readonly request: Request

  constructor(request: Request, resolve: Resolve, reject: Reject) {
    super(resolve, reject)
    this.request = request
  }
}

const NO_EVENTS: readonly NewEvent[] = []

export class Request extends Caller {
  declare readonly kind: Kind
  declare readonly id: string
  declare readonly command: unknown
  declare readonly asking: Asking
  /** Requests are decided again in the order of their arrival. */
  declare readonly arrival: number
  /** The record of an alarm that is due: the command is then what `alarm` says. */
  declare readonly wakeKey: string | undefined
  declare followers: Follower[] | undefined
  declare postponement: Postponement | undefined
  declare stage: number
  // What was decided: `reply` is the error of a refusal.
  declare outcome: 'none' | 'accept' | 'answer' | 'refuse'
  declare events: readonly NewEvent[]
  declare extra: Extra | undefined
  declare reply: unknown
  declare version: number
  declare items: number
  declare chars: number

  constructor(
    kind: Kind,
    id: string,
    command: unknown,
    asking: Asking,
    resolve: Resolve,
    reject: Reject,
    wakeKey?: string,
  ) {
    super(resolve, reject)
    this.kind = kind
    this.id = id
    this.command = command
    this.asking = asking
    this.arrival = kind.core.arrived()
    this.wakeKey = wakeKey
    this.followers = undefined
    this.postponement = undefined
    this.stage = WAITING
    this.outcome = 'none'
    this.events = NO_EVENTS
    this.extra = undefined
    this.reply = undefined
    this.version = 0
    this.items = 0
    this.chars = 0
  }

  get core(): Core {
    return this.kind.core
  }

  /** A decision about it may take effect. */
  get isStarted(): boolean {
    return this.stage !== WAITING
  }

  /** What was decided is final. */
  get isReleased(): boolean {
    return this.stage >= RELEASED
  }

  /** Nothing more will come of it. */
  get isDone(): boolean {
    return this.stage === DONE
  }

  start(): void {
    if (this.stage === WAITING) this.stage = STARTED
  }

  release(): void {
    if (this.stage < RELEASED) this.stage = RELEASED
  }

  /** Forgets what was decided: it is to be decided anew. */
  clear(): void {
    this.outcome = 'none'
    this.events = NO_EVENTS
    this.extra = undefined
    this.reply = undefined
    this.items = 0
    this.chars = 0
  }

  decideToRefuse(error: Accident): void {
    this.clear()
    this.outcome = 'refuse'
    this.reply = error
  }

  get extras(): Extra {
    return (this.extra ??= { legs: [], reactions: [], response: '' })
  }

  follow(follower: Follower): void {
    ;(this.followers ??= []).push(follower)
  }

  conclude(answer: Answer<unknown>): void {
    if (!this.#end()) return
    tell(this, answer)
    if (this.followers !== undefined) for (const follower of this.followers) tell(follower, answer)
  }

  refuse(error: unknown): void {
    if (!this.#end()) return
    fail(this, error)
    if (this.followers !== undefined) for (const follower of this.followers) fail(follower, error)
  }

  /** The deadline of a caller has come. */
  expire(caller: Caller): void {
    if (this.isDone) return
    fail(caller, deadlinePassed(this, this.isStarted))
    const waits =
      this.reject !== undefined || this.followers?.some(({ reject }) => reject !== undefined)
    if (!this.isStarted && waits !== true) this.#end()
  }

  /** It is decided again at `until` at the latest. */
  postpone(within: Active, until: number, timer: TimerEntry): void {
    assert(this.stage <= STARTED, 'what is final is not postponed')
    this.stage = WAITING
    this.postponement = { within, until, timer }
  }

  unpostpone(): void {
    if (this.postponement !== undefined) this.core.timers.cancel(this.postponement.timer)
    this.postponement = undefined
  }

  #end(): boolean {
    if (this.stage === DONE) return false
    this.stage = DONE
    const { core } = this.kind
    const { requestId } = this.asking
    if (requestId !== undefined) core.inFlight.delete(requestId)
    this.postponement?.within.forget(this)
    if (this.heapIndex >= 0) core.timers.cancel(this)
    if (this.followers !== undefined)
      for (const follower of this.followers) core.timers.cancel(follower)
    core.ended()
    return true
  }
}

function tell(caller: Caller, answer: Answer<unknown>): void {
  const { resolve } = caller
  caller.resolve = undefined
  caller.reject = undefined
  resolve?.(answer)
}

function fail(caller: Caller, error: unknown): void {
  const { reject } = caller
  caller.resolve = undefined
  caller.reject = undefined
  reject?.(error)
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
