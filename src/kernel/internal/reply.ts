/**
 * The reply to one ask: the ref that is told the answer, and what waits for it.
 *
 * A reply is told once. What comes after an answer, a deadline or an abort is a
 * dead letter.
 */
import type { HeapItem } from '../../std/index.ts'
import type { Ref, Refusal } from '../ref.ts'
import type { Asks } from './asks.ts'
import type { Cell } from './cell.ts'

export class Reply implements Ref<unknown>, HeapItem {
  readonly target: Cell
  readonly deadlineMs: number
  readonly #asks: Asks
  resolve: ((value: unknown) => void) | null
  reject: ((reason: unknown) => void) | null
  /** Neighbours in the nursery of young asks. */
  previous: Reply | null = null
  next: Reply | null = null
  /** Left the nursery: has a due time and a place in the heap. */
  grown = false
  heapIndex = -1
  due = 0
  onSettled: (() => void) | null = null

  constructor(
    target: Cell,
    deadlineMs: number,
    asks: Asks,
    resolve: (value: unknown) => void,
    reject: (reason: unknown) => void,
  ) {
    this.target = target
    this.deadlineMs = deadlineMs
    this.#asks = asks
    this.resolve = resolve
    this.reject = reject
  }

  get path(): string {
    return `${this.target.path}/reply`
  }

  tell(answer: unknown): Refusal | undefined {
    const { resolve } = this
    if (resolve === null) {
      this.target.core.deadLetters.add(this.path, answer, 'late-reply')
      return undefined
    }
    this.#leave()
    resolve(answer)
    return undefined
  }

  fail(reason: unknown): void {
    const { reject } = this
    if (reject === null) return
    this.#leave()
    reject(reason)
  }

  #leave(): void {
    this.resolve = null
    this.reject = null
    this.#asks.forget(this)
    this.onSettled?.()
  }
}
