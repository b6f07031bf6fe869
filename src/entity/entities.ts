/**
 * Entities by name: the runtime that wakes them, lets them decide and puts them away again.
 *
 * One actor for each entity that is awake, under `/entities/<type>/<id>`. Its life is in `internal/`, a
 * phase a file, from `living.ts` on.
 */
import type { Fence, Journal, StoredEvent, Subscription } from '../journal/index.ts'
import type { Handle, System } from '../kernel/index.ts'
import { freshSeed, lineLog, random, TimerEntry, type Log, type Random } from '../std/index.ts'
import { changes, changesIn } from './changes.ts'
import type { AnyEntity, EntityDefinition, EntityKey } from './entity.ts'
import { ENTITY_MAILBOX_MAX, type Active } from './internal/active.ts'
import { streamOf } from './internal/codec.ts'
import { Core, type Limits } from './internal/core.ts'
import { drain, DRAIN_MS_DEFAULT, DRAIN_TOTAL_MS_DEFAULT } from './internal/draining.ts'
import { badNumber, reasonOf } from './internal/faults.ts'
import { read } from './internal/history.ts'
import type { Trouble } from './internal/kind.ts'
import { storedReply } from './internal/releasing.ts'
import { Told } from './internal/request.ts'
import { ACTIVATIONS_DEFAULT } from './internal/requesting-permit.ts'
import { retireIfWanted } from './internal/retiring.ts'
import { askFor, ENTITY_ASK_MS_DEFAULT } from './internal/routing.ts'
import { proceed } from './internal/running.ts'
import { keeper, type Placing } from './internal/shelf.ts'
import { project, type Projection, type View } from './projection.ts'

/** How long history may take to be read, before the entity is unavailable. */
export const ACTIVATION_MS_DEFAULT = 5_000
/** Entities that are awake at once; beyond it, the coldest are put away. */
export const ACTIVE_DEFAULT = 100_000
/** How long an entity stays awake without a command. */
export const IDLE_MS_DEFAULT = 300_000
/** How often the idle ones are looked for. */
export const SWEEP_MS_DEFAULT = 30_000

export type EntitiesOptions = Readonly<{
  system: System
  journal: Journal
  /** Those that have alarms or are reacted to: what waits for them is done from the start on. */
  definitions?: readonly AnyEntity[]
  /** Where their actors stand at the top of the tree; `entities` unless said otherwise. */
  name?: string
  /** Goes with every batch: whoever took it since has taken over. */
  fence?: Fence
  /** Default: warnings and errors, a JSON line each, to standard error. */
  log?: Log
  random?: Random
  /** How long an ask waits unless it says otherwise. */
  askMs?: number
  /** How many are brought back at the same time, and how long each may take. */
  activations?: number
  activationMs?: number
  /** How many stay awake. */
  activeMax?: number
  /** How long they stay awake without a command, and how often that is looked at. */
  idleMs?: number
  sweepMs?: number
  /** Commands that may wait for one entity. */
  mailbox?: number
  /** Bytes in use, and how many make entities go that could stay otherwise. */
  memory?: () => number
  memoryMax?: number
}>

