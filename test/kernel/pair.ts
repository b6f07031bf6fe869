/** The kernel and the model side by side, and the first thing in which they differ. */
import {
  createSteppedSystem,
  createSystem,
  type Context,
  type DeadLetter,
  type SteppedSystem,
  type SuspendToken,
  type System,
} from '../../src/kernel/index.ts'
import { random, silentLog } from '../../src/std/index.ts'
import { HandClock } from './hand-clock.ts'
import {
  boxed,
  endsAtOnce,
  isRunning,
  see,
  waits,
  waitersFor,
  type Actor,
  type Cell,
} from './inside.ts'
import { Model } from './model.ts'
import { Letter, type ModelActor, type ModelToken } from './model/actor.ts'
import { PLAIN, type Act, type Outcome, type Program } from './program.ts'
import { Promised } from './promised.ts'

/** `stepped`: one turn at a time, picked by the program. `express`: the real loop with its express lane. */
export type Mode = 'stepped' | 'express'

export type Violation = Readonly<{ step: number; what: string }>

/** One actor, as the model and as the kernel have it. */
export class Subject {
  readonly actor: ModelActor
  readonly cell: Actor
  /** The latest letter of each sender. Who stashes chooses its own order. */
  readonly latest: Map<number, number> = new Map()
  stashes = false
  starts = 0
  ends = 0

  constructor(actor: ModelActor, cell: Actor) {
    this.actor = actor
    this.cell = cell
  }
}

export type Offer = {
  readonly answer: Promise<unknown>
  expected: string | undefined
  isAnswered: boolean
}

export class Pair {
  readonly program: Program
  readonly mode: Mode
  readonly clock: HandClock = new HandClock()
  readonly system: System
  readonly stepped: SteppedSystem | undefined
  readonly model: Model
  /** By the id of the model's actor; the first is the root, which the kernel shows with its first child. */
  readonly subjects: (Subject | undefined)[] = [undefined]
  readonly byCell: Map<Cell, Subject> = new Map()
  readonly tokens: { readonly real: SuspendToken; readonly model: ModelToken }[] = []
  readonly promises: Promised<unknown>[] = []
  readonly offers: Offer[] = []
  readonly deadSeen: Set<Letter> = new Set()
  violation: Violation | undefined
  /** Which operation of the program is under way. */
  step = 0
  /** Whose mailbox has been handed out, and how many messages it has had since. */
  turn: Subject | undefined
  handled = 0
  /** Whose promise has settled last: it may go on at once. */
  awaited: Subject | undefined
  /** The start of a behavior that an actor has just become, in the same turn. */
  start: ((ctx: Context<Letter>) => void) | undefined
  /** Who is inside its handler. */
  inside: Subject | undefined
  /** Called with the first actor there is. */
  onFirst: ((cell: Actor) => void) | undefined
  /** The clock is on its way. */
  isAdvancing = false

