/**
 * Suspending and resuming, by token.
 *
 * A token holds one unit of its cell's counter from `suspend` until it is
 * resumed, by its condition or by hand. When the last unit is given back the
 * cell tells the registry, which is all the ready queue ever hears of it.
 */
import { Accident, fault } from '../../std/index.ts'
import type { ResumeCondition, SuspendReason, SuspendToken } from '../suspension.ts'
import {
  addUnit,
  dropUnit,
  expressOf,
  extrasOf,
  isSuspended,
  mailboxOf,
  raise,
  type Cell,
} from './cell.ts'
import { arm } from './conditions.ts'
import { BOXED, ENDING, SUSPEND_SHIFT } from './status.ts'

/** Suspend tokens one actor may have active at once. */
export const TOKENS_MAX = 100_000

export class Token implements SuspendToken {
  readonly cell: Cell
  readonly reason: SuspendReason
  readonly condition: ResumeCondition
  active = true
  /** The other active tokens of the cell. */
  previous: Token | null = null
  next: Token | null = null
  disarm: (() => void) | null = null

  constructor(cell: Cell, reason: SuspendReason, condition: ResumeCondition) {
    this.cell = cell
    this.reason = reason
    this.condition = condition
  }

  resume(): void {
    const { cell } = this
    if (!this.active) {
      cell.core.metrics.resumeUnbalanced++
      return
    }
    giveBack(this)
    const { core } = cell
    core.metrics.resumeCount++
    const goesOn = !isSuspended(cell)
    if (goesOn) endSuspension(cell, true) // before anybody hears of it and suspends it again
    core.trace(cell, 'resumed', { reason: this.reason })
    if (goesOn) core.registry.resumed(cell)
  }
}

export function suspend(cell: Cell, reason: SuspendReason, condition: ResumeCondition): Token {
  const token = hold(cell, reason, condition)
  if (!token.active) return token
  try {
    const disarm = arm(condition, cell, () => {
      if (token.active) token.resume()
    })
    if (token.active) token.disarm = disarm
    else disarm()
  } catch (error) {
    if (token.active) token.resume() // nothing would ever come true
    throw error
  }
  return token
}

/** A suspension whose condition the caller watches and resumes by hand. */
export function hold(cell: Cell, reason: SuspendReason, condition: ResumeCondition): Token {
  const token = new Token(cell, reason, condition)
  if ((cell.status & ENDING) !== 0) {
    token.active = false
    return token
  }
  if (cell.status >>> SUSPEND_SHIFT >= TOKENS_MAX) throw tooManyTokens(cell)
  const { core } = cell
  const extras = extrasOf(cell)
  if (!isSuspended(cell)) {
    core.metrics.suspendedNow++
    extras.suspendedAt = core.clock.monotonic()
    extras.resumedAt = -1
  }
  token.next = extras.token
  if (extras.token !== null) extras.token.previous = token
  extras.token = token
  addUnit(cell)
  core.metrics.suspendCount++
  core.trace(cell, 'suspended', { reason, condition: condition.type })
  return token
}

/** All tokens at once, without running anything: for a cell that ends. */
export function dropTokens(cell: Cell): void {
  const extras = cell.extras
  if (extras === null || extras.token === null) return
  for (let token: Token | null = extras.token; token !== null; token = extras.token) giveBack(token)
  endSuspension(cell, false)
}

function giveBack(token: Token): void {
  const { cell } = token
  token.active = false
  token.disarm?.()
  token.disarm = null
  if (token.previous === null) extrasOf(cell).token = token.next
  else token.previous.next = token.next
  if (token.next !== null) token.next.previous = token.previous
  token.previous = null
  token.next = null
  dropUnit(cell)
}

function endSuspension(cell: Cell, goesOn: boolean): void {
  const { metrics, clock } = cell.core
  const extras = extrasOf(cell)
  const now = clock.monotonic()
  metrics.suspendedNow--
  metrics.suspendedMsTotal += now - extras.suspendedAt
  const waits = expressOf(cell) > 0 || (cell.mail !== null && !cell.mail.isEmpty)
  if (!goesOn || !waits) return
  // Its mail comes through the mailbox once, where the time from resume to message is taken.
  extras.resumedAt = now
  mailboxOf(cell)
  raise(cell, BOXED)
}

function tooManyTokens(cell: Cell): Accident {
  return new Accident(
    fault('too-many-tokens', `${cell.path} is suspended ${TOKENS_MAX} times over`, {
      actor: cell.path,
      limit: TOKENS_MAX,
      remedy: 'resume the tokens that are held before asking for more',
    }),
  )
}
