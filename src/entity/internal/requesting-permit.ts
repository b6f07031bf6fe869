/**
 * Permits for reading history: so many entities at once, the others wait in line.
 *
 * Entities that could not be brought back before have a line of their own and at most half of the
 * permits, so that a herd of broken ones keeps nobody else from waking.
 */
import { Deque, type Accident } from '../../std/index.ts'
import type { Active } from './active.ts'
import { overloaded } from './faults.ts'

/** Entities that are brought back at the same time, unless the runtime is told otherwise. */
export const ACTIVATIONS_DEFAULT = 50
/** Entities that may wait for a permit; one more is refused. */
export const ACTIVATIONS_WAITING_MAX = 100_000

type Waiting = Readonly<{ entity: Active; onGranted: () => void }>

class Line {
  busy = 0
  readonly waiting: Deque<Waiting> = new Deque()
}

export class Permits {
  readonly #max: number
  readonly #fresh = new Line()
  readonly #failed = new Line()

  constructor(max: number) {
    this.#max = max
  }

  /** Gives a permit at once, or calls back when there is one; refuses where too many wait already. */
  request(entity: Active, onGranted: () => void): 'granted' | 'waiting' | Accident {
    const line = this.#lineOf(entity)
    if (this.#mayGo(line)) {
      this.#give(line, entity)
      return 'granted'
    }
    const waiting = this.#fresh.waiting.length + this.#failed.waiting.length
    if (waiting >= ACTIVATIONS_WAITING_MAX)
      return overloaded(entity, `${waiting} entities wait to be woken`, ACTIVATIONS_WAITING_MAX)
    line.waiting.pushBack({ entity, onGranted })
    return 'waiting'
  }

  /** Without effect where it has none. */
  giveBack(entity: Active): void {
    if (!entity.hasPermit) return
    entity.hasPermit = false
    this.#lineOf(entity).busy--
    this.#grant(this.#fresh)
    this.#grant(this.#failed)
  }

  #grant(line: Line): void {
    while (line.waiting.length > 0 && this.#mayGo(line)) {
      const next = line.waiting.popFront()
      if (next === undefined || next.entity.isGone) continue // it gave up meanwhile
      this.#give(line, next.entity)
      next.onGranted()
    }
  }

  #give(line: Line, entity: Active): void {
    line.busy++
    entity.hasPermit = true
  }

  #mayGo(line: Line): boolean {
    if (this.#fresh.busy + this.#failed.busy >= this.#max) return false
    return line === this.#fresh || line.busy < Math.max(1, this.#max >> 1)
  }

  #lineOf({ attempts }: Active): Line {
    return attempts === 0 ? this.#fresh : this.#failed
  }
}
