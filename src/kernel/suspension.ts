/**
 * Why an actor rests, and what wakes it.
 *
 * Every suspension is a token. Each active token holds one unit of the actor's
 * suspend counter, so reasons nest and never cancel each other; an actor runs
 * again when the last of its tokens has been resumed.
 */
import type { Ref } from './ref.ts'

export type SuspendReason =
  | 'backpressure'
  | 'await'
  | 'rate-limit'
  | 'supervision'
  | 'external'
  | 'user'

export type ResumeCondition =
  | Readonly<{ type: 'manual' }>
  | Readonly<{ type: 'after'; ms: number }>
  | Readonly<{ type: 'signal'; key: string }>
  | Readonly<{ type: 'capacity'; target: Ref<never>; room: number }>
  | Readonly<{ type: 'promise'; promise: PromiseLike<unknown> }>
  | Readonly<{ type: 'all' | 'any'; of: readonly ResumeCondition[] }>

export interface SuspendToken {
  readonly reason: SuspendReason
  readonly condition: ResumeCondition
  readonly active: boolean
  /** Gives back this token's unit. A second call has no effect and is counted. */
  resume(): void
}

/** Rests until its token is resumed by hand. */
export function manual(): ResumeCondition {
  return { type: 'manual' }
}

/** Rests for `ms` milliseconds of the system's clock. */
export function after(ms: number): ResumeCondition {
  return { type: 'after', ms }
}

/** Rests until `system.signal(key)`. Many may wait for one key. */
export function signal(key: string): ResumeCondition {
  return { type: 'signal', key }
}

/** Rests until `target` can take `room` more messages. A stopped target has room: telling it fails. */
export function capacity(target: Ref<never>, room = 1): ResumeCondition {
  return { type: 'capacity', target, room }
}

/** Rests until `promise` settles, either way. */
export function settled(promise: PromiseLike<unknown>): ResumeCondition {
  return { type: 'promise', promise }
}

/** Rests until every one of `of` has come true. */
export function all(of: readonly ResumeCondition[]): ResumeCondition {
  return { type: 'all', of }
}

/** Rests until the first of `of` comes true. */
export function any(of: readonly ResumeCondition[]): ResumeCondition {
  return { type: 'any', of }
}