  constructor(program: Program, mode: Mode) {
    this.program = program
    this.mode = mode
    const options = { clock: this.clock, random: random(1), log: silentLog }
    this.stepped = mode === 'stepped' ? createSteppedSystem(options) : undefined
    this.system = this.stepped ?? createSystem(options)
    this.model = new Model(PLAIN, (actor) => this.#endsAtOnce(actor))
    this.system.onDeadLetter((letter) => this.#onDead(letter))
  }

  get isOver(): boolean {
    return this.violation !== undefined
  }

  expect(holds: boolean, what: () => string): void {
    if (!holds) this.violation ??= { step: this.step, what: what() }
  }

  /** Actors and those who look at them, the root included once it is known. */
  get known(): Subject[] {
    return this.subjects.filter((subject) => subject !== undefined)
  }

  /** A promise that the program can settle, and what it answers then. */
  promise<A>(answer: (outcome: Outcome) => A, acts: readonly Act[] = []): Promised<A> {
    const promised = new Promised(
      { before: () => this.noticeEnd(), after: () => this.noticeSettled() },
      answer,
      acts,
    )
    this.promises.push(promised)
    return promised
  }

  /** A turn whose mailbox has gone, with its actor or back to the pool, is over without a word. */
  noticeEnd(): void {
    if (this.turn !== undefined && !isRunning(this.turn.cell)) this.#endTurn(this.turn)
  }

  /** An actor whose promise has settled may go on at once, without being handed out. */
  noticeBeginning(): void {
    const { awaited } = this
    if (this.turn !== undefined || awaited === undefined || !isRunning(awaited.cell)) return
    if (awaited.actor.system.length > 0) this.beginTurn(awaited)
  }

  /** Such a turn may be over already, if no message was handled in it. */
  noticeTurn(): void {
    this.noticeEnd()
    const { awaited } = this
    if (awaited === undefined || isRunning(awaited.cell)) return
    if (awaited.actor.system.length <= see(awaited.cell).system && this.#isLevel(awaited)) return
    this.beginTurn(awaited)
    this.#endTurn(awaited)
  }

  /** The kernel has dealt with a promise that settled. */
  noticeSettled(): void {
    this.noticeTurn()
    this.awaited = undefined
  }

  /** The kernel has handed out a mailbox. */
  onTake(cell: Cell): void {
    this.noticeTurn()
    const subject = this.byCell.get(cell)
    this.expect(subject !== undefined, () => 'somebody is handed out whom nobody knows')
    if (subject !== undefined) this.beginTurn(subject)
  }

  onSettle(cell: Cell): void {
    const subject = this.byCell.get(cell)
    if (subject === undefined) return
    if (this.turn !== subject) this.beginTurn(subject)
    this.#endTurn(subject)
  }

  /** What concerns the actor itself comes first. */
  beginTurn(subject: Subject): void {
    if (this.isOver) return
    const { actor } = subject
    const due = actor.system.length > 0 || (!actor.halted && actor.hasMail)
    this.expect(due, () => `${actor.id} is handed out though it has nothing to do or may not`)
    this.awaited = undefined
    this.turn = subject
    this.handled = 0
    this.model.runSystem(actor)
  }

  #endTurn(subject: Subject): void {
    if (this.isOver) return
    const { actor } = subject
    this.model.runSystem(actor)
    this.expect(this.model.hookDue === undefined, () => 'an onStop that was due was not called')
    const most = this.mode === 'stepped' ? 1 : Infinity
    this.expect(this.handled <= most, () => `${actor.id} has had ${this.handled} messages at once`)
    while (!this.#isLevel(subject) && this.model.shed(actor));
    this.turn = undefined
  }

  /**
   * Whether as much waits for it in the model as in the kernel. What was withdrawn leaves a mailbox
   * unseen, and where senders are held up for it, one of them takes its place at once.
   */
  #isLevel({ actor, cell }: Subject): boolean {
    if (actor.state !== 'alive') return true
    if (see(cell).ahead !== (actor.ahead !== undefined)) return false
    if (actor.queue.length !== waits(cell) || actor.waiters.length !== waitersFor(cell))
      return false
    return this.known.every((each) => each.actor.held.length === see(each.cell).held)
  }

  #endsAtOnce(actor: ModelActor): boolean {
    const subject = this.subjects[actor.id]
    if (subject === undefined || !endsAtOnce(subject.cell)) return false
    if (see(subject.cell).stopping) return true
    // What the model has put into the mailbox already, the kernel is about to.
    const express = waits(subject.cell) - boxed(subject.cell)
    return actor.ahead === undefined && actor.queue.length <= express
  }

  #onDead({ reason, message: letter }: DeadLetter): void {
    if (this.isOver) return
    this.noticeEnd()
    this.expect(letter instanceof Letter, () => 'a dead letter was never sent')
    if (!(letter instanceof Letter)) return
    const { dead } = this.model.accounts
    if (!dead.has(letter)) this.noticeBeginning()
    // Between handlers the kernel sees to system work and passes over what was withdrawn, unseen.
    if (this.turn !== undefined && !dead.has(letter)) {
      const { actor } = this.turn
      this.model.runSystem(actor)
      while (!dead.has(letter) && this.model.shed(actor));
    }
    if (!dead.has(letter) && reason === 'stopped') this.model.buryEarly(letter)
    const expected = dead.get(letter) ?? 'at all'
    this.expect(
      expected === reason,
      () => `letter ${letter.id} is dead by ${reason}, not ${expected}`,
    )
    this.expect(!this.deadSeen.has(letter), () => `letter ${letter.id} is dead twice`)
    this.deadSeen.add(letter)
  }
}
