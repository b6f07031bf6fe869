/**
 * An entity that is awake: its folds, and every command it has taken and not answered.
 *
 *   base --flight--> ahead --next--> tip
 *
 * `base` is durable. `flight` is the one batch on its way to the journal, and `ahead` is what it leads
 * to; `next` was decided meanwhile and leads to `tip`, on which the following command is decided. If
 * the batch is refused, all that was decided behind `base` is decided again.
 *
 * The rest is in files of its own: `deciding.ts` leads to `next`, `committing.ts` from there through
 * the journal, `catching-up.ts` back to what is true.
 */
import type { CommitResult } from '../../journal/index.ts'
import type { Ref, SuspendToken } from '../../kernel/index.ts'
import type { Accident } from '../../std/index.ts'
import type { EntityPhase } from '../entities.ts'
import type { Sent } from './batch.ts'
import type { Core } from './core.ts'
import { overloaded, unavailable } from './faults.ts'
import type { Fold } from './fold.ts'
import type { Kind } from './kind.ts'
import type { Rung } from './ladder.ts'
import { Told, type Request } from './request.ts'

/** What the actor of an entity is told. */
export type EntityMessage = Told | Readonly<{ type: 'begin' | 'retire' | 'end' }>

/** Commands that may wait for one entity; one more is refused with `entity-overloaded`. */
export const ENTITY_MAILBOX_MAX = 1_000
/** Commands that go into one batch. */
export const TURNS_MAX = 256

type State = Fold<unknown, { type: string }>

/** Shared by all who have none, and never added to. */
export const NONE: Request[] = []
const NOTHING_TOLD: Told[] = []
const NO_RUNGS: readonly Rung[] = []

// There is no state before the entity has been brought back, and nobody asks for it.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const UNKNOWN = undefined as unknown as State

export class Active {
  declare readonly core: Core
  declare readonly kind: Kind
  declare readonly id: string
  declare readonly stream: string
  /** How often in a row it could not be brought back before. */
  declare readonly attempts: number
  /** It may read its history. */
  declare hasPermit: boolean
  declare ref: Ref<EntityMessage> | undefined
  declare phase: EntityPhase
  /** Why it takes no command any more. */
  declare over: Accident | undefined
  /** It is no longer to be found under its name. */
  declare isGone: boolean
  declare onGone: (() => void)[] | undefined
  /** Told before there was an actor. */
  declare waiting: Told[]
  /** Told and not yet taken. */
  declare queued: number
  declare base: State
  declare ahead: State
  declare tip: State
  /** Everything up to here is in `base`. */
  declare position: number
  declare flight: Request[]
  declare sent: Sent | undefined
  declare next: Request[]
  /** What `next` makes of the batch, in items and characters. */
  declare items: number
  declare chars: number
  /** Taken and not yet decided, or to be decided again. */
  declare backlog: Request[]
  declare postponed: Request[]
  /** The state has changed since those were looked at. */
  declare isDirty: boolean
  /** What has to be read before anything is decided: what others wrote, everything, or the ledger. */
  declare need: 'none' | 'tail' | 'all' | 'ledger'
  declare isReading: boolean
  /** `tip` is not known: a late fact from below all that is in memory is on its way. */
  declare isSealed: boolean
  /** The next batch can take no more. */
  declare isFull: boolean
  /** One command a batch, to find the one that no batch can hold. */
  declare isSolo: boolean
  /** Another entity is let ahead. */
  declare isHeld: boolean
  declare conflicts: number
  /** What others are known to have written to the stream. */
  declare grownTo: number
  /** Whether somebody may have written to the stream without knowing it. */
  declare isInDoubt: boolean
  declare rungs: readonly Rung[]
  declare isSnapshotting: boolean
  /** From which version on a snapshot is tried again. */
  declare snapshotFrom: number
  /** The alarm that is on record, as far as it is known. */
  declare alarmDue: number | undefined
  declare isAlarmSure: boolean
  /** The alarms that `base` and `tip` want. */
  declare baseDue: number | undefined
  declare tipDue: number | undefined
  declare usedAt: number
  declare place: number
  declare replayed: number
  declare activationMs: number
  declare token: SuspendToken | undefined
  declare isRetireWanted: boolean
  /** It has been told to go, and has neither gone nor found a reason to stay. */
  declare isLeaving: boolean
  /** Made with the first batch, for all of them. */
  declare onResult: ((result: CommitResult) => void) | undefined
  declare onError: ((error: unknown) => void) | undefined

