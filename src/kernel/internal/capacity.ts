/**
 * Waiting for room in somebody's mailbox.
 *
 * Three may wait, first come first served: a suspend token, an offer from
 * outside, and a sender whose message to a full mailbox is held in its outbox.
 * They are let in when the mailbox is half empty, not one for one, so that a
 * slow consumer and a fast producer do not take turns at every message.
 */
import { Accident, Deque } from '../../std/index.ts'
import { expressOf, mailboxOf, raise, settleEmpty, wake, type Cell } from './cell.ts'
import type { Mailbox } from './mailbox.ts'
import { fullFault } from './refusals.ts'
import { BOXED, ENDING } from './status.ts'
import type { Token } from './tokens.ts'

/** Messages one sender may hold back in one turn. */
export const OUTBOX_MAX = 1_024
/** Who may wait for room in one mailbox. */
export const WAITERS_MAX = 10_000

export interface Waiter {
  /** Room it needs. */
  readonly wants: number
  cancelled: boolean
  /** There is room, or the actor has ended and there never will be. */
  admit(): void
}

/** Calls `fire` when `target` has room for `wants` messages. */
export function waitForRoom(target: Cell, wants: number, fire: () => void): () => void {
  const bound = target.options.bound
  const needed = Math.min(wants, bound)
  if ((target.status & ENDING) !== 0 || roomOf(target) >= needed) {
    fire()
    return () => undefined
  }
  const waiter: Waiter = { wants: needed, cancelled: false, admit: fire }
  if (!addWaiter(target, waiter)) {
    throw new Accident(fullFault(target, 'let fewer wait for its room, or tell it less'))
  }
  return () => {
    waiter.cancelled = true
    forgetCancelled(target)
  }
}

export function roomOf(cell: Cell): number {
  if (cell.mail !== null) return cell.mail.room
  return cell.options.bound - expressOf(cell)
}

/** False where too many wait already. */
export function addWaiter(target: Cell, waiter: Waiter): boolean {
  const mail = mailboxOf(target)
  if (mail.waiters !== null && mail.waiters.length >= WAITERS_MAX) {
    dropCancelled(mail.waiters)
    if (mail.waiters.length >= WAITERS_MAX) return false
  }
  mail.addWaiter(waiter)
  raise(target, BOXED) // its express mail comes through the mailbox, where room is noticed
  wake(target)
  return true
}

function dropCancelled(waiters: Deque<Waiter>): void {
  for (let left = waiters.length; left > 0; left--) {
    const waiter = waiters.popFront()
    if (waiter !== undefined && !waiter.cancelled) waiters.pushBack(waiter)
  }
}

/** Lets in whoever waits, once the mailbox is half empty. */
export function letIn(mail: Mailbox): void {
  const waiters = mail.waiters
  if (waiters === null) return
  const { bound } = mail.cell.options
  const ended = (mail.cell.status & ENDING) !== 0
  let threshold = Math.ceil(bound / 2)
  for (let next = waiters.peekFront(); next !== undefined; next = waiters.peekFront()) {
    if (!next.cancelled && !ended && mail.room < Math.max(threshold, next.wants)) break
    waiters.popFront()
    if (next.cancelled) continue
    next.admit()
    threshold = 1 // the door is open until the mailbox is full again
  }
  if (waiters.length === 0) mail.waiters = null
}

/** Whoever has given up and was next is forgotten at once: nobody is to queue behind him. */
export function forgetCancelled(target: Cell): void {
  const mail = target.mail
  if (mail === null || mail.waiters === null) return
  while (mail.waiters?.peekFront()?.cancelled === true) mail.waiters.popFront()
  if (mail.waiters?.length === 0) {
    mail.waiters = null
    settleEmpty(target)
  }
}

/** Held back by one sender: what it told to full mailboxes, in order. */
export class Outbox implements Waiter {
  readonly sender: Cell
  readonly held: Deque<{ target: Cell; message: unknown }> = new Deque()
  /** The mailbox the first held message waits for. */
  waitingOn: Cell | null = null
  token: Token | null = null
  readonly wants = 1
  cancelled = false
  readonly #release: (outbox: Outbox) => void

  constructor(sender: Cell, release: (outbox: Outbox) => void) {
    this.sender = sender
    this.#release = release
  }

  admit(): void {
    this.waitingOn = null
    this.#release(this)
  }
}

/** Whether `sender`, by waiting for `target`, would wait for itself; if so, who waits for whom. */
export function cycleThrough(sender: Cell, target: Cell): readonly string[] | undefined {
  const path = [sender.path]
  for (let at: Cell | null = target; at !== null; at = at.extras?.outbox?.waitingOn ?? null) {
    path.push(at.path)
    if (at === sender) return path
  }
  return undefined
}
