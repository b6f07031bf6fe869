/**
 * A system: a tree of actors with its own clock, names, timers and numbers.
 *
 * Systems of one process share the thread and nothing else. A system ends by
 * `stop`: the youngest actors first, each after its children.
 */
import {
  Accident,
  fault,
  freshSeed,
  lineLog,
  random,
  silentLog,
  systemClock,
  type Clock,
  type Fault,
  type Log,
  type Random,
} from '../std/index.ts'
import { receive, type Behavior, type Handle, type SpawnOptions } from './behavior.ts'
import { Actor } from './internal/actor.ts'
import { Waiting } from './internal/awaiting.ts'
import { Cell, extrasOf, wake } from './internal/cell.ts'
import { Core } from './internal/core.ts'
import type { DeadLetter } from './internal/dead-letters.ts'
import { expressDepth, setAmbient, ambient, threadFigures } from './internal/dispatch.ts'
import { apply, invoke } from './internal/invoker.ts'
import { abandon, requestStop } from './internal/lifecycle.ts'
import type { Mailbox } from './internal/mailbox.ts'
import { ReadyQueue } from './internal/ready-queue.ts'
import { ready } from './internal/run-loop.ts'
import { SLOW_TURN_MS_DEFAULT } from './internal/slow-turns.ts'
import { STOPPED } from './internal/status.ts'
import { watchThread } from './internal/watchdog.ts'
import { Token } from './internal/tokens.ts'
import type { MetricsSnapshot } from './metrics.ts'
import type { Address, Ref, Refusal } from './ref.ts'
import { manual } from './suspension.ts'
import type { TraceListener } from './trace.ts'

/** How long an orderly stop may take unless it says otherwise. */
export const STOP_MS_DEFAULT = 10_000

export type SystemOptions = Readonly<{
  name?: string
  clock?: Clock
  random?: Random
  /** Default: warnings and errors, a JSON line each, to standard error. */
  log?: Log
  /** A turn that takes longer is named in the log, the trace and the metrics. */
  slowTurnMs?: number
  /** How many messages may wait for an actor that is spawned without a bound of its own. */
  bound?: number
  /**
   * Names a turn that holds the thread for longer than `slowTurnMs` while it still does, on stderr
   * too, from one thread that all systems share; a system starts none unless it is told to.
   */
  watchdog?: boolean
}>

export type StopReport = Readonly<{
  /** Actors that had not ended in time, by path. They were abandoned. */
  overdue: readonly string[]
}>

export interface System extends AsyncDisposable {
  readonly name: string
  readonly clock: Clock
  /** Starts an actor at the top of the tree. */
  spawn<M>(name: string, behavior: Behavior<M>, options?: SpawnOptions<M>): Handle<M>
  spawnAnonymous<M>(behavior: Behavior<M>, options?: SpawnOptions<M>): Handle<M>
  /** The actor at a path such as `/orders/order-17`, taken to understand `M`. */
  find<M = never>(path: string): Handle<M> | Fault<'no-such-actor'>
  /** An address that outlives refs and goes stale with its actor. */
  addressOf(ref: Ref<never>): Address
  /** Tells whoever is at `address`; an address whose actor has ended is refused as stale. */
  tellAt(address: Address, message: unknown): Refusal | undefined
  /** Wakes all who wait for `key`, and says how many. A sticky one is kept for the next to wait. */
  signal(key: string, options?: Readonly<{ sticky?: boolean }>): number
  metrics(): MetricsSnapshot
  /** Hears everything that happens, until the answer is called. */
  trace(listener: TraceListener): () => void
  readonly deadLetters: readonly DeadLetter[]
  onDeadLetter(listener: (letter: DeadLetter) => void): () => void
  /** Ends all actors, the youngest first. Settles when none is left or the time is up. */
  stop(options?: Readonly<{ deadlineMs?: number }>): Promise<StopReport>
}

/** A system whose turns are taken one by one from outside, for tests. */
export interface SteppedSystem extends System {
  /** How many actors could have the next turn. */
  readonly readyDepth: number
  /** Gives one turn of one message to the actor that `choose` picks out of so many; false when none is ready. */
  step(choose?: (count: number) => number): boolean
  /** The workings behind a ref, for a test of the kernel that looks inside. */
  cellOf(ref: Ref<never>): unknown
}

