/**
 * Runs a cell and judges what came of it.
 *
 * System work first; then, if the cell may run, up to `max` of its messages.
 * What the result means for the ready queue is not decided here, nor is when a
 * suspended cell goes on.
 */
import { Behavior, type Next, type Step } from '../behavior.ts'
import { manual } from '../suspension.ts'
import { Waiting } from './awaiting.ts'
import { letIn } from './capacity.ts'
import {
  expressOf,
  extrasOf,
  lower,
  releaseNewborn,
  settleEmpty,
  surface,
  wake,
  type Cell,
} from './cell.ts'
import * as dispatch from './dispatch.ts'
import type { Extras } from './extras.ts'
import { childFailed, fail, recovered } from './failing.ts'
import { beginStop, proceed, requestStop } from './lifecycle.ts'
import { NONE, type Mailbox } from './mailbox.ts'
import { COMPLETED, HAS_STOPPED, YIELDED, type InvokeResult } from './result.ts'
import { Envelope, isSpecial, type Special } from './special.ts'
import { become, notABehavior } from './starting.ts'
import { AWAIT, BREAK, ENDING, HALTED, PARKED, RESTARTING, STOPPING, SYSTEM } from './status.ts'
import { takeSystem } from './system-lane.ts'

export function invoke(cell: Cell, max: number): InvokeResult {
  const before = dispatch.running // a stepped system may be turned in somebody's turn
  dispatch.setRunning(cell)
  if ((cell.status & SYSTEM) !== 0) runSystem(cell)
  let failure: InvokeResult | undefined
  if ((cell.status & HALTED) === 0 && cell.mail !== null && expressOf(cell) === 0) {
    failure = runBatch(cell, cell.mail, max)
    if ((cell.status & SYSTEM) !== 0) runSystem(cell)
  }
  dispatch.setRunning(before)
  return failure ?? judge(cell)
}

/** What a cell's state means for whoever runs it. */
export function judge(cell: Cell): InvokeResult {
  const { status, extras, mail } = cell
  if ((status & ENDING) !== 0) return HAS_STOPPED
  if ((status & HALTED) !== 0) {
    if (extras?.token !== null && extras?.token !== undefined) {
      const { reason, condition } = extras.token
      return { type: 'suspended', reason, resumeOn: condition }
    }
    if ((status & AWAIT) !== 0 && extras !== null && extras.awaiting !== null) {
      return extras.awaiting.result
    }
    return { type: 'suspended', reason: 'supervision', resumeOn: manual() }
  }
  if (mail === null || expressOf(cell) > 0) return COMPLETED
  if (mail.isEmpty) {
    settleEmpty(cell)
    return COMPLETED
  }
  return YIELDED
}

function runBatch(cell: Cell, mail: Mailbox, max: number): InvokeResult | undefined {
  const traced = cell.core.tracer.active
  let message: unknown = NONE
  let granted = 0
  try {
    for (let left = max; left > 0; left--) {
      if (granted === 0) {
        granted = dispatch.drawFuel(left)
        if (granted === 0) {
          if (left < max) break
          granted = 1 // whoever is run gets at least one turn
        }
      }
      granted--
      message = mail.takePlain()
      const isPlain = message !== NONE
      if (!isPlain) {
        message = mail.take()
        if (message === NONE) break
      }
      const { extras } = cell
      if (extras !== null) notice(cell, extras)
      if (traced) traceReceived(cell, message)
      const next =
        isPlain || !isSpecial(message)
          ? cell.receive(cell, message as never)
          : runSpecial(cell, message)
      if (next !== undefined && next !== 'same') apply(cell, message, next)
      if (extras !== null && extras.failing !== null) recovered(cell, message)
      if (mail.waiters !== null) letIn(mail)
      if ((cell.status & BREAK) !== 0) break
    }
    dispatch.returnFuel(granted)
    return undefined
  } catch (error) {
    dispatch.returnFuel(granted)
    fail(cell, message, error)
    if (cell.mail !== null && cell.mail.waiters !== null) letIn(cell.mail)
    return { type: 'failed', error }
  }
}

function runSpecial(cell: Cell, special: Special): Next<never> {
  if (!special.due) return undefined
  if (!(special instanceof Envelope)) return special.run(cell)
  dispatch.setAmbient(special.context)
  try {
    return special.run(cell)
  } finally {
    dispatch.setAmbient(undefined)
  }
}

/** What the arrival of any message means to those who measure it. */
function notice(cell: Cell, extras: Extras): void {
  if (extras.resumedAt >= 0) {
    const { metrics, clock } = cell.core
    metrics.resumeLatency.record(clock.monotonic() - extras.resumedAt)
    extras.resumedAt = -1
  }
  extras.receiveTimeout?.touch()
}

function traceReceived(cell: Cell, message: unknown): void {
  if (!isSpecial(message)) cell.core.trace(cell, 'received', { message })
  else if (message.isMessage && message.due)
    cell.core.trace(cell, 'received', { message: message.about })
}

/** Follows a handler's answer. What goes wrong in it is the actor's failure; nothing is thrown. */
export function apply(cell: Cell, mail: unknown, next: Next<never>): void {
  if (next === undefined || next === 'same') return
  if (next === 'stopped') {
    requestStop(cell, 'stopped', undefined)
    return
  }
  try {
    if (next instanceof Behavior) become(cell, next)
    else if (isThenable(next)) {
      const extras = extrasOf(cell)
      ;(extras.awaiting ??= new Waiting(cell, apply)).open(mail, next)
    } else throw notABehavior(cell, next)
  } catch (error) {
    fail(cell, mail, error)
  }
}

function isThenable(value: unknown): value is PromiseLike<Step<never>> {
  if (typeof value !== 'object' || value === null) return false
  return 'then' in value && typeof value.then === 'function'
}

function runSystem(cell: Cell): void {
  for (let work = takeSystem(cell); work !== undefined; work = takeSystem(cell)) {
    switch (work.type) {
      case 'stop':
        beginStop(cell)
        break
      case 'child-ended':
        if ((cell.status & (STOPPING | RESTARTING)) !== 0) proceed(cell)
        break
      case 'child-failed':
        childFailed(cell, work)
    }
  }
}

/** The head of the express lane, which its cell may not take there. */
export function surfaceHead(): void {
  const cell = dispatch.headCell()
  const message = dispatch.headMessage()
  dispatch.pop()
  if ((cell.status & ENDING) === 0) {
    surface(cell, message)
    return
  }
  cell.credit++
  cell.core.deadLetters.add(cell.path, message, 'stopped')
}

/** A newborn and its first message. */
export function invokeParked(cell: Cell): void {
  const message = cell.first
  cell.first = undefined
  if (cell.status !== PARKED || dispatch.isListening()) {
    dispatch.leaveParked()
    unpark(cell, message)
    return
  }
  releaseNewborn(cell)
  try {
    const next = cell.receive(cell, message as never)
    if (next !== undefined && next !== 'same') apply(cell, message, next)
  } catch (error) {
    fail(cell, message, error)
  }
  dispatch.leaveParked()
  wake(cell)
}

/** It was suspended or stopped meanwhile, has more mail, or somebody listens: through the mailbox then. */
function unpark(cell: Cell, message: unknown): void {
  if ((cell.status & ENDING) !== 0) {
    cell.credit++
    cell.core.deadLetters.add(cell.path, message, 'stopped')
    return
  }
  surface(cell, message)
  lower(cell, PARKED)
  wake(cell)
}
