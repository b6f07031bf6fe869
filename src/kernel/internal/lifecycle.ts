/**
 * The end of an actor, and its restart.
 *
 *   running --stop--> stopping: children, youngest first, one after the other
 *                     --none left--> onStop --settled--> stopped
 *   running --restart--> restarting: the same --> onStop --> running, as at birth
 *
 * What belonged to the life that ends is given up first: timers, the promise it
 * waited for, tokens and held messages (on stop), answers it owed.
 */
import type { Ended } from '../ref.ts'
import { after } from '../suspension.ts'
import { letIn } from './capacity.ts'
import { extrasOf, lower, raise, rest, wake, withdrawUrgent, type Cell } from './cell.ts'
import { dropOutbox } from './delivery.ts'
import { NONE } from './mailbox.ts'
import { settleDebts } from './owing.ts'
import { Piped } from './piping.ts'
import { unstash } from './stash.ts'
import { startSoon } from './starting.ts'
import { Envelope, isSpecial } from './special.ts'
import { AWAIT, ENDING, RESTARTING, STOPPED, STOPPING } from './status.ts'
import { postSystem } from './system-lane.ts'
import { dropTokens, suspend } from './tokens.ts'
import { announceEnd, unwatchAll } from './watch.ts'

/** Asks a cell to end. From here on it takes no message. */
export function requestStop(cell: Cell, cause: Ended['cause'], error: unknown): void {
  if ((cell.status & ENDING) !== 0) return
  const atOnce = cell.mail === null && cell.youngest === null && cell.behavior.onStop === undefined
  if (atOnce && cell.extras === null && cause === 'stopped') {
    finish(cell)
    return
  }
  const extras = extrasOf(cell)
  extras.cause = cause
  extras.error = error
  raise(cell, STOPPING)
  if (atOnce) beginStop(cell)
  else postSystem(cell, { type: 'stop' })
  rest(cell)
}

export function beginStop(cell: Cell): void {
  if ((cell.status & RESTARTING) === 0) giveUpLife(cell)
  lower(cell, RESTARTING)
  letGo(cell)
  proceed(cell)
}

function letGo(cell: Cell): void {
  dropTokens(cell)
  dropOutbox(cell)
}

/** Ends a cell whose time is up, without its `onStop`. */
export function abandon(cell: Cell): void {
  giveUpLife(cell)
  letGo(cell)
  extrasOf(cell).cause = 'overdue'
  finish(cell)
}

export function beginRestart(cell: Cell, pause: number): void {
  raise(cell, RESTARTING)
  rest(cell)
  giveUpLife(cell)
  extrasOf(cell).failing = null
  if (pause > 0) suspend(cell, 'supervision', after(pause))
  proceed(cell)
}

function giveUpLife(cell: Cell): void {
  const extras = extrasOf(cell)
  extras.incarnation++
  extras.awaiting?.abandon()
  extras.awaiting = null
  lower(cell, AWAIT)
  extras.abort?.abort()
  extras.abort = null
  extras.timers?.cancelAll()
  extras.receiveTimeout?.end()
  extras.receiveTimeout = null
  extras.machine = null
  withdrawUrgent(cell)
  unstash(cell)
  settleDebts(cell)
}

/** Ends the children one by one; when none is left, the cell itself. */
export function proceed(cell: Cell): void {
  if ((cell.status & STOPPED) !== 0) return
  for (;;) {
    const child = cell.youngest
    if (child === null) break
    requestStop(child, 'parent-stopped', undefined)
    if ((child.status & STOPPED) === 0) return // it will tell when it has ended
  }
  const extras = extrasOf(cell)
  if (extras.closing) return // a life has one onStop; a stop that comes in a restart waits for it
  extras.closing = true
  callOnStop(cell, () => {
    if (!extras.closing || (cell.status & STOPPED) !== 0) return
    extras.closing = false
    if ((cell.status & STOPPING) === 0) {
      revive(cell)
      return
    }
    if ((cell.status & RESTARTING) !== 0) letGo(cell) // stopped while its onStop was on its way
    finish(cell)
  })
}

function callOnStop(cell: Cell, then: () => void): void {
  const { onStop } = cell.behavior
  if (onStop === undefined) {
    then()
    return
  }
  const failed = (error: unknown): void => {
    cell.core.metrics.failures++
    cell.core.trace(cell, 'failed', { error, phase: 'stop' })
    cell.core.log.error('onStop failed', { actor: cell.path, error })
    then()
  }
  try {
    const settled = onStop(cell)
    if (settled === undefined) then()
    else settled.then(then, failed)
  } catch (error) {
    failed(error)
  }
}

function revive(cell: Cell): void {
  const extras = extrasOf(cell)
  if (extras.initial !== null) cell.behavior = extras.initial
  cell.receive = cell.behavior.receive
  cell.core.metrics.restarts++
  cell.core.trace(cell, 'restarted')
  lower(cell, RESTARTING)
  startSoon(cell)
  wake(cell)
}

/** The end. Mail that waits is a dead letter; whoever waited for the cell learns of it. */
export function finish(cell: Cell): void {
  const { core, parent, extras } = cell
  raise(cell, STOPPED)
  unlink(cell)
  core.metrics.stopped++
  core.trace(cell, 'stopped')
  if (cell.mail !== null) {
    buryMail(cell)
    core.ready.unregister(cell.mail)
    letIn(cell.mail)
    cell.mail.close()
    cell.mail = null
  }
  if (extras !== null) {
    core.registry.release(cell)
    unwatchAll(cell)
    if (extras.asked) core.asks.endAll(cell)
    announceEnd(cell, extras)
  }
  if (parent !== null && (parent.status & (STOPPING | RESTARTING)) !== 0) {
    postSystem(parent, { type: 'child-ended' })
  }
}

function buryMail(cell: Cell): void {
  const mail = cell.mail
  if (mail === null) return
  const { path, core } = cell
  for (let next = mail.take(); next !== NONE; next = mail.take()) {
    if (!isSpecial(next) || next instanceof Envelope) core.deadLetters.add(path, next, 'stopped')
    else if (next instanceof Piped) next.bury(cell)
  }
}

function unlink(cell: Cell): void {
  const { parent, elder, younger } = cell
  if (parent === null) return
  if (younger !== null) younger.elder = elder
  else parent.youngest = elder
  if (elder !== null) elder.younger = younger
  cell.elder = null
  cell.younger = null
  const name = cell.extras === null ? null : cell.extras.name
  if (name !== null && parent.extras?.named?.get(name) === cell) parent.extras.named.delete(name)
}
