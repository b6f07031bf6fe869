/** Acts of a program, each done to the model first and then to the kernel. */
import {
  withContext,
  type Address,
  type Behavior,
  type Context,
  type SpawnOptions,
} from '../../src/kernel/index.ts'
import { actorOf, type Actor } from './inside.ts'
import { Letter, type About, type ModelActor } from './model/actor.ts'
import { Subject, type Offer, type Pair } from './pair.ts'
import { NEWEST, PARENT, SELF, type Nature, type OwnAct, type Script } from './program.ts'
import { conditionOf } from './promised.ts'

/** Actors a program may have, unless it is about a crowd. */
const ACTORS_MAX = 10
/** Senders that are no actors. What is promised or offered keeps no order with the rest. */
export const OUTSIDE = 0
export const NOBODY = -1

type Privately = Exclude<
  OwnAct,
  { type: 'send' | 'spawn' | 'stop' | 'suspend' | 'resume' | 'signal' }
>

export class Acts {
  readonly #pair: Pair
  readonly #behaviorOf: (actor: ModelActor) => Behavior<Letter>
  readonly #addresses: { readonly address: Address; readonly subject: Subject }[] = []
  letters = 0
  /** The context of the letter that is being handled. */
  ambient: string | undefined

  constructor(pair: Pair, behaviorOf: (actor: ModelActor) => Behavior<Letter>) {
    this.#pair = pair
    this.#behaviorOf = behaviorOf
  }

  /** `by` does it in its own turn, where it has its context; or somebody outside does. */
  perform(act: OwnAct, by?: Subject, ctx?: Context<Letter>): void {
    const pair = this.#pair
    pair.noticeEnd()
    if (pair.isOver) return
    switch (act.type) {
      case 'send':
        this.send(act.to, act.script, { inContext: act.context, by })
        break
      case 'spawn':
        this.#spawn(act.nature, by, ctx)
        break
      case 'stop': {
        const { actor, cell } = this.#pick(act.actor, by)
        pair.model.requestStop(actor, 'stopped')
        const isOwn = actor === by?.actor || actor.parent === by?.actor
        if (ctx !== undefined && isOwn) ctx.stop(cell)
        else cell.stop()
        break
      }
      case 'suspend': {
        const { actor, cell } = this.#pick(act.actor, by)
        const both = conditionOf(
          act.condition,
          (index) => this.#pick(index, by),
          () => pair.promise(() => undefined),
        )
        const model = pair.model.suspend(actor, both.model)
        const real = cell.suspend(act.reason, both.real)
        pair.expect(real.active === model.active, () => `a token is active: ${real.active}`)
        pair.tokens.push({ model, real })
        break
      }
      case 'resume': {
        const token = pair.tokens[act.token % pair.tokens.length]
        if (token === undefined) break
        pair.model.resume(token.model)
        token.real.resume()
        break
      }
      case 'signal': {
        const expected = pair.model.signal(act.key, act.sticky)
        const woken = pair.system.signal(act.key, { sticky: act.sticky })
        const isSo = woken > 0 === expected > 0
        pair.expect(isSo, () => `a signal woke ${woken} and not ${expected}`)
        break
      }
      case 'timer':
      case 'cancel':
      case 'unstash':
      case 'watch':
      case 'unwatch':
        if (by !== undefined && ctx !== undefined) this.#performOwn(act, by, ctx)
    }
  }