  constructor(core: Core, kind: Kind, id: string, stream: string, attempts: number) {
    this.core = core
    this.kind = kind
    this.id = id
    this.stream = stream
    this.attempts = attempts
    this.hasPermit = false
    this.ref = undefined
    this.phase = 'activating'
    this.over = undefined
    this.isGone = false
    this.onGone = undefined
    this.waiting = NOTHING_TOLD
    this.queued = 0
    this.base = UNKNOWN
    this.ahead = UNKNOWN
    this.tip = UNKNOWN
    this.position = 0
    this.flight = NONE
    this.sent = undefined
    this.next = NONE
    this.items = 0
    this.chars = 0
    this.backlog = []
    this.postponed = []
    this.isDirty = false
    this.need = 'none'
    this.isReading = true
    this.isSealed = false
    this.isFull = false
    this.isSolo = false
    this.isHeld = false
    this.conflicts = 0
    this.grownTo = 0
    this.isInDoubt = false
    this.rungs = NO_RUNGS
    this.isSnapshotting = false
    this.snapshotFrom = 0
    this.alarmDue = undefined
    this.isAlarmSure = false
    this.baseDue = undefined
    this.tipDue = undefined
    this.usedAt = core.steady.now()
    this.place = -1
    this.replayed = 0
    this.activationMs = 0
    this.token = undefined
    this.isRetireWanted = false
    this.isLeaving = false
    this.onResult = undefined
    this.onError = undefined
  }

  /** Whether one more command can be decided. */
  get mayDecide(): boolean {
    return (
      !this.isReading &&
      this.need === 'none' &&
      !this.isSealed &&
      !this.isFull &&
      this.next.length < TURNS_MAX &&
      this.over === undefined &&
      !(this.isSolo && (this.flight !== NONE || this.next !== NONE))
    )
  }

  /** Nothing is on its way, and the state is known. */
  get isIdle(): boolean {
    const { phase, flight, next, isReading, need, over } = this
    const isAwake = phase === 'running' || phase === 'retiring'
    return isAwake && flight === NONE && next === NONE && !isReading && need === 'none' && !over
  }

  /** Nothing waits, nothing is on its way. */
  get isQuiet(): boolean {
    return (
      this.isIdle && this.queued === 0 && this.backlog.length === 0 && this.postponed.length === 0
    )
  }

  get pending(): number {
    const { queued, backlog, flight, next, postponed } = this
    return queued + backlog.length + flight.length + next.length + postponed.length
  }

  /** Something has changed: whatever can be done next is done. */
  proceed(): void {
    this.core.proceed(this)
  }

  tell(request: Request): void {
    if (this.queued >= this.core.limits.mailbox) {
      request.refuse(overloaded(this, `${this.queued} commands wait`, this.core.limits.mailbox))
      return
    }
    this.queued++
    const told = new Told(request)
    if (this.ref === undefined) this.#wait(told)
    else if (this.ref.tell(told) !== undefined) {
      this.queued-- // its actor has been ended by others, and its end is about to be noticed
      request.refuse(unavailable(this, undefined, this.core.steady.now()))
    }
  }

  #wait(told: Told): void {
    if (this.waiting === NOTHING_TOLD) this.waiting = [told]
    else this.waiting.push(told)
  }

  /** The actor is there. */
  placed(ref: Ref<EntityMessage>): void {
    this.ref = ref
    ref.tell({ type: 'begin' })
    for (const told of this.waiting) ref.tell(told)
    this.waiting = NOTHING_TOLD
  }

  /** Calls back when it is no longer to be found under its name. */
  whenGone(tell: () => void): void {
    if (this.isGone) tell()
    else (this.onGone ??= []).push(tell)
  }

  /** What is true has been read from the journal, or is what it was before anything was tried. */
  stand(base: State): void {
    this.base = base
    this.ahead = base
    this.tip = base
    this.isSealed = false
    this.isFull = false
    this.items = 0
    this.chars = 0
    this.tipDue = this.baseDue
  }

  /** From here on somebody else may be awake under the same name. */
  leave(): void {
    if (this.isGone) return
    this.isGone = true
    const { active } = this.kind
    if (active.get(this.id) === this) active.delete(this.id)
    this.core.population.remove(this)
    this.stay()
    this.core.contention.leave(this)
    this.core.permits.giveBack(this)
    this.resume()
    if (this.onGone !== undefined) for (const tell of this.onGone) tell()
    this.onGone = undefined
  }

  /** It is not going, or no longer going. */
  stay(): void {
    if (!this.isLeaving) return
    this.isLeaving = false
    this.core.population.left()
  }

  /** Takes mail again. */
  resume(): void {
    const { token } = this
    this.token = undefined
    if (token?.active === true) token.resume()
  }

  /** A command is postponed no longer. */
  forget(request: Request): void {
    const at = this.postponed.indexOf(request)
    if (at >= 0) this.postponed.splice(at, 1)
    this.core.postponed--
    request.unpostpone()
  }
}
