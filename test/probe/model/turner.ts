/**
 * Turns a server: one actor or one timer at a time, in an order that the seed decides. Between two turns every
 * promise settles that can. Time goes on only when it is told to, or while something is waited for.
 */
import type { SteppedSystem } from '../../../src/kernel/index.ts'
import { afterIo, random, type Random } from '../../../src/std/index.ts'
import type { VirtualClock } from '../../../src/testkit/index.ts'
import type { Program } from './program.ts'

export type TurnerHooks = Readonly<{
  system: () => SteppedSystem
  /** Throws where something is wrong. */
  onTurned: () => void
  onCalm: () => void
}>

export class Turner {
  turns = 0
  readonly #clock: VirtualClock
  readonly #draws: Random
  readonly #order: Program['order']
  readonly #hooks: TurnerHooks

  constructor({ seed, order }: Program, clock: VirtualClock, hooks: TurnerHooks) {
    this.#clock = clock
    this.#draws = random(seed)
    this.#order = order
    this.#hooks = hooks
  }

  async turn(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      await hop()
      if (!this.#step()) return
    }
  }

  /** Until nobody has anything to do before time goes on. */
  async calm(): Promise<void> {
    for (;;) {
      await hop()
      if (!this.#step()) break
    }
    this.#hooks.onCalm()
  }

  async pass(ms: number): Promise<void> {
    const target = this.#clock.monotonic() + ms
    for (;;) {
      await this.calm()
      const { next } = this.#clock
      const now = this.#clock.monotonic()
      if (next === undefined || next > target) return this.#clock.pass(Math.max(0, target - now))
      this.#clock.pass(next - now)
    }
  }

  /** However long it takes. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false
    const settled = (): void => void (isSettled = true)
    promise.then(settled, settled)
    for (;;) {
      await hop()
      if (isSettled) return promise
      if (this.#step()) continue
      const { next } = this.#clock
      if (next === undefined) throw new Error('something is waited for that never comes')
      this.#clock.pass(Math.max(0, next - this.#clock.monotonic()))
    }
  }

  /** One turn of an actor, or one timer that is due; false where there is neither. */
  #step(): boolean {
    const system = this.#hooks.system()
    const { readyDepth } = system
    const { next } = this.#clock
    const isDue = next !== undefined && next <= this.#clock.monotonic()
    const count = readyDepth + (isDue ? 1 : 0)
    if (count === 0) return false
    const chosen = this.#choose(count)
    if (chosen === readyDepth) this.#clock.fire((equals) => this.#choose(equals))
    else system.step(() => chosen)
    this.turns++
    this.#hooks.onTurned()
    return true
  }

  #choose(count: number): number {
    if (count === 1) return 0
    if (this.#order === 'any' || this.#draws.below(8) === 0) return this.#draws.below(count)
    return this.#order === 'arrival' ? 0 : count - 1
  }
}

/** Lets everything go on that waits for nothing but promises which have settled. */
export function hop(): Promise<void> {
  return new Promise(afterIo)
}
