/** Where every letter is, and the numbers the kernel's metrics must show. */
import type { Letter } from './actor.ts'

export type DeadReason =
  | 'stopped'
  | 'mailbox-full'
  | 'dropped-oldest'
  | 'dropped-newest'
  | 'backpressure-cycle'
  | 'stale-address'

export type Met = Record<
  | 'a sender held up'
  | 'a full actor told by itself'
  | 'somebody let in when there was room'
  | 'a promise settled for nobody'
  | 'a restart while awaiting'
  | 'a handler overdue'
  | 'a promised letter withdrawn'
  | 'a letter put aside'
  | 'a stash full'
  | 'a stop while suspended'
  | 'a stop during a restart'
  | 'a stale address told',
  number
>

export class Accounts {
  spawned = 0
  stopped = 0
  failures = 0
  retries = 0
  restarts = 0
  escalations = 0
  suspends = 0
  resumes = 0
  unbalanced = 0
  cycles = 0
  /** What happened besides, so that a campaign can tell what it has met. */
  readonly met: Met = {
    'a sender held up': 0,
    'a full actor told by itself': 0,
    'somebody let in when there was room': 0,
    'a promise settled for nobody': 0,
    'a restart while awaiting': 0,
    'a handler overdue': 0,
    'a promised letter withdrawn': 0,
    'a letter put aside': 0,
    'a stash full': 0,
    'a stop while suspended': 0,
    'a stop during a restart': 0,
    'a stale address told': 0,
  }
  readonly sent: Set<Letter> = new Set()
  /** Handled to the end. */
  readonly done: Set<Letter> = new Set()
  /** Failed, and not tried again; or given up with the life that handled it. */
  readonly dropped: Set<Letter> = new Set()
  readonly dead: Map<Letter, DeadReason> = new Map()

  /** How many of them, by reason. */
  readonly deadBy: Record<string, number> = {}

  bury(letter: Letter, reason: DeadReason): void {
    this.dead.set(letter, reason)
    this.deadBy[reason] = (this.deadBy[reason] ?? 0) + 1
  }
}
