/**
 * A whole system on virtual time, in an order that a seed decides.
 *
 * Between two turns every promise that can settle does; then one generator picks who is next among
 * the actors that are ready and the timer that is due. Time moves only when nobody is ready, or by as
 * much as turns are said to take. So a run is a function of its seed and its options: the same two
 * give the same trace and the same hash, as long as nothing waits for I/O or a real clock.
 *
 * Nothing moves unless somebody turns the world: `run`, `advance`, `until`, or an inbox that expects.
 */
import {
  createSteppedSystem,
  type DeadLetter,
  type Ref,
  type SteppedSystem,
  type StopReport,
  type System,
  type TraceEntry,
} from '../kernel/index.ts'
import { memoryJournal, type Disk, type Journal } from '../journal/index.ts'
import { Accident, fault, random, silentLog, type Log, type Random } from '../std/index.ts'
import { faultyJournal, type JournalTrouble } from './faulty-journal.ts'
import { inbox } from './inbox.ts'
import { Link } from './link.ts'
import { chooser, type Order } from './order.ts'
import { hop, settling } from './settling.ts'
import { simulatedDisk, type DiskFault, type SimulatedDisk } from './simulated-disk.ts'
import { TraceHash } from './trace-hash.ts'
import { virtualClock, type VirtualClock } from './virtual-clock.ts'
import { Witness, type Failure } from './witness.ts'
import { InboxOfWorld, type Within, type WorldInbox } from './world-inbox.ts'

export type WorldOptions = Readonly<{
  /** Decides every order and every draw; 0 unless said otherwise. */
  seed?: number
  /** What the seed prefers when several could go next. */
  order?: Order
  /** Every turn takes a drawn part of so much virtual time; 0 unless said otherwise. */
  turnMsMax?: number
  /** The mailbox bound of actors that are spawned without one. */
  bound?: number
  /** How bad the links of this world are: shares from 0 to 1, and milliseconds. */
  lossShare?: number
  repeatShare?: number
  delayMsMax?: number
  /** What the disks and journals of this world may have; none unless said otherwise. */
  diskFaults?: readonly DiskFault[]
  journalTroubles?: readonly JournalTrouble[]
  /** Whether messages are frozen; true unless said otherwise. */
  freeze?: boolean
  /** Turns that one call may take before it gives up; 100 000 unless said otherwise. */
  stepsMax?: number
  /** Virtual time that `run` and `until` may take before they give up; an hour unless said otherwise. */
  msMax?: number
  log?: Log
}>

export interface World extends AsyncDisposable {
  readonly seed: number
  readonly options: WorldOptions
  readonly system: System
  readonly clock: VirtualClock
  /** Draws for the scenario itself. They do not change the order. */
  readonly random: Random
  /** Turns until nobody is ready and no timer waits; throws `still-busy` at the limits. */
  run(): Promise<void>
  /** Turns everything that happens in the next `ms` of virtual time. */
  advance(ms: number): Promise<void>
  /** Turns until the promise settles, and gives what it gives; or until the condition holds. */
  until<T>(goal: PromiseLike<T>, options?: Within): Promise<T>
  until(goal: () => boolean, options?: Within): Promise<void>
  inbox<T>(name?: string): WorldInbox<T>
  /** A ref to `target` that loses, repeats and delays as the options say. */
  link<M>(target: Ref<M>): Ref<M>
  /** A disk with nothing on it. A crash of it is the end of whoever has mounted it. */
  disk(): SimulatedDisk
  /** Opens the journal on a disk of this world, on one of its own unless said otherwise. */
  journal(on?: SimulatedDisk): Promise<Journal>
  /** Everything that happened so far, in actors and inboxes. */
  readonly trace: readonly TraceEntry[]
  /** The same for every run of the same things in the same order. */
  readonly traceHash: string
  readonly failures: readonly Failure[]
  readonly deadLetters: readonly DeadLetter[]
  /** Turns taken so far, of actors and timers. */
  readonly steps: number
  /** Ends all actors, turning the world as far as that needs. */
  stop(): Promise<StopReport>
}