export function createSystem(options: SystemOptions = {}): System {
  return new ActorSystem(options, ready, true)
}

export function createSteppedSystem(options: SystemOptions = {}): SteppedSystem {
  return new ActorSystem(options, new ReadyQueue<Mailbox>(() => undefined), false)
}

/** What is told during `work`, and by the turns that follow from it, carries `context`. */
export function withContext<T>(context: unknown, work: () => T): T {
  const before = ambient
  setAmbient(context)
  try {
    return work()
  } finally {
    setAmbient(before)
  }
}

/** Where a system logs unless told otherwise: a failure that nobody sees is worse than a line too many. */
const WARNINGS = lineLog((line) => process.stderr.write(`${line}\n`), { level: 'warn' })

const IDLE = receive<never>(() => undefined)

class ActorSystem implements SteppedSystem {
  readonly #core: Core
  readonly #root: Actor
  /** Who was given up at the deadline of a stop, of whichever of several. */
  readonly #overdue: string[] = []
  readonly #unwatch: (() => void) | undefined

  constructor(options: SystemOptions, queue: ReadyQueue<Mailbox>, express: boolean) {
    const slowTurnMs = options.slowTurnMs ?? SLOW_TURN_MS_DEFAULT
    if (!(slowTurnMs > 0)) throw noSlowTurn(slowTurnMs)
    this.#core = new Core({
      name: options.name ?? 'system',
      clock: options.clock ?? systemClock,
      random: options.random ?? random(freshSeed()),
      log: options.log ?? (express ? WARNINGS : silentLog),
      ready: queue,
      express,
      slowTurnMs,
      bound: options.bound,
    })
    const { defaults } = this.#core
    this.#root = new Actor(this.#core, null, IDLE, defaults, defaults.status)
    this.#core.root = this.#root
    // V8 forgets the shape of a class with its last instance, and all code compiled for it. There
    // is always one of each here, as there is a spare mailbox and a ring of asks.
    const root = extrasOf(this.#root)
    root.shapes = [new Token(this.#root, 'user', manual()), new Waiting(this.#root, apply)]
    // Turns that are taken from outside are not the thread's to answer for.
    if (options.watchdog === true && express) this.#unwatch = watchThread(this.#core, slowTurnMs)
  }

  get name(): string {
    return this.#core.name
  }

  get clock(): Clock {
    return this.#core.clock
  }

  spawn<M>(name: string, behavior: Behavior<M>, options?: SpawnOptions<M>): Handle<M> {
    return this.#root.spawn(name, behavior, options)
  }

  spawnAnonymous<M>(behavior: Behavior<M>, options?: SpawnOptions<M>): Handle<M> {
    return this.#root.spawnAnonymous(behavior, options)
  }

  find<M = never>(path: string): Handle<M> | Fault<'no-such-actor'> {
    let at: Actor = this.#root
    for (const name of path.split('/').filter((part) => part !== '')) {
      const child = at.child(name)
      if (!(child instanceof Actor)) return nobody(path, name, at)
      at = child
    }
    return at === this.#root ? nobody(path, '', at) : at
  }

  addressOf(ref: Ref<never>): Address {
    return this.#core.registry.addressOf(this.cellOf(ref))
  }

  tellAt(address: Address, message: unknown): Refusal | undefined {
    const cell = this.#core.registry.at(address)
    if (cell !== undefined) return cell.tell(message)
    const path = `#${address.slot}.${address.generation}`
    this.#core.deadLetters.add(path, message, 'stale-address')
    return fault('stale-address', `nobody is at ${path} any more`, {
      actor: path,
      remedy: 'look the actor up by name and take its address anew',
    })
  }

  signal(key: string, options: Readonly<{ sticky?: boolean }> = {}): number {
    return this.#core.signals.send(key, options.sticky ?? false)
  }

  trace(listener: TraceListener): () => void {
    return this.#core.tracer.subscribe(listener)
  }

  get deadLetters(): readonly DeadLetter[] {
    return this.#core.deadLetters.recent
  }

  onDeadLetter(listener: (letter: DeadLetter) => void): () => void {
    return this.#core.deadLetters.subscribe(listener)
  }

  metrics(): MetricsSnapshot {
    const { metrics, timers, ready: queue } = this.#core
    const { resumeLatency } = metrics
    return {
      spawned: metrics.spawned,
      stopped: metrics.stopped,
      failures: metrics.failures,
      retries: metrics.retries,
      restarts: metrics.restarts,
      escalations: metrics.escalations,
      suspend_count: metrics.suspendCount,
      resume_count: metrics.resumeCount,
      resume_unbalanced: metrics.resumeUnbalanced,
      suspended_now: metrics.suspendedNow,
      suspended_ms_total: metrics.suspendedMsTotal,
      resume_latency: {
        count: resumeLatency.count,
        p50Ms: resumeLatency.quantileMs(0.5),
        p99Ms: resumeLatency.quantileMs(0.99),
        maxMs: resumeLatency.maxMs,
      },
      ready_depth: queue.count(({ cell }) => cell.core === this.#core) + expressDepth(this.#core),
      blocked_senders: metrics.blockedSenders,
      backpressure_cycles: metrics.backpressureCycles,
      slow_turns: metrics.slowTurns,
      asks_overdue: metrics.asksOverdue,
      timers_pending: timers.size,
      dead_letters: Object.fromEntries(metrics.deadLetters),
      thread: threadFigures(),
    }
  }

  stop(options: Readonly<{ deadlineMs?: number }> = {}): Promise<StopReport> {
    const { timers } = this.#core
    const { deadlineMs = STOP_MS_DEFAULT } = options
    return new Promise((resolve) => {
      if (Number.isNaN(deadlineMs)) throw badDeadline(this.name)
      const overdue = this.#overdue
      const limit = timers.after(deadlineMs, () => abandonAll(this.#root, overdue))
      this.#root.onEnd(() => {
        timers.cancel(limit)
        timers.clear()
        this.#unwatch?.()
        resolve({ overdue })
      })
      requestStop(this.#root, 'system-stopped', undefined)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  get readyDepth(): number {
    return this.#core.ready.depth
  }

  step(choose?: (count: number) => number): boolean {
    const { ready: queue } = this.#core
    const mail = choose === undefined ? queue.take() : queue.takeAt(choose(queue.depth))
    if (mail === undefined) return false
    const { cell } = mail
    const result = invoke(cell, 1)
    if (cell.mail === mail) queue.settle(mail, result) // else it is somebody else's by now
    if (result.type === 'failed') wake(cell)
    return true
  }

  cellOf(ref: Ref<never>): Cell {
    const cell: unknown = ref
    if (cell instanceof Cell && cell.core === this.#core) return cell
    throw new Accident(
      fault('not-an-actor', `${ref.path} is not an actor of the system ${this.name}`, {
        actor: ref.path,
        remedy: 'use a ref that spawn of this system gave',
      }),
    )
  }
}

/** Ends what has not ended by itself, children first. */
function abandonAll(cell: Actor, overdue: string[]): void {
  for (const child of cell.children) if (child instanceof Actor) abandonAll(child, overdue)
  if ((cell.status & STOPPED) !== 0) return
  if (cell.parent !== null) overdue.push(cell.path)
  abandon(cell)
}

function badDeadline(name: string): Accident {
  return new Accident(
    fault('bad-option', `the system ${name} cannot be stopped within NaN ms`, {
      actor: '/',
      option: 'deadlineMs',
      given: Number.NaN,
      remedy: 'give a number of milliseconds, or none to allow the default',
    }),
  )
}

function noSlowTurn(given: number): Accident {
  return new Accident(
    fault('bad-option', `no turn can take longer than ${given} ms`, {
      option: 'slowTurnMs',
      given,
      remedy: 'give slowTurnMs a number of milliseconds above 0, or Infinity for none',
    }),
  )
}

function nobody(path: string, name: string, at: Actor): Fault<'no-such-actor'> {
  const siblings = [...(at.extras?.named?.keys() ?? [])].slice(0, 10)
  return fault('no-such-actor', `there is no actor ${path}`, {
    actor: path,
    missing: name,
    present: siblings,
    remedy: `name one that is there; under ${at.path} there are: ${siblings.join(', ') || 'none'}`,
  })
}
