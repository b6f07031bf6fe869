/** A promise that becomes a message of the actor that piped it. */
import { Accident, fault } from '../../std/index.ts'
import type { Next } from '../behavior.ts'
import { deliver, extrasOf, type Cell } from './cell.ts'
import { Special } from './special.ts'

/** Promises one actor may have piped that have not become messages of its yet. */
export const PIPES_MAX = 10_000

/** Its message is made in the actor's turn, so that a maker that throws is supervised there. */
export class Piped extends Special {
  readonly #result: unknown
  readonly #make: () => unknown
  readonly #incarnation: number
  #counts = true

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
    this.#leave(cell)
    if (!this.#isStale(cell)) return cell.receive(cell, this.#make() as never)
    this.bury(cell)
    return undefined
  }

  bury(cell: Cell): void {
    this.#leave(cell)
    cell.core.deadLetters.add(cell.path, this.#result, 'stale-incarnation')
  }

  #leave(cell: Cell): void {
    if (this.#counts) extrasOf(cell).pipes--
    this.#counts = false // it may be retried
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
  const extras = extrasOf(cell)
  const { incarnation } = extras
  if (extras.pipes >= PIPES_MAX) throw tooManyPipes(cell)
  extras.pipes++
  const arrive = (result: unknown, make: () => unknown): void => {
    new Piped(result, make, incarnation).arrive(cell)
  }
  Promise.resolve(promise).then(
    (value) => arrive(value, () => onValue(value)),
    (error: unknown) => arrive(error, () => onError(error)),
  )
}

function tooManyPipes(cell: Cell): Accident {
  return new Accident(
    fault('too-many-pipes', `${cell.path} waits for ${PIPES_MAX} piped promises already`, {
      actor: cell.path,
      limit: PIPES_MAX,
      remedy: 'wait for some of them, or suspend until they have settled',
    }),
  )
}
