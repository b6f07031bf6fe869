/**
 * A cell: one actor's state, and the only owner of it.
 *
 * `status` says whether it may run and why not. `credit` condenses that and the
 * express quota into one number, so that a tell decides with one compare: the
 * express slots left, less BARRED while the status is not zero.
 *
 * What must stay true:
 * - status 0 means no mailbox;
 * - express mail of a cell is older than its chunks and younger than its front;
 * - a mailbox is registered only while its cell may run, or for system work.
 *
 * The ref, the context and the cell are one object, told apart by its interfaces:
 * a ref of its own costs 48 bytes and a tenth of the message rate.
 */
import type { Behavior, Context, Handler } from '../behavior.ts'
import type { Refusal } from '../ref.ts'
import type { Core } from './core.ts'
import * as dispatch from './dispatch.ts'
import { Extras } from './extras.ts'
import { Mailbox, NONE } from './mailbox.ts'
import type { Options } from './options.ts'
import { isSpecial, type Special } from './special.ts'
import { BOXED, ENDING, HALTED, SUSPEND, SUSPENDED, SYSTEM } from './status.ts'

const BARRED = 2 ** 24

// What a handler is given as its context is the cell itself; actor.ts supplies those members.
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
export abstract class Cell {
  declare receive: Handler<never>
  declare credit: number
  declare status: number
  declare readonly core: Core
  declare readonly parent: Cell | null
  declare readonly options: Options
  declare behavior: Behavior<never>
  /** Children are a list from the youngest, through `elder`. */
  declare youngest: Cell | null
  declare elder: Cell | null
  declare younger: Cell | null
  declare mail: Mailbox | null
  declare extras: Extras | null
  /** The first message of a parked newborn. */
  declare first: unknown

  constructor(
    core: Core,
    parent: Cell | null,
    behavior: Behavior<never>,
    options: Options,
    status: number,
  ) {
    this.receive = behavior.receive
    this.credit = status === 0 ? dispatch.EXPRESS_MAX : dispatch.EXPRESS_MAX - BARRED
    this.status = status
    this.core = core
    this.parent = parent
    this.options = options
    this.behavior = behavior
    this.youngest = null
    this.elder = null
    this.younger = null
    this.mail = null
    this.extras = null
    this.first = undefined
  }

  abstract tell(message: unknown): Refusal | undefined
}

// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
export interface Cell extends Context<never> {}

export function extrasOf(cell: Cell): Extras {
  return (cell.extras ??= new Extras())
}

/** Entries of this cell on the express lane. */
export function expressOf(cell: Cell): number {
  return dispatch.EXPRESS_MAX - cell.credit - (cell.status === 0 ? 0 : BARRED)
}

export function mailboxOf(cell: Cell): Mailbox {
  return (cell.mail ??= Mailbox.open(cell, expressOf(cell)))
}

export function raise(cell: Cell, bits: number): void {
  const before = cell.status
  cell.status = before | bits
  if (before === 0) bar(cell)
}

export function lower(cell: Cell, bits: number): void {
  const before = cell.status
  cell.status = before & ~bits
  if (before !== 0 && cell.status === 0) unbar(cell)
}

export function isSuspended(cell: Cell): boolean {
  return (cell.status & SUSPENDED) !== 0
}

/** One more active token. What is registered leaves the ready queue at once. */
export function addUnit(cell: Cell): void {
  const before = cell.status
  cell.status = before + SUSPEND
  if (before === 0) bar(cell)
  rest(cell)
}

export function dropUnit(cell: Cell): void {
  cell.status -= SUSPEND
  if (cell.status === 0) unbar(cell)
}

function bar(cell: Cell): void {
  cell.credit -= BARRED
}

function unbar(cell: Cell): void {
  cell.credit += BARRED
  if (cell.mail !== null) {
    cell.core.ready.unregister(cell.mail)
    cell.mail.close()
    cell.mail = null
  }
}

/** A newborn that has nothing but its first message begins an ordinary life. */
export function releaseNewborn(cell: Cell): void {
  cell.status = 0
  cell.credit = dispatch.EXPRESS_MAX
}

/** Takes a halted cell out of the ready queue, unless system work waits. */
export function rest(cell: Cell): void {
  if (cell.mail !== null && cell.mail.queued && (cell.status & SYSTEM) === 0) {
    cell.core.ready.unregister(cell.mail)
  }
}

/** Registers a cell that has something to do and may do it. */
export function wake(cell: Cell): void {
  if (cell.mail !== null && hasWork(cell, cell.mail)) cell.core.ready.register(cell.mail)
}

/** Whether a cell could have a turn now and neither has it nor stands in line for it. */
export function hasWork(cell: Cell, mail: Mailbox): boolean {
  if (mail.queued || dispatch.running === cell) return false
  if ((cell.status & SYSTEM) !== 0) return true
  return (cell.status & HALTED) === 0 && !mail.isEmpty && expressOf(cell) === 0
}

/** Mail that must arrive, such as what was promised to the actor: it may exceed the bound. */
export function deliver(cell: Cell, mail: Special): boolean {
  if ((cell.status & ENDING) !== 0) return false
  mailboxOf(cell).pushSpecial(mail)
  raise(cell, BOXED)
  wake(cell)
  return true
}

/** The next turn of the cell, ahead of all its mail. */
export function deliverUrgent(cell: Cell, urgent: unknown): void {
  const mail = mailboxOf(cell)
  withdrawUrgent(cell)
  if (mail.urgent !== NONE) mail.putBack(mail.urgent) // a message about to be retried comes after
  mail.setUrgent(urgent)
  raise(cell, BOXED)
  wake(cell)
}

/** What was urgent for an earlier behavior is not for the next. A message stays. */
export function withdrawUrgent(cell: Cell): void {
  const { mail } = cell
  if (mail === null || !isSpecial(mail.urgent) || mail.urgent.isMessage) return
  mail.urgent = NONE
}

/** An express entry came up while the cell may not take it: it waits at the front of the mailbox. */
export function surface(cell: Cell, message: unknown): void {
  mailboxOf(cell).surface(message)
  cell.credit++
  raise(cell, BOXED)
  wake(cell)
}

/** Called when everything in the mailbox has been taken. A turn keeps its mailbox to its end. */
export function settleEmpty(cell: Cell): void {
  const mail = cell.mail
  if (mail === null || !mail.isEmpty || dispatch.running === cell) return
  mail.trim()
  if (mail.waiters === null) lower(cell, BOXED)
}
