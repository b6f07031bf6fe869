/**
 * Entities by name: the runtime that wakes them, lets them decide and puts them away again.
 */
import type { EntityDefinition, EntityKey } from './entity.ts'
import type { StoredEvent, Subscription } from '../journal/index.ts'
import type { Projection, View } from './projection.ts'

export type AskOptions = Readonly<{
  /** The same id has one effect and one answer, whichever entity is asked, also after a restart. */
  requestId?: string
  /** The command is refused with `version-mismatch` unless the entity has this version. */
  expected?: number
  deadlineMs?: number
  /** Who asks, and on whose behalf: stored with every event. */
  actor?: string
  trace?: string
}>

export type Answer<Reply> = Readonly<{
  reply: Reply
  /** The version of the entity after the command. */
  version: number
  /** Everything up to here includes the command: give it to a view to read your own writes. */
  position: number
  /** The request id had been answered before, and this is that answer. */
  replayed: boolean
}>

/** At most one of these; none reads the present. */
export type Moment = Readonly<{
  /** After so many events. */
  version?: number
  /** As it was at that time, with all that is known now. */
  asOf?: number
  /** As it was believed to be at that time. */
  asAt?: number
}>

export type Reading<State> = Readonly<{ state: State; version: number }>

export type Change<Event> = Readonly<{ key: EntityKey; event: Event; stored: StoredEvent }>

export type EntityPhase = 'activating' | 'running' | 'retiring' | 'failed' | 'quarantined'

export type EntityReport = EntityKey &
  Readonly<{
    phase: EntityPhase
    version: number
    /** Commands that wait or are being made durable. */
    pending: number
    replayedEvents: number
    activationMs: number
    /** Why it is quarantined, or failed and until when. */
    fault?: Readonly<{ code: string; message: string }>
    retryAtMs?: number
  }>

export type EntityMetrics = Readonly<{
  active: number
  activating: number
  activations: number
  activationFailures: number
  passivations: number
  evictions: number
  replayedEvents: number
  refolds: number
  commands: number
  conflicts: number
  ledgerHits: number
  ledgerMisses: number
  ledgerMismatches: number
  coalesced: number
  snapshotsTaken: number
  snapshotsFailed: number
  quarantined: number
  postponed: number
  alarms: number
  reactions: number
}>

export type DrainReport = Readonly<{ rejected: number; overdue: readonly EntityKey[] }>

export interface Entities extends AsyncDisposable {
  /** Wakes the entity if it rests, and settles when what it decided is durable. */
  ask<State, Command, Event, Reply>(
    of: EntityDefinition<State, Command, Event, Reply>,
    id: string,
    command: NoInfer<Command>,
    options?: AskOptions,
  ): Promise<Answer<Reply>>
  /** Reads from history, without waking the entity. */
  read<State, Command, Event, Reply>(
    of: EntityDefinition<State, Command, Event, Reply>,
    id: string,
    moment?: Moment,
  ): Promise<Reading<State>>
  /** Every event of these entities after a position, brought to today's version; in order, resumable. */
  changes<State, Command, Event, Reply>(
    of: EntityDefinition<State, Command, Event, Reply>,
    options: Readonly<{
      after: number
      handle: (changes: readonly Change<Event>[]) => void | PromiseLike<void>
    }>,
  ): Subscription
  /** Starts a read model, from where it left off. */
  project<Value>(projection: Projection<Value>): View<Value>
  /** Puts the entity away once it has nothing to do; settles when it rests. */
  passivate(key: EntityKey): Promise<void>
  /** Lets a quarantined entity try again. */
  release(key: EntityKey): boolean
  /** Entities in memory and in quarantine, for people. */
  list(): readonly EntityReport[]
  metrics(): EntityMetrics
  /** Ends intake, lets what was begun become durable, puts everything away. */
  drain(options?: Readonly<{ drainMs?: number; totalMs?: number }>): Promise<DrainReport>
}
