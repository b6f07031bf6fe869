/** Hands trace entries to whoever listens; turns the express lane off meanwhile, so nothing is missed. */
import type { Clock, Log } from '../../std/index.ts'
import type { TraceEntry, TraceListener, TraceType } from '../trace.ts'
import { listen } from './dispatch.ts'
import { Listeners } from './listeners.ts'

const NOTHING: Readonly<Record<string, unknown>> = Object.freeze({})

export class Tracer {
  active = false
  #seq = 0
  readonly #clock: Clock
  readonly #express: boolean
  readonly #listeners: Listeners<TraceEntry>

  /** `express`: whether mail of the system may take the express lane, where nobody could hear it. */
  constructor(clock: Clock, log: Log, express: boolean) {
    this.#clock = clock
    this.#express = express
    this.#listeners = new Listeners(log)
  }

  subscribe(listener: TraceListener): () => void {
    const remove = this.#listeners.add(listener)
    this.active = true
    if (this.#express) listen(1)
    return () => {
      if (!remove()) return
      if (this.#express) listen(-1)
      this.active = this.#listeners.size > 0
    }
  }

  write(actor: string, type: TraceType, facts: Readonly<Record<string, unknown>> = NOTHING): void {
    this.#listeners.emit({ seq: this.#seq++, at: this.#clock.monotonic(), actor, type, facts })
  }
}
