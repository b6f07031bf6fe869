/**
 * An async handler in flight.
 *
 * The cell rests until the promise settles and its mail keeps its order. The two
 * callbacks are made once for a life of the cell, not once a message. A promise
 * that settles after its handler was given up (overdue, restarted, stopped) is
 * ignored.
 */
import { Accident, fault, type TimerEntry } from '../../std/index.ts'
import type { Step } from '../behavior.ts'
import { extrasOf, lower, raise, rest, wake, type Cell } from './cell.ts'
import { claim, drainClaimed, running, setRunning } from './dispatch.ts'
import { fail, recovered } from './failing.ts'
import { AWAIT } from './status.ts'

export type Apply = (cell: Cell, mail: unknown, step: Step<never>) => void

export class Waiting {
  readonly cell: Cell
  mail: unknown = undefined
  promise: PromiseLike<unknown> | null = null
  /** What running the cell comes to while it waits; one object for all its handlers. */
  readonly result: {
    readonly type: 'suspended'
    readonly reason: 'await'
    readonly resumeOn: { readonly type: 'promise'; promise: PromiseLike<unknown> }
  }
  /** Counts the handlers; a sweep that finds the same number twice has found a slow one. */
  turn = 0
  watched = false
  /** The handler that was reported as slow. */
  named = 0
  readonly settled: (step: Step<never>) => void
  readonly failed: (error: unknown) => void
  #limit: TimerEntry | null = null

  constructor(cell: Cell, apply: Apply) {
    this.cell = cell
    const resumeOn = { type: 'promise' as const, promise: Promise.resolve() }
    this.result = { type: 'suspended', reason: 'await', resumeOn }
    this.settled = (step) => {
      if (!this.#close()) return
      const claimed = claim()
      if (step !== undefined) asRunning(cell, () => apply(cell, this.mail, step))
      recovered(cell, this.mail)
      goOn(cell, claimed)
    }
    this.failed = (error) => {
      if (!this.#close()) return
      const claimed = claim()
      asRunning(cell, () => fail(cell, this.mail, error))
      goOn(cell, claimed)
    }
  }

  open(mail: unknown, promise: PromiseLike<Step<never>>): void {
    const { cell } = this
    // Anybody's thenable may throw or call back twice; a promise does neither.
    const settling = promise instanceof Promise ? promise : Promise.resolve(promise)
    this.mail = mail
    this.promise = promise
    this.result.resumeOn.promise = promise
    this.turn++
    raise(cell, AWAIT)
    rest(cell)
    const limit = cell.options.handlerMs
    if (limit !== undefined) this.#limit = cell.core.timers.after(limit, () => this.#overdue(limit))
    cell.core.slowTurns.watch(this)
    settling.then(this.settled, this.failed)
  }

  /** Whatever it comes to, nobody waits for it any more. */
  abandon(): void {
    this.promise = null
    if (this.#limit !== null) this.cell.core.timers.cancel(this.#limit)
    this.#limit = null
    this.cell.core.slowTurns.forget(this)
  }

  #close(): boolean {
    const { cell } = this
    if (this.promise === null) return false
    this.promise = null
    if (this.#limit !== null) cell.core.timers.cancel(this.#limit)
    this.#limit = null
    lower(cell, AWAIT)
    return true
  }

  #overdue(limit: number): void {
    const { cell, mail } = this
    const extras = extrasOf(cell)
    this.abandon()
    extras.awaiting = null
    extras.abort?.abort()
    extras.abort = null
    lower(cell, AWAIT)
    const error = new Accident(
      fault('handler-overdue', `a handler of ${cell.path} did not settle within ${limit} ms`, {
        actor: cell.path,
        handlerMs: limit,
        remedy: 'heed ctx.signal, pipe the promise instead of awaiting it, or allow more time',
      }),
    )
    asRunning(cell, () => fail(cell, mail, error))
    wake(cell)
  }
}

/** What the actor's own code tells meanwhile, a hook or the start of a behavior, is told by it. */
function asRunning(cell: Cell, work: () => void): void {
  const before = running
  setRunning(cell)
  work()
  setRunning(before)
}

/** A settled promise is a turn of its own: an idle loop runs in it, without another hop. */
function goOn(cell: Cell, claimed: boolean): void {
  if (claimed) drainClaimed(cell)
  else wake(cell)
}
