/**
 * A way to an actor that is as bad as a network: it may lose, repeat and delay what is told.
 *
 * What it delivers keeps its order, late messages too. How bad it is, the world's options say; when,
 * its seed.
 */
import type { Ended, Ref, Refusal, Watchable } from '../kernel/index.ts'
import { Deque, type Clock, type Random } from '../std/index.ts'
import { deepFreeze } from './freeze.ts'
import { onEnd } from './watching.ts'

export type LinkFaults = Readonly<{
  /** The share of messages that are lost, 0 to 1. */
  lossShare: number
  /** The share of messages that are told twice in a row, 0 to 1. */
  repeatShare: number
  /** How late a message may come. */
  delayMsMax: number
}>

/** What a link takes from its world. */
export type LinkHost = Readonly<{
  draws: Random
  clock: Clock
  freezes: boolean
  onLost: (path: string, message: unknown) => void
}>

export class Link<M> implements Ref<M>, Watchable {
  readonly path: string
  readonly #target: Ref<M>
  readonly #faults: LinkFaults
  readonly #host: LinkHost
  readonly #late = new Deque<M>()

  constructor(target: Ref<M>, faults: LinkFaults, host: LinkHost) {
    this.path = target.path
    this.#target = target
    this.#faults = faults
    this.#host = host
  }

  /** Says what the actor says, but never that a message is lost or late. */
  tell(message: M): Refusal | undefined {
    const { lossShare, repeatShare, delayMsMax } = this.#faults
    const { draws, freezes, onLost } = this.#host
    if (freezes) deepFreeze(message)
    if (draws.next() < lossShare) {
      onLost(this.path, message)
      return undefined
    }
    const delayMs = draws.below(delayMsMax + 1)
    const refusal = this.#send(message, delayMs)
    return draws.next() < repeatShare ? this.#send(message, delayMs) : refusal
  }

  onEnd(listener: (ended: Ended) => void): () => void {
    return onEnd(this.#target, listener)
  }

  #send(message: M, delayMs: number): Refusal | undefined {
    if (delayMs === 0 && this.#late.length === 0) return this.#target.tell(message)
    const { clock } = this.#host
    // Each timer delivers whatever is first by then, so none overtakes another.
    this.#late.pushBack(message)
    clock.setTimer(clock.monotonic() + delayMs, () => {
      this.#target.tell(this.#late.popFront()!)
    })
    return undefined
  }
}