const STEPS_MAX_DEFAULT = 100_000
const MS_MAX_DEFAULT = 3_600_000

/** The draws that hang on one seed. Each has its own, so that more of one kind changes no other. */
export function drawsOf(
  seed: number,
): Readonly<Record<'order' | 'kernel' | 'links' | 'scenario' | 'options' | 'storage', Random>> {
  const root = random(seed)
  return {
    order: root.fork(),
    kernel: root.fork(),
    links: root.fork(),
    scenario: root.fork(),
    options: root.fork(),
    storage: root.fork(),
  }
}

export function world(options: WorldOptions = {}): World {
  return new SeededWorld(options)
}

type Turned = 'reached' | 'at-rest' | 'time-over'

export class SeededWorld implements World {
  readonly seed: number
  readonly options: WorldOptions
  readonly system: SteppedSystem
  readonly clock: VirtualClock = virtualClock()
  readonly random: Random
  steps = 0
  readonly #draws: ReturnType<typeof drawsOf>
  readonly #choose: (count: number) => number
  readonly #witness: Witness
  readonly #hash = new TraceHash()
  /** Entries of the trace that are in the hash. */
  #hashed = 0
  #turners = 0
  readonly #onLeft: (() => void)[] = []

  constructor(options: WorldOptions) {
    this.options = options
    this.seed = options.seed ?? 0
    this.#draws = drawsOf(this.seed)
    this.random = this.#draws.scenario
    this.#choose = chooser(options.order ?? 'any', this.#draws.order)
    this.system = createSteppedSystem({
      name: 'world',
      clock: this.clock,
      random: this.#draws.kernel,
      log: options.log ?? silentLog,
      slowTurnMs: Infinity,
      ...(options.bound !== undefined && { bound: options.bound }),
    })
    this.#witness = new Witness(this.system, options.freeze ?? true)
    this.#witness.onForget = (entries) => this.#forget(entries)
  }

  async run(): Promise<void> {
    const limitMs = this.options.msMax ?? MS_MAX_DEFAULT
    const turned = await this.#turn(() => false, limitMs)
    if (turned === 'time-over') throw this.#stillBusy(`${limitMs} ms of virtual time`)
  }

  async advance(ms: number): Promise<void> {
    const target = this.clock.monotonic() + ms
    await this.#turn(() => false, ms)
    this.clock.pass(Math.max(0, target - this.clock.monotonic()))
  }

  until<T>(goal: PromiseLike<T>, options?: Within): Promise<T>
  until(goal: () => boolean, options?: Within): Promise<void>
  async until<T>(
    goal: PromiseLike<T> | (() => boolean),
    options: Within = {},
  ): Promise<T | undefined> {
    const withinMs = options.withinMs ?? this.options.msMax ?? MS_MAX_DEFAULT
    const holds = typeof goal === 'function' ? goal : settling(goal)
    const turned = await this.#turn(holds, withinMs)
    if (turned !== 'reached') throw this.#notReached(turned, withinMs)
    return typeof goal === 'function' ? undefined : goal
  }

  inbox<T>(name?: string): WorldInbox<T> {
    return new InboxOfWorld(inbox<T>(name, { freeze: this.options.freeze ?? true }), {
      turn: async (goal, withinMs) => {
        const target = this.clock.monotonic() + withinMs
        const turned = await this.#turn(goal, withinMs)
        if (turned !== 'reached') this.clock.pass(Math.max(0, target - this.clock.monotonic()))
      },
      onReceived: (path, message) => this.#witness.add(path, 'received', { message }),
    })
  }

  link<M>(target: Ref<M>): Ref<M> {
    const { lossShare = 0, repeatShare = 0, delayMsMax = 0, freeze = true } = this.options
    return new Link(
      target,
      { lossShare, repeatShare, delayMsMax },
      {
        draws: this.#draws.links,
        clock: this.clock,
        freezes: freeze,
        onLost: (path, message) =>
          this.#witness.add(path, 'dead-letter', { reason: 'lost-on-link', message }),
      },
    )
  }

