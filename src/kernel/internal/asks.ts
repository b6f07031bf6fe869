/**
 * The asks of one system that have not been answered.
 *
 * Most are answered within microseconds, so a young ask is only linked into the
 * nursery. Those that outlive a tick get a due time, counted from the tick, and
 * enter a heap: a deadline is never early, and late by at most a few ticks.
 */
import { Accident, fault, Heap } from '../../std/index.ts'
import { extrasOf, type Cell } from './cell.ts'
import type { Core } from './core.ts'
import { Reply } from './reply.ts'
import { TimerEntry } from './timer-queue.ts'

/** How old an ask grows before its deadline is kept. */
export const ASK_TICK_MS = 8
/** How long an ask waits unless it says otherwise. */
export const ASK_DEADLINE_MS_DEFAULT = 5_000

export class Asks {
  readonly #core: Core
  readonly #tick: TimerEntry
  /**
   * The nursery: a ring of young asks that starts and ends here. It is a reply of its own, so that
   * there is always one and what V8 has learnt of replies is not forgotten with the last of them.
   */
  #nursery: Reply | null = null
  readonly #grown = new Heap<Reply>((a, b) => a.due < b.due)

  constructor(core: Core) {
    this.#core = core
    this.#tick = new TimerEntry(() => this.#onTick())
  }

  add(reply: Reply): void {
    const nursery = this.#nursery ?? this.#openNursery(reply.target)
    if (nursery.next === nursery && this.#tick.heapIndex < 0) {
      this.#core.timers.set(this.#tick, ASK_TICK_MS)
    }
    const { next } = nursery
    reply.previous = nursery
    reply.next = next
    next!.previous = reply
    nursery.next = reply
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

  #openNursery(target: Cell): Reply {
    const nursery = new Reply(target.core.root ?? target, 0, nobody, nobody)
    nursery.previous = nursery
    nursery.next = nursery
    this.#nursery = nursery
    return nursery
  }

  #young(): Reply[] {
    const young: Reply[] = []
    const nursery = this.#nursery
    for (let at = nursery?.next ?? null; at !== null && at !== nursery; at = at.next) young.push(at)
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
    for (let reply = this.#grown.peek(); reply !== undefined; reply = this.#grown.peek()) {
      if (reply.due > now) break
      this.#core.metrics.asksOverdue++
      reply.fail(overdue(reply.target))
    }
    const first = this.#grown.peek()
    if (first !== undefined) {
      this.#core.timers.set(this.#tick, Math.max(ASK_TICK_MS, first.due - now))
    }
  }
}

function nobody(): void {
  // The nursery itself is never answered.
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
