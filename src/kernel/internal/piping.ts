/** A promise that becomes a message of the actor that piped it. */
import type { Next } from '../behavior.ts'
import { deliver, extrasOf, type Cell } from './cell.ts'
import { Special } from './special.ts'

/** Its message is made in the actor's turn, so that a maker that throws is supervised there. */
class Piped extends Special {
  readonly #make: () => unknown

  constructor(make: () => unknown) {
    super()
    this.#make = make
  }

  override get about(): unknown {
    return 'piped'
  }

  override run(cell: Cell): Next<never> {
    return cell.receive(cell, this.#make() as never)
  }
}

export function pipe<T>(
  cell: Cell,
  promise: PromiseLike<T>,
  onValue: (value: T) => unknown,
  onError: (error: unknown) => unknown,
): void {
  const { incarnation } = extrasOf(cell)
  const arrive = (make: () => unknown, result: unknown): void => {
    const stale = extrasOf(cell).incarnation !== incarnation
    if (stale || !deliver(cell, new Piped(make))) {
      cell.core.deadLetters.add(cell.path, result, 'stale-incarnation')
    }
  }
  Promise.resolve(promise).then(
    (value) => arrive(() => onValue(value), value),
    (error: unknown) => arrive(() => onError(error), error),
  )
}
