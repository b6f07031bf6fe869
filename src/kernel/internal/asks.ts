/**
 * The asks of one system that have not been answered.
 *
 * Most are answered within microseconds, so a young ask is only linked into the
 * nursery. Those that outlive a tick get a due time, counted from the tick, and
 * enter a heap: a deadline is never early, and late by at most a few ticks.
 */
import { Accident, fault, Heap } from '../../std/index.ts'
import { extrasOf, type Cell } from './cell.ts'
import type { Reply } from './reply.ts'
import { TimerEntry, type TimerQueue } from './timer-queue.ts'

/** How old an ask grows before its deadline is kept. */
export const ASK_TICK_MS = 8
/** How long an ask waits unless it says otherwise. */
export const ASK_DEADLINE_MS_DEFAULT = 5_000

export class Asks {
  readonly #timers: TimerQueue
  readonly #now: () => number
  readonly #tick: TimerEntry
  #youngest: Reply | null = null
  readonly #grown = new Heap<Reply>((a, b) => a.due < b.due)

  constructor(timers: TimerQueue, now: () => number) {
    this.#timers = timers
    this.#now = now
    this.#tick = new TimerEntry(() => this.#onTick())
  }

  add(reply: Reply): void {
    const youngest = this.#youngest
    reply.next = youngest
    if (youngest === null) {
      if (this.#tick.heapIndex < 0) this.#timers.set(this.#tick, ASK_TICK_MS)
    } else youngest.previous = reply
    this.#youngest = reply
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
    if (previous !== null) previous.next = next
    else if (this.#youngest === reply) this.#youngest = next
    if (next !== null) next.previous = previous
    reply.previous = null
    reply.next = null
  }

  /** The actor has ended: nobody will answer what it was asked. */
  endAll(target: Cell): void {
    for (let reply = this.#youngest; reply !== null;) {
      const { next } = reply
      if (reply.target === target) reply.fail(stopped(target))
      reply = next
    }
    const { asks } = extrasOf(target)
    if (asks !== null) for (const reply of asks) reply.fail(stopped(target))
  }

  #onTick(): void {
    const now = this.#now()
    for (let reply = this.#youngest; reply !== null;) {
      const { next } = reply
      this.forget(reply)
      reply.due = Math.ceil(now + reply.due)
      this.#grown.push(reply)
      ;(extrasOf(reply.target).asks ??= new Set()).add(reply)
      reply = next
    }
    for (let reply = this.#grown.peek(); reply !== undefined; reply = this.#grown.peek()) {
      if (reply.due > now) break
      reply.target.core.metrics.asksOverdue++
      reply.fail(overdue(reply.target))
    }
    const first = this.#grown.peek()
    if (first !== undefined) this.#timers.set(this.#tick, Math.max(ASK_TICK_MS, first.due - now))
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
