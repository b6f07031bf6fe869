/**
 * The reply to one ask: the ref that is told the answer, and what waits for it.
 *
 * A reply is told once. What comes after an answer, a deadline or an abort is a
 * dead letter.
 */
import type { HeapItem } from '../../std/index.ts'
import type { Ref, Refusal } from '../ref.ts'
import type { Cell } from './cell.ts'

export class Reply implements Ref<unknown>, HeapItem {
  declare readonly target: Cell
  /** Milliseconds it may take; once it has a place in the heap, when it is due. */
  declare due: number
  declare resolve: ((value: unknown) => void) | null
  declare reject: ((reason: unknown) => void) | null
  /** Neighbours in the nursery of young asks. */
  declare previous: Reply | null
  declare next: Reply | null
  /** -1 while it is young. */
  declare heapIndex: number
  declare onSettled: (() => void) | null

  constructor(target: Cell, deadlineMs: number) {
    this.target = target
    this.due = deadlineMs
    this.resolve = null
    this.reject = null
    this.previous = null
    this.next = null
    this.heapIndex = -1
    this.onSettled = null
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
    this.target.core.asks.forget(this)
    if (this.onSettled !== null) this.onSettled()
  }
}
