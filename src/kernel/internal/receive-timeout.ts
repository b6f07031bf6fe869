/**
 * Tells an actor when nothing has arrived for a while. A message only notes the
 * time; the timer looks at it when it fires and waits for what is left.
 */
import { TimerEntry } from '../../std/index.ts'
import type { Next } from '../behavior.ts'
import { deliver, type Cell } from './cell.ts'
import { Special } from './special.ts'

export class ReceiveTimeout extends Special {
  readonly #cell: Cell
  readonly #ms: number
  readonly #message: unknown
  readonly #entry: TimerEntry
  #last: number
  #over = false
  #queued = false

  constructor(cell: Cell, ms: number, message: unknown) {
    super()
    this.#cell = cell
    this.#ms = ms
    this.#message = message
    this.#last = cell.core.clock.monotonic()
    this.#entry = new TimerEntry(() => this.#fire())
    cell.core.timers.set(this.#entry, ms)
  }

  /** Something has arrived. */
  touch(): void {
    this.#last = this.#cell.core.clock.monotonic()
  }

  end(): void {
    this.#over = true
    this.#cell.core.timers.cancel(this.#entry)
  }

  override get about(): unknown {
    return this.#message
  }

  override get due(): boolean {
    return !this.#over
  }

  override run(cell: Cell): Next<never> {
    this.#queued = false
    cell.core.timers.set(this.#entry, this.#ms)
    return cell.receive(cell, this.#message as never)
  }

  #fire(): void {
    const left = this.#last + this.#ms - this.#cell.core.clock.monotonic()
    // Mail that waits has arrived; the silence begins when it has been handled.
    if (left <= 0 && (this.#cell.mail === null || this.#cell.mail.isEmpty)) {
      if (this.#queued) return
      this.#queued = true
      deliver(this.#cell, this)
    } else this.#cell.core.timers.set(this.#entry, left > 0 ? left : this.#ms)
  }
}
