/** A promise that becomes a message of the actor that piped it. */
import type { Next } from '../behavior.ts'
import { deliver, extrasOf, type Cell } from './cell.ts'
import { Special } from './special.ts'

/** Its message is made in the actor's turn, so that a maker that throws is supervised there. */
export class Piped extends Special {
  readonly #result: unknown
  readonly #make: () => unknown
  readonly #incarnation: number

  constructor(result: unknown, make: () => unknown, incarnation: number) {
    super()
    this.#result = result
    this.#make = make
    this.#incarnation = incarnation
  }

  override get about(): unknown {
    return 'piped'
  }

  /** Into the mailbox, unless the life it was piped in has ended. */
  arrive(cell: Cell): void {
    if (this.#isStale(cell) || !deliver(cell, this)) this.bury(cell)
  }

  override run(cell: Cell): Next<never> {
    if (!this.#isStale(cell)) return cell.receive(cell, this.#make() as never)
    this.bury(cell)
    return undefined
  }

  bury({ core, path }: Cell): void {
    core.deadLetters.add(path, this.#result, 'stale-incarnation')
  }

  #isStale(cell: Cell): boolean {
    return extrasOf(cell).incarnation !== this.#incarnation
  }
}

export function pipe<T>(
  cell: Cell,
  promise: PromiseLike<T>,
  onValue: (value: T) => unknown,
  onError: (error: unknown) => unknown,
): void {
  const { incarnation } = extrasOf(cell)
  Promise.resolve(promise).then(
    (value) => new Piped(value, () => onValue(value), incarnation).arrive(cell),
    (error: unknown) => new Piped(error, () => onError(error), incarnation).arrive(cell),
  )
}
