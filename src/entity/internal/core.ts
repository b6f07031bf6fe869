/** What all entities of one runtime share. */
import type { Fence, Journal } from '../../journal/index.ts'
import type { Ref, System } from '../../kernel/index.ts'
import {
  FleetingMap,
  TimerQueue,
  steadyClock,
  type Clock,
  type Log,
  type Random,
  type SteadyClock,
} from '../../std/index.ts'
import type { EntityMetrics } from '../entities.ts'
import type { AnyEntity } from '../entity.ts'
import type { Active } from './active.ts'
import { Alarms } from './alarms.ts'
import { Contention } from './contention.ts'
import { Deadlines } from './deadlines.ts'
import { redefined, shuttingDown } from './faults.ts'
import { Kind, type Definition } from './kind.ts'
import { Outbox } from './outbox.ts'
import { Population } from './population.ts'
import type { Request } from './request.ts'
import { Permits } from './requesting-permit.ts'
import type { Placing } from './shelf.ts'

export type Limits = Readonly<{
  askMs: number
  activations: number
  activationMs: number
  activeMax: number
  idleMs: number
  sweepMs: number
  mailbox: number
  memory: (() => number) | undefined
  memoryMax: number
}>

/** What has been counted since the runtime was made. */
export type Counts = {
  -readonly [
    K in Exclude<keyof EntityMetrics, 'active' | 'activating' | 'quarantined' | 'postponed'>
  ]: number
}

export type CoreOptions = Readonly<{
  system: System
  journal: Journal
  limits: Limits
  log: Log
  random: Random
  fence: Fence | undefined
}>

export class Core {
  readonly clock: Clock
  readonly journal: Journal
  readonly limits: Limits
  readonly log: Log
  readonly random: Random
  readonly fence: Fence | undefined
  readonly steady: SteadyClock
  readonly timers: TimerQueue
  readonly kinds: Map<string, Kind> = new Map()
  readonly #byDefinition: Map<AnyEntity, Kind> = new Map()
  /** Request ids that are on their way. */
  readonly inFlight: FleetingMap<string, Request> = new FleetingMap()
  readonly counts: Counts = {
    activations: 0,
    activationFailures: 0,
    passivations: 0,
    evictions: 0,
    replayedEvents: 0,
    refolds: 0,
    commands: 0,
    conflicts: 0,
    ledgerHits: 0,
    ledgerMisses: 0,
    ledgerMismatches: 0,
    coalesced: 0,
    snapshotsTaken: 0,
    snapshotsFailed: 0,
    alarms: 0,
    reactions: 0,
  }
  readonly deadlines: Deadlines
  readonly permits: Permits
  readonly contention: Contention = new Contention()
  readonly population: Population
  readonly alarms: Alarms
  readonly outbox: Outbox
  /** Lets an entity do whatever it can do next; connected by whoever makes the runtime. */
  declare proceed: (entity: Active) => void
  /** The actor at the top of the entities' tree; set by whoever spawns it. */
  declare keeper: Ref<Placing>
  /** Commands that were asked for, and those of them that nothing has come of yet. */
  #arrivals = 0
  pending = 0
  postponed = 0
  isStarted = false
  isDraining = false
  /** What has not begun is not begun any more. */
  isRejecting = false
  isClosed = false
  rejected = 0
  onEnded: () => void = () => undefined
  readonly #nonce: string
  #nonces = 0

  constructor({ system, journal, limits, log, random, fence }: CoreOptions) {
    this.clock = system.clock
    this.journal = journal
    this.limits = limits
    this.log = log
    this.random = random
    this.fence = fence
    this.steady = steadyClock(system.clock)
    this.timers = new TimerQueue(system.clock)
    this.deadlines = new Deadlines(system.clock, this.timers)
    this.permits = new Permits(limits.activations)
    this.population = new Population(this)
    this.alarms = new Alarms(this)
    this.outbox = new Outbox(this)
    this.#nonce = `${this.steady.now().toString(36)}-${random.below(2 ** 32).toString(36)}`
  }

  /** The kind that a definition makes; its first use makes it known. */
  kindOf(entity: AnyEntity): Kind {
    const known = this.#byDefinition.get(entity)
    if (known !== undefined) return known
    const { type } = entity
    if (this.kinds.has(type)) throw redefined(type)
    // What bears these names was made by `entity`, and its types are checked wherever it is used.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const kind = new Kind(this, entity as unknown as Definition)
    this.kinds.set(type, kind)
    this.#byDefinition.set(entity, kind)
    if (this.isStarted) this.lookAgain()
    return kind
  }

  /** Alarms and reactions may be on record that nobody here has said anything of. */
  lookAgain(): void {
    this.isStarted = true
    this.alarms.lookAgain()
    this.outbox.lookAgain()
  }

  /** A text that no other runtime uses, nor this one again. */
  freshNonce(): string {
    return `${this.#nonce}-${(this.#nonces++).toString(36)}`
  }

  /** The runtime ends before the command was answered. */
  reject(request: Request): void {
    if (request.isDone) return
    this.rejected++
    request.refuse(shuttingDown(request, request.isStarted))
  }

  /** One command more is on its way; its number among all. */
  arrived(): number {
    this.pending++
    return this.#arrivals++
  }

  /** One command less is on its way. */
  ended(): void {
    this.pending--
    this.onEnded()
  }
}