  disk(): SimulatedDisk {
    const { seed } = this.#draws.storage.fork()
    return simulatedDisk({ seed, clock: this.clock, faults: this.options.diskFaults ?? [] })
  }

  async journal(on: SimulatedDisk = this.disk()): Promise<Journal> {
    const { seed } = this.#draws.storage.fork()
    const journal = await this.#open(on.mount())
    const troubles = this.options.journalTroubles ?? []
    return faultyJournal(journal, { seed, clock: this.clock, troubles })
  }

  get trace(): readonly TraceEntry[] {
    return this.#witness.trace
  }

  get traceHash(): string {
    const { trace } = this.#witness
    for (; this.#hashed < trace.length; this.#hashed++) this.#hash.add(trace[this.#hashed]!)
    return this.#hash.digest
  }

  get failures(): readonly Failure[] {
    return this.#witness.failures
  }

  get deadLetters(): readonly DeadLetter[] {
    return this.#witness.deadLetters
  }

  stop(): Promise<StopReport> {
    return this.until(this.system.stop())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** Settles when nobody turns the world; undefined where nobody does. */
  get turning(): Promise<void> | undefined {
    if (this.#turners === 0) return undefined
    return new Promise((resolve) => this.#onLeft.push(resolve))
  }

  async #turn(goal: () => boolean, withinMs: number): Promise<Turned> {
    const deadline = this.clock.monotonic() + withinMs
    const { stepsMax = STEPS_MAX_DEFAULT } = this.options
    const lastStep = this.steps + stepsMax
    this.#turners++
    try {
      for (;;) {
        await hop()
        this.#witness.testify()
        if (goal()) return 'reached'
        while (!this.#step()) {
          const { next } = this.clock
          if (next === undefined) return 'at-rest'
          if (next > deadline) return 'time-over'
          this.clock.pass(next - this.clock.monotonic())
        }
        if (this.steps > lastStep) throw this.#stillBusy(`${stepsMax} turns`)
      }
    } finally {
      if (--this.#turners === 0) for (const resolve of this.#onLeft.splice(0)) resolve()
    }
  }

  /** One turn of an actor or a timer; false where neither is ready. */
  #step(): boolean {
    const { clock, system } = this
    const actors = system.readyDepth
    const timerIsDue = clock.next !== undefined && clock.next <= clock.monotonic()
    const count = actors + (timerIsDue ? 1 : 0)
    if (count === 0) return false
    this.steps++
    const chosen = this.#choose(count)
    if (chosen === actors) clock.fire(this.#choose)
    else system.step(() => chosen)
    const { turnMsMax = 0 } = this.options
    if (turnMsMax > 0) clock.pass(this.#draws.order.below(turnMsMax + 1))
    return true
  }

  // A disk that fails while the journal is being opened is tried again, as an operator would.
  async #open(disk: Disk): Promise<Journal> {
    for (;;) {
      try {
        return await memoryJournal({ clock: this.clock, disk })
      } catch (error) {
        if (!(error instanceof Accident) || error.code !== 'disk-broken') throw error
      }
    }
  }

  #forget(entries: readonly TraceEntry[]): void {
    for (const entry of entries.slice(this.#hashed)) this.#hash.add(entry)
    this.#hashed = Math.max(0, this.#hashed - entries.length)
  }

  #stillBusy(after: string): Accident {
    return new Accident(
      fault('still-busy', `the world still has something to do after ${after}`, {
        seed: this.seed,
        ready: this.system.readyDepth,
        nextTimerMs: this.clock.next,
        last: this.trace.slice(-5),
        remedy: 'turn a world that never rests with advance or until, or raise its limits',
      }),
    )
  }

  #notReached(turned: 'at-rest' | 'time-over', withinMs: number): Accident {
    const why =
      turned === 'at-rest' ? 'nothing is left to do' : `${withinMs} ms of virtual time are over`
    return new Accident(
      fault('not-reached', `${why} and what the test waits for has not come`, {
        seed: this.seed,
        atMs: this.clock.monotonic(),
        last: this.trace.slice(-5),
        remedy: 'look at the trace, wait longer, or wait for something a turn of the world brings',
      }),
    )
  }
}
