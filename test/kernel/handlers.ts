/**
 * The code of the real actors: handlers, starts and hooks.
 *
 * Each asks the model whether this may happen now, does what its script says, and tells the model
 * how it ends just before the kernel hears of it.
 */
import { receive, setup, type Behavior, type Context, type Next } from '../../src/kernel/index.ts'
import { NOBODY, type Acts } from './acts.ts'
import { checkAll } from './checks.ts'
import { isRunning } from './inside.ts'
import type { Ending } from './model.ts'
import type { Entry, Letter, ModelActor } from './model/actor.ts'
import type { Pair, Subject } from './pair.ts'
import type { Slot } from './model/conditions.ts'
import type { Act, Outcome, OwnAct } from './program.ts'
import type { Promised } from './promised.ts'

/** Letters after which the insides are no longer looked at in every handler. */
const LETTERS_LOOKED_AT = 400

/** How often one letter is put aside: some time it must be done. */
const STASHES_MAX = 2

/** Thrown again and again: a fresh one would spend most of the time on its stack. */
const PLANNED = new Error('as planned')

type Answer = 'stopped' | Behavior<Letter> | undefined
type Start = Readonly<{ acts: readonly OwnAct[]; throws: boolean }>

export class Handlers {
  readonly #pair: Pair
  readonly #acts: () => Acts

  constructor(pair: Pair, acts: () => Acts) {
    this.#pair = pair
    this.#acts = acts
  }

  /** The behavior an actor is spawned with. */
  first(actor: ModelActor): Behavior<Letter> {
    if (!actor.nature.setup) return this.#behavior(actor, 0)
    return setup<Letter>(() => {
      if (!this.#pair.isOver) this.#start(this.#subject(actor))
      return this.#behavior(actor, 0)
    })
  }

  #subject(actor: ModelActor): Subject {
    return this.#pair.subjects[actor.id]!
  }

  #behavior(actor: ModelActor, id: number): Behavior<Letter> {
    const hooks = actor.nature.hook === 'none' ? {} : { onStop: () => this.#onStop(actor) }
    return receive<Letter>((ctx, letter) => {
      return this.#pair.isOver ? undefined : this.#handle(this.#subject(actor), id, ctx, letter)
    }, hooks)
  }

