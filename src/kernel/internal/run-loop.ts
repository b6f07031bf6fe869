/**
 * The loop of a thread: the express lane, then the ready queue, then newborns,
 * for as long as the budget lasts; then I/O gets its turn.
 *
 * A drain starts in a microtask, so a request is answered in the turn of the
 * event loop that brought it. Fuel is counted across drains: a chain of short
 * ones cannot starve I/O either.
 */
import { afterIo, afterTurn } from '../../std/index.ts'
import { hasWork, mailboxOf, wake, type Cell } from './cell.ts'
import * as dispatch from './dispatch.ts'
import { fail } from './failing.ts'
import { apply, invoke, invokeParked, surfaceHead } from './invoker.ts'
import type { Mailbox } from './mailbox.ts'
import { HIGH, ReadyQueue } from './ready-queue.ts'
import { BOXED } from './status.ts'

/** Messages a cell may take from its mailbox in one run. */
export const BATCH_MAX = 256

/** The ready queue of all systems that run by themselves on this thread. */
export const ready: ReadyQueue<Mailbox> = new ReadyQueue((mail) => {
  if (mail.lane === HIGH) dispatch.hurry()
  dispatch.wakeLoop()
})

dispatch.connect({
  soon: () => afterTurn(drain),
  now: drainFrom,
  follow: apply,
  setAside,
  meanwhile: () => void runNext(),
})

function turn(): void {
  dispatch.startTurn()
  const oldest = dispatch.enterOldest()
  if (oldest !== null) invokeParked(oldest)
  drain()
}

function drain(): void {
  dispatch.startDrain()
  runOn()
}

function drainFrom(cell: Cell): void {
  dispatch.startDrain()
  const { mail } = cell
  if (mail !== null && cell.core.ready === ready && hasWork(cell, mail)) runMailbox(mail)
  else wake(cell)
  if (ready.depth === 0 && dispatch.isDrained()) dispatch.endDrain(false)
  else runOn()
}

function runOn(): void {
  while (!runAll()) {
    // An express handler threw: it has been dealt with, the loop goes on behind it.
  }
  if (dispatch.overBudget) {
    dispatch.endDrain(true)
    afterIo(turn)
  } else dispatch.endDrain(false)
}

/** True when there is nothing left or the time is used up; false when an express handler threw. */
function runAll(): boolean {
  try {
    for (;;) {
      if (dispatch.runExpress()) return true
      if (!runNext()) return true
      if (dispatch.overBudget) return true
    }
  } catch (error) {
    const cell = dispatch.headCell()
    const message = dispatch.headMessage()
    fail(cell, message, error)
    dispatch.pop() // not before: what the actor's own code tells meanwhile is told by it
    wake(cell)
    return false
  }
}

function setAside(cell: Cell): void {
  if (mayRunAhead(cell)) runAhead(cell)
  else surfaceHead()
}

/** Express mail of a cell that is busy but not halted is older than its mailbox, and runs as it comes. */
function mayRunAhead(cell: Cell): boolean {
  if (cell.status !== BOXED || dispatch.isListening()) return false
  if (cell.mail === null || !cell.mail.isBehindExpress) return false
  if (cell.mail.waiters !== null) return false // room is noticed where the mailbox is run
  return cell.extras === null || cell.extras.resumedAt < 0
}

function runAhead(cell: Cell): void {
  const message = dispatch.headMessage()
  mailboxOf(cell).room++
  cell.credit++
  const next = cell.receive(cell, message as never)
  if (next !== undefined && next !== 'same') apply(cell, message, next)
  dispatch.pop()
  wake(cell)
}

/** One mailbox and the newest newborn; false where there is neither. */
function runNext(): boolean {
  const mail = ready.depth > 0 ? ready.take() : undefined
  if (mail !== undefined) runMailbox(mail)
  const newborn = dispatch.enterNewest()
  if (newborn === null) return mail !== undefined
  invokeParked(newborn)
  if (dispatch.spent()) dispatch.refuel()
  return true
}

function runMailbox(mail: Mailbox): void {
  const { cell } = mail
  const result = invoke(cell, BATCH_MAX)
  if (cell.mail === mail) ready.settle(mail, result) // else it is somebody else's by now
  if (result.type === 'failed') wake(cell)
}
