/** Promises that the program settles, and the conditions that wait for them. */
import {
  after,
  all,
  any,
  capacity,
  manual,
  settled,
  signal,
  type ResumeCondition,
} from '../../src/kernel/index.ts'
import type { ModelActor } from './model/actor.ts'
import { Slot, type ModelCondition } from './model/conditions.ts'
import type { Act, Condition, Outcome } from './program.ts'
import type { Actor } from './inside.ts'

/** Called when it ends: before the model hears of it, and after the kernel has. */
export type Notice = Readonly<{ before: () => void; after: () => void }>

/** One promise: the model hears of its end in the microtask just before the kernel does. */
export class Promised<A> extends Slot {
  readonly promise: Promise<A>
  /** What the code behind it does before it ends. */
  readonly acts: readonly Act[]
  isSettled = false
  readonly #settle: (outcome: Outcome) => void

  constructor(notice: Notice, answer: (outcome: Outcome) => A, acts: readonly Act[] = []) {
    super()
    const { promise, resolve, reject } = Promise.withResolvers<A>()
    let ended: Outcome = 'ok'
    const hear = (): void => {
      notice.before()
      this.listener?.(ended)
    }
    promise.then(hear, hear)
    this.promise = promise
    this.acts = acts
    this.#settle = (outcome) => {
      ended = outcome
      // By now the kernel waits for it too, and hears of it in between.
      promise.then(notice.after, notice.after)
      if (outcome === 'reject') reject(new Error('as planned'))
      else resolve(answer(outcome))
    }
  }

  settle(outcome: Outcome): void {
    this.isSettled = true
    this.#settle(outcome)
  }
}

export type Both = Readonly<{ model: ModelCondition; real: ResumeCondition }>
type Target = Readonly<{ actor: ModelActor; cell: Actor }>

/** A condition as the model and as the kernel have it; `promise` makes those it waits for. */
export function conditionOf(
  condition: Condition,
  pick: (index: number) => Target,
  promise: () => Promised<undefined>,
): Both {
  switch (condition.type) {
    case 'manual':
      return { model: condition, real: manual() }
    case 'after':
      return { model: condition, real: after(condition.ms) }
    case 'signal':
      return { model: condition, real: signal(condition.key) }
    case 'promise': {
      const slot = promise()
      return { model: { type: 'promise', slot }, real: settled(slot.promise) }
    }
    case 'capacity': {
      const { actor, cell } = pick(condition.target)
      const { room } = condition
      return { model: { type: 'capacity', target: actor, room }, real: capacity(cell, room) }
    }
    case 'all':
    case 'any': {
      const both = condition.of.map((each) => conditionOf(each, pick, promise))
      const model = both.map((each) => each.model)
      const real = both.map((each) => each.real)
      return condition.type === 'all'
        ? { model: { type: 'all', of: model }, real: all(real) }
        : { model: { type: 'any', of: model }, real: any(real) }
    }
  }
}
