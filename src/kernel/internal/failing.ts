/** Carries out an actor's supervision when it has failed. Nothing thrown here reaches the run loop. */
import { Accident, fault } from '../../std/index.ts'
import { pauseMs, RESTARTS_MAX, type Supervision } from '../supervision.ts'
import { after, manual } from '../suspension.ts'
import { deliverUrgent, extrasOf, type Cell } from './cell.ts'
import { beginRestart, requestStop } from './lifecycle.ts'
import { NONE } from './mailbox.ts'
import { isSpecial } from './special.ts'
import { AWAIT, ENDING, RESTARTING } from './status.ts'
import { postSystem, type SystemWork } from './system-lane.ts'
import { hold, suspend } from './tokens.ts'

/** `mail` is what was being handled, or NONE. */
export function fail(cell: Cell, mail: unknown, error: unknown): void {
  const { core } = cell
  core.metrics.failures++
  if (core.tracer.active) {
    const message = mail === NONE ? undefined : isSpecial(mail) ? mail.about : mail
    core.trace(cell, 'failed', { error, message })
  }
  if ((cell.status & (ENDING | RESTARTING)) !== 0) {
    core.log.error('an ending actor failed', { actor: cell.path, error })
    return
  }
  supervise(cell, mail, error, cell.options.supervision, 0)
}

/** A retried message went well: the next failure counts from one again. */
export function recovered(cell: Cell, mail: unknown): void {
  const { extras } = cell
  if (extras === null || extras.failing === null || !Object.is(extras.failing.mail, mail)) return
  const isAgain = cell.mail !== null && Object.is(cell.mail.urgent, mail)
  if (!isAgain && (cell.status & AWAIT) === 0) extras.failing = null
}

/** `tried`: how many attempts other retries have had at it, of which this is what follows. */
function supervise(
  cell: Cell,
  mail: unknown,
  error: unknown,
  supervision: Supervision,
  tried: number,
): void {
  // A failure of a child's says nothing about the message that waits for its retry.
  const isOwn = mail !== NONE
  if (isOwn && supervision.type !== 'retry' && cell.extras !== null) cell.extras.failing = null
  switch (supervision.type) {
    case 'resume':
      return
    case 'retry':
      retryMail(cell, mail, error, supervision, tried)
      return
    case 'restart':
      restartCell(cell, mail, error, supervision)
      return
    case 'stop':
      cell.core.log.error('an actor failed and stops', { actor: cell.path, error })
      requestStop(cell, 'failed', error)
      return
    case 'escalate':
      escalateFailure(cell, error)
  }
}

function retryMail(
  cell: Cell,
  mail: unknown,
  error: unknown,
  supervision: Extract<Supervision, { type: 'retry' }>,
  tried: number,
): void {
  const extras = extrasOf(cell)
  const { failing } = extras
  const attempts = failing !== null && Object.is(failing.mail, mail) ? failing.attempts : 0
  if (mail === NONE || attempts - tried >= supervision.max) {
    supervise(cell, mail, error, supervision.otherwise, tried + supervision.max)
    return
  }
  const attempt = attempts + 1
  extras.failing = { mail, attempts: attempt }
  cell.core.metrics.retries++
  const pause = pauseMs(supervision.backoff, attempt - tried, cell.core.random.next())
  cell.core.trace(cell, 'retried', { attempt, pauseMs: pause })
  if (pause > 0) suspend(cell, 'supervision', after(pause))
  deliverUrgent(cell, mail)
}

function restartCell(
  cell: Cell,
  mail: unknown,
  error: unknown,
  supervision: Extract<Supervision, { type: 'restart' }>,
): void {
  const extras = extrasOf(cell)
  const now = cell.core.clock.monotonic()
  const recent = (extras.restarts ?? []).filter((at) => at > now - supervision.windowMs)
  if (recent.length >= supervision.max) {
    cell.core.log.error('an actor failed too often', { actor: cell.path, error })
    if (supervision.otherwise.type === 'stop') requestStop(cell, 'restart-limit', error)
    else supervise(cell, mail, error, supervision.otherwise, 0)
    return
  }
  cell.core.log.warn('an actor failed and restarts', { actor: cell.path, error })
  recent.push(now)
  extras.restarts = recent.slice(-RESTARTS_MAX)
  beginRestart(cell, pauseMs(supervision.backoff, recent.length, cell.core.random.next()))
}

/** The parent decides. Until it has, the child rests. */
function escalateFailure(child: Cell, error: unknown): void {
  const { core, parent } = child
  core.metrics.escalations++
  if (parent === null || parent.parent === null) {
    core.log.error('a failure reached the top', { actor: child.path, error })
    requestStop(child, 'failed', error)
    return
  }
  const token = hold(child, 'supervision', manual())
  if (!postSystem(parent, { type: 'child-failed', child, error, token })) {
    core.log.error('too many failures at once', { actor: parent.path, error })
    requestStop(child, 'failed', error)
  }
}

/** In the parent's turn: it fails in its child's stead, and the child goes on unless that ends it. */
export function childFailed(
  parent: Cell,
  work: Extract<SystemWork, { type: 'child-failed' }>,
): void {
  if ((parent.status & ENDING) !== 0) return
  const { child, error, token } = work
  fail(
    parent,
    NONE,
    new Accident(
      fault('child-failed', `${child.path} failed and left it to its parent`, {
        actor: parent.path,
        child: child.path,
        remedy: 'see the cause, and supervise the child where it is spawned',
      }),
      { cause: error },
    ),
  )
  const isEnded = (parent.status & (ENDING | RESTARTING)) !== 0 // or will be, in its turn
  if (token.active && !isEnded) token.resume()
}
