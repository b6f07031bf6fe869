/**
 * Addresses of actors.
 *
 * A ref can be told things and compared; it gives no other access to the actor
 * behind it. Telling never throws and never waits: what could not be accepted
 * comes back as a fault and is counted as a dead letter, so a caller who does
 * not look loses nothing silently.
 */
import type { Fault } from '../std/index.ts'

/** Why an actor would not take a message. */
export type Refusal = Fault<
  'actor-stopped' | 'mailbox-full' | 'backpressure-cycle' | 'invalid-message' | 'stale-address'
>

export interface Ref<M> {
  /** Hands over a message: at most once, in order per sender and receiver. */
  readonly tell: (message: M) => Refusal | undefined
  /** Where the actor lives, for people: `/orders/order-17`. */
  readonly path: string
}

/** How an actor's life ended. */
export type Ended = Readonly<{
  path: string
  cause: 'stopped' | 'parent-stopped' | 'system-stopped' | 'failed' | 'restart-limit' | 'overdue'
  /** What was thrown, where `cause` is `failed` or `restart-limit`. */
  error: unknown
}>

/** A ref whose end can be watched. Actors are; a ref of your own may be too. */
export interface Watchable {
  readonly onEnd: (listener: (ended: Ended) => void) => () => void
}

/** A place in the registry. It goes stale when its actor ends and never names a successor. */
export type Address = Readonly<{ system: number; slot: number; generation: number }>
