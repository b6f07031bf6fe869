/** Promises between turns: letting them go on, and looking at them without waiting. */
import { afterIo } from '../std/index.ts'

/** Lets everything go on that waits for nothing but promises which have settled. */
export function hop(): Promise<void> {
  return new Promise(afterIo)
}

/** Tells whether the promise has settled. Its rejection counts as handled. */
export function settling(promise: PromiseLike<unknown>): () => boolean {
  let settled = false
  const settle = (): void => {
    settled = true
  }
  promise.then(settle, settle)
  return () => settled
}
