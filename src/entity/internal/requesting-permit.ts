/**
 * Permits for reading history: so many entities at once, the others wait in line.
 *
 * Entities that could not be brought back before have a line of their own and at most half of the
 * permits, so that a herd of broken ones keeps nobody else from waking.
 */
import { Deque } from '../../std/index.ts'
import type { Active } from './active.ts'
import { overloaded } from './faults.ts'

/** Entities that are brought back at the same time, unless the runtime is told otherwise. */
export const ACTIVATIONS_DEFAULT = 50
/** Entities that may wait for a permit; one more is refused. */
export const ACTIVATIONS_WAITING_MAX = 100_000

export class Permits {
  readonly #max: number
  readonly #fresh = new Line()
  readonly #failed = new Line()

  constructor(max: number) {
    this.#max = max
  }

  get waiting(): number {
    return this.#fresh.waiting.length + this.#failed.waiting.length
  }

  /** True where there is one at once. */
  take(entity: Active): boolean {
    const line = this.#lineOf(entity)
    if (!this.#mayGo(line)) return false
    line.busy++
    return true
  }

  wait(entity: Active): Promise<void> {
    return new Promise((resolve) => this.#lineOf(entity).waiting.pushBack(resolve))
  }

  giveBack(entity: Active): void {
    this.#lineOf(entity).busy--
    for (const line of [this.#fresh, this.#failed]) {
      while (line.waiting.length > 0 && this.#mayGo(line)) {
        line.busy++
        line.waiting.popFront()?.()
      }
    }
  }

  #mayGo(line: Line): boolean {
    if (this.#fresh.busy + this.#failed.busy >= this.#max) return false
    return line === this.#fresh || line.busy < Math.max(1, this.#max >> 1)
  }

  #lineOf({ attempts }: Active): Line {
    return attempts === 0 ? this.#fresh : this.#failed
  }
}

class Line {
  busy = 0
  readonly waiting: Deque<() => void> = new Deque()
}

/** The reason why not, where too many wait already. */
export async function requestPermit(permits: Permits, entity: Active): Promise<unknown> {
  if (permits.take(entity)) return undefined
  if (permits.waiting >= ACTIVATIONS_WAITING_MAX)
    return overloaded(
      entity,
      `${permits.waiting} entities wait to be woken`,
      ACTIVATIONS_WAITING_MAX,
    )
  await permits.wait(entity)
  return undefined
}
