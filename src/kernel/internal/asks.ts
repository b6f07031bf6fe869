/**
 * The asks of one system that have not been answered.
 *
 * Most are answered within microseconds, so a young ask is only linked into a
 * ring of the nursery. Those that outlive a tick get a due time, counted from the tick, and
 * enter a heap: a deadline is never early, and late by at most a few ticks.
 */
import { Accident, fault, Heap, TimerEntry } from '../../std/index.ts'
import { extrasOf, type Cell } from './cell.ts'
import type { Core } from './core.ts'
import { Reply } from './reply.ts'

/** How old an ask grows before its deadline is kept. */
export const ASK_TICK_MS = 8
/**
 * Asks in one ring. A ring is as young as its asks, so that linking them costs the collector nothing;
 * one long list would be old, and every link into it would have to be remembered.
 */
const RING_ASKS = 64
/** How long an ask waits unless it says otherwise. */
export const ASK_DEADLINE_MS_DEFAULT = 5_000

export class Asks {
  readonly #core: Core
  readonly #tick: TimerEntry
  /** The nursery: rings of young asks, the last of which is still being filled. */
  #rings: Reply[] = []
  #ring: Reply | null = null
  #inRing = 0
  /** The tick waits for a deadline: too long for an ask that is young by then. */
  #isFar = false
  readonly #grown = new Heap<Reply>((a, b) => a.due < b.due)

  constructor(core: Core) {
    this.#core = core
    this.#tick = new TimerEntry(() => this.#onTick())
  }

  add(reply: Reply): void {
    let ring = this.#ring
    if (ring === null || this.#inRing === RING_ASKS) ring = this.#startRing(reply.target)
    this.#inRing++
    const next = ring.next as Reply
    reply.previous = ring
    reply.next = next
    next.previous = reply
    ring.next = reply
    const { extras } = reply.target
    if (extras === null || !extras.asked) extrasOf(reply.target).asked = true
  }

  forget(reply: Reply): void {
    if (reply.heapIndex >= 0) {
      this.#grown.remove(reply)
      reply.target.extras?.asks?.delete(reply)
      return
    }
    const { previous, next } = reply
    if (previous === null || next === null) return
    previous.next = next
    next.previous = previous
    reply.previous = null
    reply.next = null
  }

  /** The actor has ended: nobody will answer what it was asked. */
  endAll(target: Cell): void {
    for (const reply of this.#young()) if (reply.target === target) reply.fail(stopped(target))
    const { asks } = extrasOf(target)
    if (asks !== null) for (const reply of asks) reply.fail(stopped(target))
  }

  #startRing(target: Cell): Reply {
    if (this.#tick.heapIndex < 0 || this.#isFar) {
      this.#core.timers.set(this.#tick, ASK_TICK_MS)
      this.#isFar = false
    }
    const ring = new Reply(target.core.root ?? target, 0)
    ring.previous = ring
    ring.next = ring
    this.#rings.push(ring)
    this.#ring = ring
    this.#inRing = 0
    return ring
  }

  #young(): Reply[] {
    const young: Reply[] = []
    for (const ring of this.#rings) {
      for (let at = ring.next; at !== null && at !== ring; at = at.next) young.push(at)
    }
    return young
  }

  #onTick(): void {
    const now = this.#core.clock.monotonic()
    for (const reply of this.#young()) {
      this.forget(reply)
      reply.due = Math.ceil(now + reply.due)
      this.#grown.push(reply)
      ;(extrasOf(reply.target).asks ??= new Set()).add(reply)
    }
    this.#rings = this.#ring === null ? [] : [this.#ring]
    this.#inRing = RING_ASKS
    for (let reply = this.#grown.peek(); reply !== undefined; reply = this.#grown.peek()) {
      if (reply.due > now) break
      this.#core.metrics.asksOverdue++
      reply.fail(overdue(reply.target))
    }
    const first = this.#grown.peek()
    this.#isFar = first !== undefined
    if (first !== undefined) {
      this.#core.timers.set(this.#tick, Math.max(ASK_TICK_MS, first.due - now))
    }
  }
}

function stopped(target: Cell): Accident {
  return new Accident(
    fault('actor-stopped', `${target.path} stopped before it had answered`, {
      actor: target.path,
      remedy: 'ask again once the actor is back, or look at why it stopped',
    }),
  )
}

function overdue(target: Cell): Accident {
  return new Accident(
    fault('deadline-passed', `${target.path} did not answer in time`, {
      actor: target.path,
      remedy: 'allow more time, or find out what keeps the actor: its trace shows its last turns',
    }),
  )
}
