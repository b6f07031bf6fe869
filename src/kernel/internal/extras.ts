/**
 * Everything about a cell that most cells never need, allocated on first use so
 * that an idle actor stays small.
 */
import type { Deque } from '../../std/index.ts'
import type { Behavior } from '../behavior.ts'
import type { Ended } from '../ref.ts'
import type { ActorTimers } from './actor-timers.ts'
import type { Waiting } from './awaiting.ts'
import type { Outbox } from './capacity.ts'
import type { Cell } from './cell.ts'
import type { Debt } from './owing.ts'
import type { ReceiveTimeout } from './receive-timeout.ts'
import type { Reply } from './reply.ts'
import type { SystemWork } from './system-lane.ts'
import type { Token } from './tokens.ts'
import type { Watch } from './watch.ts'

export class Extras {
  name: string | null = null
  /** Children that have names. */
  named: Map<string, Cell> | null = null
  /** Kept for their shapes alone. */
  shapes: readonly object[] | null = null
  /** The head of the list of active suspend tokens. */
  token: Token | null = null
  systemLane: Deque<SystemWork> | null = null
  /** The end of a child waits there. */
  childEnded = false
  /** Bumped by restart and stop: what belongs to an earlier one is stale. */
  incarnation = 0
  /** Its `onStop` has been called and has not settled yet. */
  closing = false
  /** The behavior to go back to on restart, once it differs from the present one. */
  initial: Behavior<never> | null = null
  awaiting: Waiting | null = null
  abort: AbortController | null = null
  /** The message that failed, while it is being retried. */
  failing: { mail: unknown; attempts: number } | null = null
  /** When the restarts of the current window happened. */
  restarts: number[] | null = null
  timers: ActorTimers | null = null
  receiveTimeout: ReceiveTimeout | null = null
  stash: Deque<unknown> | null = null
  /** Piped promises that have not become messages yet. */
  pipes = 0
  outbox: Outbox | null = null
  watchers: Set<Watch> | null = null
  watching: Map<unknown, () => void> | null = null
  debts: Set<Debt> | null = null
  /** Whether it was ever asked, and the asks that have waited longer than a tick. */
  asked = false
  asks: Set<Reply> | null = null
  /** Index in the registry, or -1. */
  slot = -1
  /** The state machine, for the testkit and the trace. */
  machine: unknown = null
  /** When it was last resumed, until its next message; -1 otherwise. */
  resumedAt = -1
  suspendedAt = 0
  whenEnded: Promise<Ended> | null = null
  cause: Ended['cause'] = 'stopped'
  error: unknown = undefined
}
