/**
 * One behavior on a stage: an actor in a system of its own, whose turns and time are taken by hand.
 *
 * Nothing happens by itself. `tell`, `run` and `advance` go on until nobody has anything to do; `post`
 * and `step` go one turn at a time, so that a test can stop between a transition and its `enter`. On
 * stage the behavior is real: its children, its timers and its supervision are the kernel's own.
 */
import {
  createSteppedSystem,
  machineOf,
  setup,
  type Behavior,
  type Context,
  type DeadLetter,
  type Ended,
  type Handle,
  type MachineProbe,
  type Ref,
  type Refusal,
  type SpawnOptions,
  type SteppedSystem,
  type TraceEntry,
} from '../kernel/index.ts'
import { Accident, fault, random, silentLog, type Log } from '../std/index.ts'
import { deepFreeze } from './freeze.ts'
import { hop } from './settling.ts'
import { virtualClock, type VirtualClock } from './virtual-clock.ts'
import { onEnd } from './watching.ts'
import { Witness, type Failure } from './witness.ts'

export type StageOptions<M> = SpawnOptions<M> &
  Readonly<{
    /** The name of the actor: `subject` unless said otherwise. */
    name?: string
    clock?: VirtualClock
    /** What the kernel's own draws come from, such as the jitter of a back-off. */
    seed?: number
    log?: Log
    /** Whether messages are frozen when they are told; true unless said otherwise. */
    freeze?: boolean
  }>

export interface Stage<M, S extends string = string, D = unknown> {
  /** The actor, to be handed to others. What is told to it waits for the next turn. */
  readonly ref: Ref<M>
  readonly clock: VirtualClock
  /** Tells the message and runs until nobody has anything to do. */
  tell(message: M): Refusal | undefined
  /** Tells the message and runs nothing. */
  post(message: M): Refusal | undefined
  /** Takes one turn, of the actor or of one of its children; false where nobody had one to take. */
  step(): boolean
  /** Takes turns until nobody has anything to do. Time stands still. */
  run(): void
  /** Runs, then moves time by `ms`, timer by timer, and runs after each. */
  advance(ms: number): void
  /** Runs, and lets async handlers go on, until nothing changes any more without time or I/O. */
  settle(): Promise<void>
  /** Everything that happened so far. */
  readonly trace: readonly TraceEntry[]
  /** The state of a machine, also the last one after its end; undefined where there is no machine. */
  readonly state: S | undefined
  readonly data: D | undefined
  /** Puts a machine into a state as if it had come there long ago: no `enter` is due. */
  place(state: S, data: D): void
  /** Runs the `enter` of the present state, then everything that follows from it. */
  enter(): void
  readonly children: readonly Ref<never>[]
  readonly deadLetters: readonly DeadLetter[]
  /** What was thrown so far, by the actor or a child, whatever its supervision made of it. */
  readonly failures: readonly Failure[]
  readonly isStopped: boolean
  /** How it ended; undefined while it lives. */
  readonly ended: Ended | undefined
}

/** Turns that may follow from one call. */
const TURNS_MAX = 100_000

/**
 * Puts a behavior on stage. It is started and run until it has nothing to do; a machine waits in
 * front of its first `enter`.
 */
export function stage<M, S extends string = string, D = unknown>(
  behavior: Behavior<M>,
  options: StageOptions<M> = {},
): Stage<M, S, D> {
  return new Subject<M, S, D>(behavior, options)
}

class Subject<M, S extends string, D> implements Stage<M, S, D> {
  readonly ref: Handle<M>
  readonly clock: VirtualClock
  readonly #system: SteppedSystem
  readonly #witness: Witness
  readonly #freezes: boolean
  #context: Context<M> | undefined
  #machine: MachineProbe<S, D> | undefined
  #ended: Ended | undefined

  constructor(behavior: Behavior<M>, options: StageOptions<M>) {
    const { name, clock, seed, log, freeze, ...spawnOptions } = options
    this.clock = clock ?? virtualClock()
    this.#freezes = freeze ?? true
    this.#system = createSteppedSystem({
      name: 'stage',
      clock: this.clock,
      random: random(seed ?? 0),
      log: log ?? silentLog,
      slowTurnMs: Infinity,
    })
    this.#witness = new Witness(this.#system, this.#freezes)
    const seen = setup<M>((ctx) => {
      this.#context = ctx
      return behavior
    })
    this.ref = this.#system.spawn(name ?? 'subject', seen, spawnOptions)
    onEnd(this.ref, (ended) => (this.#ended = ended))
    this.step()
    if (this.#machine === undefined) this.run()
  }

  tell(message: M): Refusal | undefined {
    const refusal = this.post(message)
    this.run()
    return refusal
  }

  post(message: M): Refusal | undefined {
    return this.ref.tell(this.#freezes ? deepFreeze(message) : message)
  }

  step(): boolean {
    const stepped = this.#step()
    this.#witness.testify()
    return stepped
  }

  run(): void {
    let turns = 0
    while (this.#step()) if (++turns > TURNS_MAX) throw neverIdle(this.ref.path, this.trace.at(-1))
    this.#witness.testify()
  }

  advance(ms: number): void {
    const { clock } = this
    const target = clock.monotonic() + ms
    this.run()
    for (let due = clock.next; due !== undefined && due <= target; due = clock.next) {
      clock.advance(Math.max(0, due - clock.monotonic()))
      this.run()
    }
    clock.advance(Math.max(0, target - clock.monotonic()))
  }

  async settle(): Promise<void> {
    for (let rounds = 0; rounds < TURNS_MAX; rounds++) {
      this.run()
      await hop()
      if (this.#system.readyDepth === 0) {
        this.#witness.testify()
        return
      }
    }
    throw neverIdle(this.ref.path, this.trace.at(-1))
  }

  get trace(): readonly TraceEntry[] {
    return this.#witness.trace
  }

  get state(): S | undefined {
    return this.#machine?.state
  }

  get data(): D | undefined {
    return this.#machine?.data
  }

  place(state: S, data: D): void {
    this.#theMachine().place(state, data)
  }

  enter(): void {
    this.#theMachine().enterSoon()
    this.run()
  }

  get children(): readonly Ref<never>[] {
    return this.#context?.children ?? []
  }

  get deadLetters(): readonly DeadLetter[] {
    return this.#witness.deadLetters
  }

  get failures(): readonly Failure[] {
    return this.#witness.failures
  }

  get isStopped(): boolean {
    return this.#ended !== undefined
  }

  get ended(): Ended | undefined {
    return this.#ended
  }

  #step(): boolean {
    const stepped = this.#system.step()
    // A stopped actor has no machine any more; where it ended is still worth knowing.
    this.#machine = machineOf<S, D>(this.ref) ?? this.#machine
    return stepped
  }

  #theMachine(): MachineProbe<S, D> {
    const found = machineOf<S, D>(this.ref)
    if (found !== undefined) return found
    throw new Accident(
      fault('not-a-machine', `${this.ref.path} is not a machine, or has ended`, {
        actor: this.ref.path,
        remedy: 'place a behavior that machine() made, while it lives',
      }),
    )
  }
}

function neverIdle(actor: string, last: TraceEntry | undefined): Accident {
  return new Accident(
    fault('never-idle', `${actor} took ${TURNS_MAX} turns and still has something to do`, {
      actor,
      last,
      limit: TURNS_MAX,
      remedy: 'look at the end of the trace, or post and step turn by turn',
    }),
  )
}