export type AskOptions = Readonly<{
  /** The same id has one effect and one answer, whichever entity is asked, also after a restart. */
  requestId?: string
  /** What two requests with the same id are compared by; the entity and its command unless given. */
  content?: Readonly<Record<string, unknown>>
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

/** What a request id was answered, and when. */
export type Answered = Omit<Answer<unknown>, 'replayed'> & Readonly<{ at: number }>

/** When to look at; none of these is the present, several are what all of them leave. */
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

/** Counted since the runtime was made, but for the first four, which are as they are now. */
export type EntityMetrics = Readonly<{
  active: number
  activating: number
  quarantined: number
  postponed: number
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
  /** The events of one entity, brought to today's version; a page with none is the end. */
  history<State, Command, Event, Reply>(
    of: EntityDefinition<State, Command, Event, Reply>,
    id: string,
    page?: Readonly<{ after?: number; limit?: number }>,
  ): Promise<readonly Change<Event>[]>
  /** What a request id was answered, as long as it is remembered; nothing while it is on its way. */
  answered(requestId: string): Promise<Answered | undefined>
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

export function createEntities(options: EntitiesOptions): Entities {
  return new Runtime(options)
}

const WARNINGS = lineLog((line) => process.stderr.write(`${line}\n`), { level: 'warn' })

class Runtime implements Entities {
  readonly #core: Core
  readonly #keeper: Handle<Placing>
  readonly #sweep: TimerEntry
  readonly #unlisten: () => void
  /** Views and feeds that end with the runtime. */
  readonly #readers = new Set<Readonly<{ close(): Promise<void> }>>()
  #draining: Promise<DrainReport> | undefined

  constructor(options: EntitiesOptions) {
    const { system, journal, definitions = [], name = 'entities', fence } = options
    const core = new Core({
      system,
      journal,
      limits: limitsOf(options),
      log: options.log ?? WARNINGS,
      random: options.random ?? random(freshSeed()),
      fence,
    })
    this.#core = core
    this.#keeper = system.spawn(
      name,
      keeper(() => this.#stopped()),
      { bound: KEEPER_BOUND },
    )
    core.keeper = this.#keeper
    core.proceed = proceed
    this.#unlisten = system.onDeadLetter(({ message }) => {
      if (message instanceof Told && message.request.core === core) core.reject(message.request)
    })
    this.#sweep = new TimerEntry(() => {
      core.population.sweep()
      core.timers.set(this.#sweep, core.limits.sweepMs)
    })
    core.timers.set(this.#sweep, core.limits.sweepMs)
    for (const definition of definitions) core.kindOf(definition)
    core.lookAgain()
  }

  ask<State, Command, Event, Reply>(
    of: EntityDefinition<State, Command, Event, Reply>,
    id: string,
    command: NoInfer<Command>,
    options?: AskOptions,
  ): Promise<Answer<Reply>> {
    const answer = askFor(this.#core, of, id, command, options)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what this definition replied
    return answer as Promise<Answer<Reply>>
  }

  read<State, Command, Event, Reply>(
    of: EntityDefinition<State, Command, Event, Reply>,
    id: string,
    moment?: Moment,
  ): Promise<Reading<State>> {
    return read(this.#core.journal, of, id, moment)
  }

  async history<State, Command, Event, Reply>(
    of: EntityDefinition<State, Command, Event, Reply>,
    id: string,
    page: Readonly<{ after?: number; limit?: number }> = {},
  ): Promise<readonly Change<Event>[]> {
    const stream = streamOf({ type: of.type, id })
    return changesIn([of], await this.#core.journal.readStream(stream, page))
  }

  async answered(requestId: string): Promise<Answered | undefined> {
    const stored = await this.#core.journal.lookup(requestId)
    if (stored === undefined) return undefined
    const { response, position, at } = stored
    return { ...storedReply(response), position, at }
  }

  changes<State, Command, Event, Reply>(
    of: EntityDefinition<State, Command, Event, Reply>,
    options: Parameters<Entities['changes']>[1],
  ): Subscription {
    return this.#ending(changes(this.#core.journal, of, options))
  }

  project<Value>(projection: Projection<Value>): View<Value> {
    return this.#ending(project(this.#core.journal, projection, this.#core.clock))
  }

  passivate({ type, id }: EntityKey): Promise<void> {
    const entity = this.#core.kinds.get(type)?.active.get(id)
    if (entity === undefined) return Promise.resolve()
    return new Promise((resolve) => {
      entity.whenGone(resolve)
      entity.isRetireWanted = true
      retireIfWanted(entity)
    })
  }

  release({ type, id }: EntityKey): boolean {
    const troubles = this.#core.kinds.get(type)?.troubles
    return troubles?.get(id)?.phase === 'quarantined' && troubles.delete(id)
  }

  list(): readonly EntityReport[] {
    return [...this.#core.kinds.values()].flatMap(({ type, active, troubles }) => [
      ...[...active.values()].map(reportOf),
      ...[...troubles]
        .filter(([id]) => !active.has(id))
        .map(([id, trouble]) => troubleReport({ type, id }, trouble)),
    ])
  }

  metrics(): EntityMetrics {
    const { counts, population, postponed, kinds } = this.#core
    let activating = 0
    for (const { phase } of population.all) if (phase === 'activating') activating++
    let quarantined = 0
    for (const { troubles } of kinds.values())
      for (const { phase } of troubles.values()) if (phase === 'quarantined') quarantined++
    return { active: population.size, activating, quarantined, postponed, ...counts }
  }

  drain(options: Readonly<{ drainMs?: number; totalMs?: number }> = {}): Promise<DrainReport> {
    const { drainMs = DRAIN_MS_DEFAULT, totalMs = DRAIN_TOTAL_MS_DEFAULT } = options
    this.#draining ??= this.#drain({ drainMs, totalMs })
    return this.#draining
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain()
  }

  async #drain(times: Readonly<{ drainMs: number; totalMs: number }>): Promise<DrainReport> {
    const closing = Promise.allSettled([...this.#readers].map((reader) => reader.close()))
    return drain(this.#core, this.#keeper, closing, times)
  }

  /** The system has ended it, whether or not it was drained. */
  #stopped(): void {
    const core = this.#core
    core.isDraining = true
    core.isClosed = true
    core.alarms.stop()
    core.outbox.stop()
    core.timers.cancel(this.#sweep)
    void this.#ended()
  }

  /** Actors that outlive the drain still have to give back what is in their mailboxes. */
  async #ended(): Promise<void> {
    await this.#keeper.ended
    this.#unlisten()
    await this.#draining
    // Whoever waited has been told. Without a drain, what is in flight has its deadline to wait for.
    if (this.#draining !== undefined) this.#core.timers.clear()
  }

  #ending<Reader extends Readonly<{ close(): Promise<void>; ended: Promise<void> }>>(
    reader: Reader,
  ): Reader {
    this.#readers.add(reader)
    const forget = (): void => void this.#readers.delete(reader)
    reader.ended.then(forget, (error: unknown) => {
      forget()
      this.#core.log.error('a view or a feed has ended', reasonOf(error))
    })
    return reader
  }
}

/** As many kinds as anybody has, each in line for its shelf. */
const KEEPER_BOUND = 1_048_576

function limitsOf(options: EntitiesOptions): Limits {
  const limits = {
    askMs: options.askMs ?? ENTITY_ASK_MS_DEFAULT,
    activations: options.activations ?? ACTIVATIONS_DEFAULT,
    activationMs: options.activationMs ?? ACTIVATION_MS_DEFAULT,
    activeMax: options.activeMax ?? ACTIVE_DEFAULT,
    idleMs: options.idleMs ?? IDLE_MS_DEFAULT,
    sweepMs: options.sweepMs ?? SWEEP_MS_DEFAULT,
    mailbox: options.mailbox ?? ENTITY_MAILBOX_MAX,
    memoryMax: options.memoryMax ?? Infinity,
  }
  for (const [name, value] of Object.entries(limits))
    if (!(value > 0)) throw badNumber(name, value, 'a number above 0')
  return { ...limits, memory: options.memory }
}

function reportOf(entity: Active): EntityReport {
  const { kind, id, phase, base, pending, replayed, activationMs } = entity
  const version = phase === 'activating' ? 0 : base.version
  return { type: kind.type, id, phase, version, pending, replayedEvents: replayed, activationMs }
}

function troubleReport(key: EntityKey, { phase, accident, retryAtMs }: Trouble): EntityReport {
  const { code, message } = accident.fault
  return {
    ...key,
    phase,
    version: 0,
    pending: 0,
    replayedEvents: 0,
    activationMs: 0,
    fault: { code, message },
    ...(phase === 'failed' && { retryAtMs }),
  }
}