  #handle(subject: Subject, id: number, ctx: Context<Letter>, letter: Letter): Next<Letter> {
    const pair = this.#pair
    const acts = this.#acts()
    const entry = this.#begin(subject, letter)
    if (entry === undefined) return undefined
    const { actor } = subject
    pair.expect(id === actor.behavior, () => `${actor.id} behaves as ${id}, not ${actor.behavior}`)
    pair.expect(ctx.context === letter.context, () => `the context is ${String(ctx.context)}`)
    this.#expectOrder(subject, letter)
    letter.runs++
    pair.inside = subject
    acts.ambient = letter.context
    this.#look('as a handler begins')
    for (const act of letter.script.acts) acts.perform(act, subject, ctx)
    this.#look('as a handler ends')
    acts.ambient = undefined
    pair.inside = undefined
    return pair.isOver ? undefined : this.#finish(subject, entry, letter, ctx)
  }

  #look(when: string): void {
    if (this.#acts().letters < LETTERS_LOOKED_AT) checkAll(this.#pair, when)
  }

  /** A turn begins: the model says whether it may, and what it is for. */
  #begin(subject: Subject, letter: Letter | undefined): Entry | undefined {
    const pair = this.#pair
    const { actor } = subject
    pair.noticeTurn()
    const what = letter === undefined ? 'its start' : `letter ${letter.id}`
    pair.expect(pair.model.hookDue === undefined, () => 'an onStop was due first')
    pair.expect(pair.start === undefined, () => 'a behavior was to be started first')
    pair.expect(!actor.halted, () => `${actor.id} has ${what} while it may not run`)
    if (pair.turn !== subject && isRunning(subject.cell)) pair.beginTurn(subject)
    if (pair.turn === subject) pair.handled++
    const entry = pair.model.take(actor)
    const next = entry === undefined ? 'nothing' : `${entry.letter?.id ?? 'its start'}`
    const isNext = entry !== undefined && entry.letter === letter
    pair.expect(isNext, () => `${actor.id} has ${what} while ${next} is next`)
    return pair.isOver ? undefined : entry
  }

  #expectOrder(subject: Subject, letter: Letter): void {
    const { from, id, runs } = letter
    if (subject.stashes || runs > 0 || from === NOBODY) return
    const before = subject.latest.get(from) ?? 0
    subject.latest.set(from, id)
    this.#pair.expect(before < id, () => `letters ${before} and ${id} of ${from} are out of order`)
  }

  #finish(subject: Subject, entry: Entry, letter: Letter, ctx: Context<Letter>): Next<Letter> {
    const { end } = letter.script
    const { actor } = subject
    switch (end.type) {
      case 'ok':
      case 'same':
        this.#end(subject, entry, { type: 'ok' })
        return end.type === 'same' ? 'same' : undefined
      case 'stopped':
        this.#end(subject, entry, { type: 'stopped' })
        return 'stopped'
      case 'garbage':
        this.#end(subject, entry, { type: 'failed' })
        return garbage()
      case 'throw':
        this.#end(subject, entry, { type: letter.runs > end.times ? 'ok' : 'failed' })
        if (letter.runs > end.times) return undefined
        throw PLANNED
      case 'stash':
        if (letter.runs > STASHES_MAX) {
          this.#end(subject, entry, { type: 'ok' })
          return undefined
        }
        this.#stash(subject, entry, letter, ctx)
        return undefined
      case 'become':
        this.#end(subject, entry, { type: 'become', behavior: actor.behavior + 1 })
        return this.#behavior(actor, actor.behavior)
      case 'become-later': {
        this.#startNext(subject, entry, end)
        return this.#later(actor)
      }
      case 'async': {
        const promised = this.#promise(subject, end.acts)
        this.#end(subject, entry, { type: 'async', slot: promised })
        return promised.promise
      }
    }
  }

  #end(subject: Subject, entry: Entry, ending: Ending, boxed = this.#pair.turn === subject): void {
    this.#pair.model.end(subject.actor, entry, ending, boxed)
  }

  #stash(subject: Subject, entry: Entry, letter: Letter, ctx: Context<Letter>): void {
    subject.stashes = true
    const kept = !letter.promised && this.#pair.model.putAside(subject.actor, letter)
    const full = letter.promised ? undefined : ctx.stash(letter)
    const asExpected = letter.promised || kept === (full === undefined)
    this.#pair.expect(asExpected, () => `the stash answers ${full?.code}`)
    this.#end(subject, entry, { type: kept ? 'stashed' : 'ok' })
  }

  #promise(subject: Subject, acts: readonly Act[]): Promised<Answer> {
    const { actor } = subject
    const answer = (outcome: Outcome): Answer => {
      if (outcome === 'become') return this.#behavior(actor, actor.behavior + 1)
      if (outcome === 'become-later') return this.#later(actor)
      if (outcome === 'garbage') return garbage()
      return outcome === 'stopped' ? 'stopped' : undefined
    }
    const promised = this.#pair.promise(answer, acts)
    promised.listener = (outcome) => this.#awaited(subject, promised, outcome)
    return promised
  }

  #awaited(subject: Subject, promised: Slot, outcome: Outcome): void {
    const pair = this.#pair
    if (pair.isOver) return
    const { actor } = subject
    const entry = pair.model.awaited(actor, promised)
    if (entry === undefined) return
    const end = (ending: Ending): void => this.#end(subject, entry, ending, false)
    pair.awaited = subject
    if (outcome === 'ok' || outcome === 'stopped') end({ type: outcome })
    else if (outcome === 'become') end({ type: 'become', behavior: actor.behavior + 1 })
    else if (outcome === 'become-later')
      this.#startNext(subject, entry, { acts: [], throws: false }, false)
    else end({ type: 'failed' })
  }

  #startNext(subject: Subject, entry: Entry, start: Start, boxed?: boolean): void {
    const isBoxed = boxed ?? this.#pair.turn === subject
    const ending: Ending = start.throws
      ? { type: 'failed' }
      : { type: 'become', behavior: subject.actor.behavior + 1 }
    this.#pair.start = (ctx) => {
      this.#pair.start = undefined
      for (const act of start.acts) this.#acts().perform(act, subject, ctx)
      if (!this.#pair.isOver) this.#end(subject, entry, ending, isBoxed)
      if (start.throws) throw PLANNED
    }
  }

  /** A behavior that is made in the turn that became it. */
  #later(actor: ModelActor): Behavior<Letter> {
    const id = actor.behavior + 1
    return setup<Letter>((ctx) => {
      const pair = this.#pair
      pair.expect(pair.start !== undefined, () => 'a behavior is started unduly')
      if (!pair.isOver) pair.start?.(ctx)
      return this.#behavior(actor, id)
    })
  }

  #start(subject: Subject): void {
    const entry = this.#begin(subject, undefined)
    if (entry === undefined) return
    const fails = ++subject.starts <= subject.actor.nature.startThrows
    this.#end(subject, entry, { type: fails ? 'failed' : 'ok' })
    if (fails) throw PLANNED
  }

  #onStop(actor: ModelActor): Promise<undefined> | undefined {
    const pair = this.#pair
    if (pair.isOver) return undefined
    const { model } = pair
    const subject = this.#subject(actor)
    const { hook, hookActs } = actor.nature
    pair.noticeEnd()
    if (model.hookDue !== actor) pair.noticeBeginning()
    if (model.hookDue === undefined && pair.turn === subject) model.runSystem(actor)
    pair.expect(model.hookDue === actor, () => `${actor.id} has its onStop called unduly`)
    for (const act of hookActs) this.#acts().perform(act, subject)
    if (pair.isOver) return undefined
    const promised = hook === 'async' ? pair.promise(() => undefined) : undefined
    model.hookReturned(actor, promised ?? (hook === 'throws' ? 'throws' : 'returns'))
    if (pair.turn === subject) model.runSystem(actor)
    if (pair.isAdvancing) model.agenda.catchUp(() => model.hookDue !== undefined)
    if (hook === 'throws') throw PLANNED
    return promised?.promise
  }
}

/** An answer that is none. */
function garbage(): undefined {
  const answer: unknown = 42
  return answer as undefined
}