  #performOwn(act: Privately, by: Subject, ctx: Context<Letter>): void {
    const { model } = this.#pair
    const { actor } = by
    switch (act.type) {
      case 'timer': {
        const letter = this.#write(act.script, { from: NOBODY, to: actor, promised: true })
        model.setTimer(actor, act, letter)
        if (act.every) ctx.timers.every(act.key, act.ms, letter)
        else ctx.timers.after(act.key, act.ms, letter)
        break
      }
      case 'cancel':
        model.cancelTimer(actor, act.key)
        ctx.timers.cancel(act.key)
        break
      case 'unstash':
        model.unstash(actor)
        ctx.unstash()
        break
      case 'watch': {
        const target = this.#pick(act.actor, by)
        const letter = this.#write(act.script, { from: NOBODY, to: actor, promised: true })
        model.watch(actor, target.actor, letter)
        ctx.watch(target.cell, letter)
        break
      }
      case 'unwatch': {
        const target = this.#pick(act.actor, by)
        model.unwatch(actor, target.actor)
        ctx.unwatch(target.cell)
      }
    }
  }

  send(
    index: number,
    script: Script,
    how: Readonly<{ inContext: boolean; by?: Subject | undefined }>,
  ): void {
    const { inContext, by } = how
    const { actor: to, cell } = this.#pick(index, by)
    const context = inContext ? `context ${this.letters}` : this.ambient
    const letter = this.#write(script, { from: by?.actor.id ?? OUTSIDE, to, context })
    const expected = this.#pair.model.post.tell(by?.actor, to, letter)
    const refusal = inContext ? withContext(context, () => cell.tell(letter)) : cell.tell(letter)
    this.#pair.expect(
      refusal?.code === expected,
      () => `telling ${to.id} letter ${letter.id} answers ${refusal?.code} and not ${expected}`,
    )
  }

  address(index: number): void {
    const subject = this.#pick(index)
    this.#addresses.push({ subject, address: this.#pair.system.addressOf(subject.cell) })
  }

  tellAt(index: number, script: Script): void {
    const place = this.#addresses[index % this.#addresses.length]
    if (place === undefined) return
    const { actor: to } = place.subject
    const letter = this.#write(script, { from: OUTSIDE, to })
    const expected = this.#pair.model.post.tellAt(to, letter)
    const refusal = this.#pair.system.tellAt(place.address, letter)
    this.#pair.expect(
      refusal?.code === expected,
      () => `telling the address of ${to.id} answers ${refusal?.code} and not ${expected}`,
    )
  }

  offer(index: number, script: Script): void {
    const { actor: to, cell } = this.#pick(index)
    const letter = this.#write(script, { from: NOBODY, to })
    let offer: Offer | undefined
    let early: { code: string | undefined } | undefined
    this.#pair.model.post.offer(to, letter, (code) => {
      early = { code }
      if (offer === undefined) return
      offer.expected = code
      offer.isAnswered = true
    })
    const answer = cell.offer(letter)
    offer = { answer, expected: early?.code, isAnswered: early !== undefined }
    this.#pair.offers.push(offer)
  }

  #pick(index: number, by?: Subject): Subject {
    const { subjects } = this.#pair
    if (by !== undefined && index === SELF) return by
    if (by !== undefined && index === PARENT) {
      const parent = by.actor.parent?.id ?? 0
      return parent === 0 ? by : subjects[parent]!
    }
    if (index === NEWEST) return subjects.at(-1)!
    return subjects[1 + (Math.abs(index) % (subjects.length - 1))]!
  }

  #write(script: Script, about: About): Letter {
    return new Letter(++this.letters, script, about)
  }

  #spawn(nature: Nature, by: Subject | undefined, ctx: Context<Letter> | undefined): void {
    const pair = this.#pair
    if (pair.subjects.length > ACTORS_MAX && !pair.program.crowd) return
    const parentActor = by?.actor ?? pair.model.root
    if (parentActor.state !== 'alive') return
    const actor = pair.model.spawn(parentActor, nature)
    const behavior = this.#behaviorOf(actor)
    const spawner = ctx ?? pair.system
    const ref = nature.plain
      ? spawner.spawnAnonymous(behavior)
      : spawner.spawn(`a${actor.id}`, behavior, spawnOptions(nature))
    const subject = this.#meet(actor, actorOf(ref))
    pair.subjects.push(subject)
    const { parent } = subject.cell
    if (parent !== null && pair.subjects[0] === undefined) {
      pair.subjects[0] = this.#meet(pair.model.root, actorOf(parent))
      pair.onFirst?.(subject.cell)
    }
    if (nature.heard) subject.cell.onEnd(({ cause }) => this.#onEnd(subject, cause))
  }

  #meet(actor: ModelActor, cell: Actor): Subject {
    const subject = new Subject(actor, cell)
    this.#pair.byCell.set(cell, subject)
    return subject
  }

  #onEnd(subject: Subject, cause: string): void {
    const pair = this.#pair
    if (pair.isOver) return
    const { actor } = subject
    pair.noticeEnd()
    if (actor.state !== 'stopped') pair.noticeBeginning()
    if (actor.state !== 'stopped' && pair.turn !== undefined) pair.model.runSystem(pair.turn.actor)
    pair.expect(actor.state === 'stopped', () => `${actor.id} ends while it is ${actor.state}`)
    pair.expect(cause === actor.cause, () => `${actor.id} ends by ${cause}, not ${actor.cause}`)
    pair.expect(++subject.ends === 1, () => `${actor.id} ends twice`)
  }
}

function spawnOptions(nature: Nature): SpawnOptions<Letter> {
  const { bound, overflow, priority, supervision, stash, handlerMs } = nature
  const options = { bound, overflow, priority, supervision, stash }
  return handlerMs === undefined ? options : { ...options, handlerMs }
}
