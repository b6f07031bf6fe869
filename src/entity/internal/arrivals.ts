/**
 * Readers of a view who wait until it has seen what they have written.
 *
 * Nobody waits for ever: each has a deadline, and the end of the view ends every wait.
 */
import { Accident, fault, type Clock, type Timer } from '../../std/index.ts'
import type { ReadOptions } from '../projection.ts'

/** How long a read waits for its view, unless it says otherwise. */
export const VIEW_DEADLINE_MS_DEFAULT = 5_000

type Waiting = Readonly<{
  seen: number
  timer: Timer
  resolve: () => void
  reject: (why: Error) => void
}>

export class Arrivals {
  readonly #view: string
  readonly #clock: Clock
  readonly #waiting = new Set<Waiting>()
  /** Told when somebody begins to wait. */
  onAwaited: (() => void) | undefined
  #position = 0
  #ended: Accident<'view-ended'> | undefined

  constructor(view: string, clock: Clock) {
    this.#view = view
    this.#clock = clock
  }

  get position(): number {
    return this.#position
  }

  /** Settles when the view has seen the position, rejects with `view-behind` or `view-ended`. */
  async seen({ seen = 0, deadlineMs = VIEW_DEADLINE_MS_DEFAULT }: ReadOptions): Promise<void> {
    if (this.#ended !== undefined) throw this.#ended
    if (seen <= this.#position) return
    await new Promise<void>((resolve, reject) => {
      const timer = this.#clock.setTimer(this.#clock.monotonic() + deadlineMs, () => {
        this.#waiting.delete(waiting)
        reject(this.#behind(seen, deadlineMs))
      })
      const waiting: Waiting = { seen, timer, resolve, reject }
      this.#waiting.add(waiting)
      this.onAwaited?.()
    })
  }

  get isAwaited(): boolean {
    return this.#waiting.size > 0
  }

  arrive(position: number): void {
    this.#position = position
    for (const waiting of this.#waiting) if (waiting.seen <= position) this.#let(waiting).resolve()
  }

  /** Everything that is read from here on is refused. */
  end(cause?: unknown): void {
    this.#ended = new Accident(
      fault('view-ended', `the view ${this.#view} has ended`, {
        view: this.#view,
        position: this.#position,
        remedy: 'look at its ended, and start it again',
      }),
      { cause },
    )
    for (const waiting of this.#waiting) this.#let(waiting).reject(this.#ended)
  }

  #let(waiting: Waiting): Waiting {
    waiting.timer.cancel()
    this.#waiting.delete(waiting)
    return waiting
  }

  #behind(seen: number, deadlineMs: number): Accident<'view-behind'> {
    return new Accident(
      fault('view-behind', `the view ${this.#view} was still behind after ${deadlineMs} ms`, {
        view: this.#view,
        position: this.#position,
        seen,
        remedy: 'read again, allow more time, or read what is there without seen',
      }),
    )
  }
}
